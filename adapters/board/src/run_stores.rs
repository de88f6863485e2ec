use std::sync::Arc;

use claimstream_ports::{
    FindMessages,
    saga::{ContinueSagas, SagaReports},
    step::{ListRuns, ListTimers},
};

/// What the pages of sagas, TCC transactions and timers need, all of one database.
#[derive(Clone)]
pub(crate) struct RunStores {
    pub(crate) runs: Arc<dyn ListRuns>,
    pub(crate) timers: Arc<dyn ListTimers>,
    pub(crate) sagas: Arc<dyn SagaReports>,
    pub(crate) continuing: Arc<dyn ContinueSagas>,
    pub(crate) messages: Arc<dyn FindMessages>,
}

impl RunStores {
    /// All of one store.
    pub(crate) fn of<S>(store: Arc<S>) -> Self
    where
        S: ListRuns + ListTimers + SagaReports + ContinueSagas + FindMessages + 'static,
    {
        Self {
            runs: store.clone(),
            timers: store.clone(),
            sagas: store.clone(),
            continuing: store.clone(),
            messages: store,
        }
    }
}
