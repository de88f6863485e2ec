use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use async_trait::async_trait;
use claimstream_domain::{Claimed, Verdict, step::StepResult};
use claimstream_ports::{Handler, Timer, Transactions, step::StepLedger};
use futures::future::BoxFuture;

use super::{Consumer, InboxError, InboxMessage, Undone, once::Once, once::once_written};
use crate::effect::{Written, effect};
use claimstream::work;

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
    F: for<'tx> Fn(&'tx S::Tx, &'tx Claimed) -> BoxFuture<'tx, Result<StepResult, Undone>> + Send + Sync,
{
    async fn handle(&self, claimed: &Claimed) -> Verdict {
        let begun = &AtomicBool::new(false);
        let written = match InboxMessage::from(claimed).key(&self.consumer) {
            Ok(key) => &Written::of(&key),
            Err(invalid) => return Undone::from(InboxError::from(invalid)).verdict(),
        };
        let done = effect(&*self.store, &*self.timer, written, |tx| {
            work(async move {
                begun.store(false, Ordering::Relaxed);
                let effect = |tx| {
                    begun.store(true, Ordering::Relaxed);
                    (self.effect)(tx, claimed)
                };
                once_written(&*self.store, tx, &self.consumer, claimed.into(), written, effect).await
            })
        });
        match done.await {
            Ok(Once::Done(_)) => Verdict::ack(),
            Ok(Once::Repeated(_)) => {
                tracing::debug!(message_id = %claimed.message.id, consumer = %self.consumer, "had before");
                Verdict::ack()
            }
            Err(undone) if begun.load(Ordering::Relaxed) => undone.verdict(),
            Err(undone) => undone.verdict_unbegun(claimed, &self.consumer),
        }
    }
}

impl<S, F> fmt::Debug for InboxHandler<S, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InboxHandler").field("consumer", &self.consumer).finish_non_exhaustive()
    }
}
