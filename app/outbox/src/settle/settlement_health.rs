use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use claimstream_domain::QueueName;
use claimstream_ports::StoreError;

use crate::{
    error::{Operation, RelayError},
    report::{Health, LogLimit},
    setup::Setup,
};

/// How the settlements of one stream fare: its monitor shows it, and the log has the first failure and then few.
pub(crate) struct SettlementHealth {
    setup: Arc<Setup>,
    queue: QueueName,
    health: Arc<Health>,
    limit: Mutex<LogLimit>,
}

impl SettlementHealth {
    pub(crate) fn new(setup: Arc<Setup>, queue: QueueName, health: Arc<Health>) -> Self {
        Self { setup, queue, health, limit: Mutex::new(LogLimit::new(1)) }
    }

    /// The store has said what became of some settlements.
    pub(crate) fn answered(&self) {
        self.health.settlement_answered();
    }

    /// The store could not be asked, or could not answer what was sent then.
    pub(crate) fn failed(&self, source: &Arc<StoreError>, sent: Duration) {
        let (queue, source) = (self.queue.clone(), Arc::clone(source));
        let error = RelayError::Store { operation: Operation::Settle, queue, source };
        self.health.settlement_failed(error, sent);
    }

    /// So many settlements are repeated after this error.
    pub(crate) fn tried_again(&self, count: usize, error: &StoreError) {
        let admitted =
            self.limit.lock().unwrap_or_else(PoisonError::into_inner).admit(self.setup.timer.now());
        let Some(unlogged) = admitted.map(|unlogged| unlogged.field()) else { return };
        tracing::warn!(queue = %self.queue, count, %error, unlogged, "settlement failed; it is tried again");
    }
}
