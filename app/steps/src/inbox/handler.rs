use std::{fmt, sync::Arc};

use async_trait::async_trait;
use claimstream_domain::{Claimed, Verdict, step::StepResult};
use claimstream_ports::{Handler, Timer, Transactions, step::StepLedger};
use futures::future::BoxFuture;

use super::{Consumer, Once, StepError, attempt::attempt, step_error::Failure};

/// A [`Handler`] whose effect happens once for each message, made by [`Inbox::handler`](super::Inbox::handler).
pub struct InboxHandler<S, F> {
    store: Arc<S>,
    consumer: Consumer,
    timer: Arc<dyn Timer>,
    effect: F,
}

impl<S, F> InboxHandler<S, F> {
    pub(super) fn new(store: Arc<S>, consumer: Consumer, timer: Arc<dyn Timer>, effect: F) -> Self {
        Self { store, consumer, timer, effect }
    }
}

#[async_trait]
impl<S, F> Handler for InboxHandler<S, F>
where
    S: Transactions + StepLedger<<S as Transactions>::Tx>,
    F: for<'tx> Fn(&'tx S::Tx, &'tx Claimed) -> BoxFuture<'tx, Result<StepResult, StepError>> + Send + Sync,
{
    async fn handle(&self, claimed: &Claimed) -> Verdict {
        let Self { store, consumer, timer, effect } = self;
        match attempt(&**store, &**timer, consumer, claimed, effect).await {
            Ok(Once::Done(_)) => Verdict::ack(),
            Ok(Once::Repeated(_)) => {
                tracing::debug!(message_id = %claimed.message.id, %consumer, "had before");
                Verdict::ack()
            }
            Err(Failure::OfMessage(verdict)) => verdict,
            Err(Failure::OfStore(error)) => {
                tracing::warn!(message_id = %claimed.message.id, %consumer, %error, "message was given back uncounted, because its effect could not begin");
                Verdict::Release
            }
        }
    }
}

impl<S, F> fmt::Debug for InboxHandler<S, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InboxHandler").field("consumer", &self.consumer).finish_non_exhaustive()
    }
}
