use std::{fmt, sync::Arc};

use claimstream_ports::{
    AuditLog, DeadLetters, DistributedLock, FindMessages, ListInstances, ListLocks, Observe, PauseQueues,
    ReadMessages, ReleaseLeases, SelfCheck,
    notification::{
        AttemptLog, DeliveryReceipts, InAppInbox, ListRequests, NotificationReports, RequestRepository,
    },
    saga::{ContinueSagas, SagaReports},
    step::{ListRuns, ListTimers},
};

use crate::{holders::Holders, run_stores::RunStores};

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
    pub(crate) holders: Option<Arc<dyn Holders>>,
    pub(crate) runs: Option<RunStores>,
    messages: Option<MessageStores>,
    notifications: Option<NotificationStores>,
}

/// What the pages of single messages need.
#[derive(Clone)]
pub(crate) struct MessageStores {
    pub(crate) find: Arc<dyn FindMessages>,
    pub(crate) read: Arc<dyn ReadMessages>,
}

/// What the pages of notification requests need.
#[derive(Clone)]
pub(crate) struct NotificationStores {
    pub(crate) requests: Arc<dyn RequestRepository>,
    pub(crate) list: Arc<dyn ListRequests>,
    pub(crate) reports: Arc<dyn NotificationReports>,
    pub(crate) attempts: Arc<dyn AttemptLog>,
    pub(crate) receipts: Arc<dyn DeliveryReceipts>,
    pub(crate) inboxes: Arc<dyn InAppInbox>,
}

impl BoardStores {
    /// Every page, on one store.
    pub fn of<S>(store: Arc<S>) -> Self
    where
        S: Observe + DeadLetters + PauseQueues + AuditLog + SelfCheck + FindMessages + ReadMessages + 'static,
        S: ListInstances + ReleaseLeases + ListLocks + DistributedLock,
        S: ListRuns + ListTimers + SagaReports + ContinueSagas,
        S: RequestRepository
            + ListRequests
            + NotificationReports
            + AttemptLog
            + DeliveryReceipts
            + InAppInbox,
    {
        let stores = Self::new(store.clone(), store.clone());
        let stores = stores.with_pauses(store.clone()).with_audit(store.clone()).with_check(store.clone());
        let stores = stores.with_holders(store.clone()).with_runs(store.clone());
        stores.with_messages(store.clone(), store.clone()).with_notifications(store)
    }

    /// The pages of queues and of dead letters: `observe` counts the messages of queues, and `dead_letters` lists, revives and purges
    /// what was given up. What people do is written into the log of the process, and kept nowhere unless
    /// [`with_audit`](Self::with_audit) says where.
    pub fn new(observe: Arc<dyn Observe>, dead_letters: Arc<dyn DeadLetters>) -> Self {
        Self {
            observe,
            dead_letters,
            pauses: None,
            audit: None,
            check: None,
            holders: None,
            runs: None,
            messages: None,
            notifications: None,
        }
    }

    /// The same, with queues that can be paused.
    pub fn with_pauses(self, pauses: Arc<dyn PauseQueues>) -> Self {
        Self { pauses: Some(pauses), ..self }
    }

    /// The same, with a log in which each change and each payload that is shown is noted before, and with a page of it.
    pub fn with_audit(self, audit: Arc<dyn AuditLog>) -> Self {
        Self { audit: Some(audit), ..self }
    }

    /// The same, with a page of what a self-check finds. It runs once a minute at most, while a user looks.
    pub fn with_check(self, check: Arc<dyn SelfCheck>) -> Self {
        Self { check: Some(check), ..self }
    }

    /// The same, with the pages of instances, leases and locks, on one store.
    pub fn with_holders<S>(self, store: Arc<S>) -> Self
    where
        S: ListInstances + ReleaseLeases + ListLocks + DistributedLock + 'static,
    {
        Self { holders: Some(store), ..self }
    }

    /// The same, with the pages of sagas, TCC transactions and timers, on one store.
    pub fn with_runs<S>(self, store: Arc<S>) -> Self
    where
        S: ListRuns + ListTimers + SagaReports + ContinueSagas + FindMessages + 'static,
    {
        Self { runs: Some(RunStores::of(store)), ..self }
    }

    /// The same with the pages of single messages: `find` says where they stand, and `read` what is kept of them.
    pub fn with_messages(self, find: Arc<dyn FindMessages>, read: Arc<dyn ReadMessages>) -> Self {
        Self { messages: Some(MessageStores { find, read }), ..self }
    }

    /// The same with the pages of notification requests, on one store; it needs those of single messages.
    pub fn with_notifications<S>(self, store: Arc<S>) -> Self
    where
        S: RequestRepository + ListRequests + NotificationReports + 'static,
        S: AttemptLog + DeliveryReceipts + InAppInbox,
    {
        let notifications = NotificationStores {
            requests: store.clone(),
            list: store.clone(),
            reports: store.clone(),
            attempts: store.clone(),
            receipts: store.clone(),
            inboxes: store,
        };
        Self { notifications: Some(notifications), ..self }
    }

    /// What the pages of single messages need; without it there are none.
    pub(crate) fn messages(&self) -> Option<&MessageStores> {
        self.messages.as_ref()
    }

    /// What the pages of notification requests need; without it there are none.
    pub(crate) fn notifications(&self) -> Option<&NotificationStores> {
        self.notifications.as_ref()
    }
}

impl fmt::Debug for BoardStores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoardStores").finish_non_exhaustive()
    }
}
