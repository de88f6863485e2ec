use std::{fmt, sync::Arc};

use claimstream_ports::{AuditLog, DeadLetters, Observe, PauseQueues, SelfCheck};

/// The stores that a board shows.
///
/// A board has the pages that its stores can fill: [`of`](Self::of) takes a store that can fill all of them, [`new`](Self::new) takes
/// what the pages of queues and dead letters need, and each `with_` adds some.
#[derive(Clone)]
pub struct BoardStores {
    pub(crate) observe: Arc<dyn Observe>,
    pub(crate) dead_letters: Arc<dyn DeadLetters>,
    pub(crate) pauses: Option<Arc<dyn PauseQueues>>,
    pub(crate) audit: Option<Arc<dyn AuditLog>>,
    pub(crate) check: Option<Arc<dyn SelfCheck>>,
}

impl BoardStores {
    /// Every page, on one store.
    pub fn of<S>(store: Arc<S>) -> Self
    where
        S: Observe + DeadLetters + PauseQueues + AuditLog + SelfCheck + 'static,
    {
        let stores = Self::new(store.clone(), store.clone());
        stores.with_pauses(store.clone()).with_audit(store.clone()).with_check(store)
    }

    /// The pages of queues and of dead letters: `observe` counts the messages of queues, and `dead_letters` lists, revives and purges
    /// what was given up. What people do is written into the log of the process, and kept nowhere unless
    /// [`with_audit`](Self::with_audit) says where.
    pub fn new(observe: Arc<dyn Observe>, dead_letters: Arc<dyn DeadLetters>) -> Self {
        Self { observe, dead_letters, pauses: None, audit: None, check: None }
    }

    /// The same, with queues that can be paused.
    pub fn with_pauses(self, pauses: Arc<dyn PauseQueues>) -> Self {
        Self { pauses: Some(pauses), ..self }
    }

    /// The same, with a log in which each change and each payload that is shown is noted before, and with a page of it.
    pub fn with_audit(self, audit: Arc<dyn AuditLog>) -> Self {
        Self { audit: Some(audit), ..self }
    }

    /// The same, with a page of what a self-check finds. It runs once a minute at most, while somebody looks.
    pub fn with_check(self, check: Arc<dyn SelfCheck>) -> Self {
        Self { check: Some(check), ..self }
    }
}

impl fmt::Debug for BoardStores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoardStores").finish_non_exhaustive()
    }
}
