//! Effects that happen once, however often their message comes.

mod attempt;
mod consumer;
mod consumption;
mod deliveries;
mod handler;
mod inbox_message;
mod once;
mod step_error;

use std::{fmt, future::Future, sync::Arc};

use claimstream_domain::{
    Claimed, Invalid, RetryPolicy,
    step::{StepResult, StepRetention},
};
use claimstream_ports::{
    Timer, Transactions,
    step::{PurgeSteps, StepLedger},
};
use futures::future::BoxFuture;

pub use consumer::Consumer;
pub use consumption::{Consumption, Handed};
pub use deliveries::deliveries;
pub use handler::InboxHandler;
pub use inbox_message::InboxMessage;
pub use once::{InboxError, Once};
pub use step_error::StepError;

use claimstream::RelayConfig;

/// Has the effect of each message once, in the transaction that also remembers it.
///
/// It holds for effects that are written to the same database in that transaction, and for nothing else: an e-mail that is
/// sent meanwhile is sent again when the message comes again.
pub struct Inbox<S> {
    store: Arc<S>,
}

impl<S: PurgeSteps> Inbox<S> {
    /// An inbox in `store`, for messages that come as often and as long as `config` lets a relay try them.
    ///
    /// Refused if the store forgets an effect while its message may still come again.
    pub fn new(store: Arc<S>, config: &RelayConfig) -> Result<Self, Invalid> {
        let RelayConfig { retry, lease, handle_timeout, .. } = config;
        StepRetention::check_against(store.step_retention(), retry, *lease, *handle_timeout)?;
        Ok(Self { store })
    }
}

impl<S> Inbox<S> {
    /// A handler for a [`Pipeline`](claimstream::Pipeline) that has `effect` once for each message, in a transaction of its own,
    /// and acks when that has been committed.
    ///
    /// A message that comes again is acked without a further effect; one whose id is known with another payload is buried.
    /// A transaction that meets a deadlock is restarted whole, so `effect` may be called several times before one of them
    /// counts.
    ///
    /// While the store fails before `effect` begins, as when one of its tables or rights is missing, the message is given back
    /// and no attempt is counted: it comes again as soon as the store can have its effect. An error of `effect` or of the commit
    /// is a failed attempt, because the message may be the cause.
    pub fn handler<F>(&self, consumer: Consumer, timer: impl Timer + 'static, effect: F) -> InboxHandler<S, F>
    where
        S: Transactions,
        F: for<'tx> Fn(&'tx S::Tx, &'tx Claimed) -> BoxFuture<'tx, Result<StepResult, StepError>>,
    {
        InboxHandler::new(Arc::clone(&self.store), consumer, Arc::new(timer), effect)
    }

    /// Has `effect` once for each message that a broker gives, which may be one of another database's outbox.
    ///
    /// `retry` says how often an effect that fails is tried, and how long is waited in between. A broker may give a message again for as
    /// long as it keeps it, so the store's `step_retention` must be longer than that.
    pub fn consumption<F>(
        &self,
        consumer: Consumer,
        timer: impl Timer + 'static,
        retry: RetryPolicy,
        effect: F,
    ) -> Consumption<S, F>
    where
        S: Transactions,
        F: for<'tx> Fn(
            &'tx S::Tx,
            &'tx claimstream_domain::Received,
        ) -> BoxFuture<'tx, Result<StepResult, StepError>>,
    {
        Consumption::new(Arc::clone(&self.store), consumer, Arc::new(timer), retry, effect)
    }

    /// Has `effect` in `tx` unless `consumer` has had it for this message, and answers what it answered.
    ///
    /// The step is inserted before the effect, so of two that have the message at the same time the second waits, and then
    /// repeats the answer. After an error, also one of `effect`, the transaction must be rolled back.
    pub async fn once<'tx, Tx, Fut, E>(
        &self,
        tx: &'tx Tx,
        consumer: &Consumer,
        message: impl Into<InboxMessage>,
        effect: impl FnOnce(&'tx Tx) -> Fut,
    ) -> Result<Once, E>
    where
        S: StepLedger<Tx>,
        Tx: Sync + ?Sized,
        Fut: Future<Output = Result<StepResult, E>>,
        E: From<InboxError>,
    {
        once::once(&*self.store, tx, consumer, message.into(), effect).await
    }
}

impl<S> Clone for Inbox<S> {
    fn clone(&self) -> Self {
        Self { store: Arc::clone(&self.store) }
    }
}

impl<S> fmt::Debug for Inbox<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Inbox")
    }
}
