use std::{
    fmt,
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use claimstream_ports::{
    StoreError, Timer,
    notification::{
        DeliveryReceipts, InAppInbox, ListRequests, NotificationReports, PreferenceRepository,
        RequestRepository,
    },
    within,
};
use tokio::sync::{Mutex, Semaphore};
use uuid::Uuid;

use crate::{
    group_commit::GroupCommit,
    intake::Intake,
    limits::Limits,
    people::RecipientStores,
    problem::Problem,
    templates::{TemplateCheck, TemplateDesk},
    token::Tokens,
};

/// The stores that a service works on.
#[derive(Clone)]
pub struct Stores {
    /// Takes requests in.
    pub intake: Arc<dyn Intake>,
    /// Reads requests and calls them off.
    pub requests: Arc<dyn RequestRepository>,
    /// Says how far requests have come.
    pub reports: Arc<dyn NotificationReports>,
    /// Lists requests.
    pub list: Arc<dyn ListRequests>,
    /// Keeps what providers say of messages afterwards.
    pub receipts: Arc<dyn DeliveryReceipts>,
    /// Keeps what recipients want.
    pub preferences: Arc<dyn PreferenceRepository>,
    /// Keeps inboxes of users inside the application.
    pub in_app: Arc<dyn InAppInbox>,
    /// Keeps recipients.
    pub people: RecipientStores,
    /// Checks requests against their templates; requests are taken in unchecked without it.
    pub template_check: Option<Arc<dyn TemplateCheck>>,
    /// Shows and edits templates; the routes for that refuse to without it.
    pub templates: Option<Arc<dyn TemplateDesk>>,
}

/// What all handlers share.
pub(crate) struct AppState {
    pub(crate) stores: Stores,
    pub(crate) timer: Arc<dyn Timer>,
    pub(crate) intake: GroupCommit,
    /// `None` if callers need no token.
    pub(crate) tokens: Option<Tokens>,
    pub(crate) limits: Limits,
    pub(crate) places: Semaphore,
    stopping: AtomicBool,
    looked: Mutex<Option<(Duration, bool)>>,
}

impl AppState {
    /// How long an answer about the database stands, so that callers cannot have it asked often.
    const LOOK: Duration = Duration::from_secs(1);

    pub(crate) fn new(stores: Stores, timer: Arc<dyn Timer>, tokens: Option<Tokens>, limits: Limits) -> Self {
        Self {
            intake: GroupCommit::start(Arc::clone(&stores.intake), limits.writers, limits.queue),
            places: Semaphore::new(limits.concurrency.clamp(1, Semaphore::MAX_PERMITS)),
            stores,
            timer,
            tokens,
            limits,
            stopping: AtomicBool::new(false),
            looked: Mutex::default(),
        }
    }

    /// The answer of the store, or the problem to be shown: of what it says, or that it takes too long.
    pub(crate) async fn ask<T>(
        &self,
        answer: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, Problem> {
        match self.in_time(answer).await? {
            Ok(answer) => Ok(answer),
            Err(error) => {
                tracing::warn!(%error, "the store refused a request");
                Err(Problem::of_store(&error))
            }
        }
    }

    pub(crate) async fn in_time<T>(&self, work: impl Future<Output = T>) -> Result<T, Problem> {
        let slow = "the database takes too long; the outcome is unknown, so send the same call with the same \
                    Idempotency-Key again";
        let done = within(&*self.timer, self.limits.timeout, work).await;
        done.ok_or_else(|| Problem::unavailable(slow))
    }

    /// From now on it is not ready.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Relaxed);
    }

    /// Whether requests can be taken in now.
    pub(crate) async fn is_ready(&self) -> Result<(), &'static str> {
        if self.stopping.load(Relaxed) {
            return Err("the server stops");
        }
        let mut looked = self.looked.lock().await;
        let now = self.timer.now();
        let known = looked.filter(|(at, _)| now.saturating_sub(*at) < Self::LOOK).map(|(_, answers)| answers);
        let answers = match known {
            Some(answers) => answers,
            None => {
                let asked = [Uuid::nil()];
                let look = self.stores.requests.read(&asked);
                let look = within(&*self.timer, self.limits.timeout, look).await;
                let answers = matches!(look, Some(Ok(_)));
                *looked = Some((self.timer.now(), answers));
                answers
            }
        };
        if answers { Ok(()) } else { Err("the database does not answer") }
    }
}

impl fmt::Debug for Stores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stores").finish_non_exhaustive()
    }
}
