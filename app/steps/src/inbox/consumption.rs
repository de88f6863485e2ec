use std::{fmt, sync::Arc, time::Duration};

use claimstream_domain::{Reason, Received, RetryPolicy, step::StepResult};
use claimstream_ports::{ConsumeError, Delivery, Timer, Transactions, step::StepLedger};
use futures::future::BoxFuture;

use super::{Consumer, Once, Undone, once::once, undone::Failure};
use claimstream::{in_transaction, work};

/// Has an effect once for each message that a broker gives, made by [`Inbox::consumption`](super::Inbox::consumption).
pub struct Consumption<S, F> {
    store: Arc<S>,
    consumer: Consumer,
    timer: Arc<dyn Timer>,
    retry: RetryPolicy,
    effect: F,
}

/// What became of a delivery.
#[derive(Debug)]
pub enum Handed {
    /// It had its effect now, and the broker knows that it is done.
    Done(StepResult),
    /// It had had its effect before, and the broker knows that it is done.
    Repeated(StepResult),
    /// It will never have its effect. The delivery is still held: keep the message where somebody finds it, and
    /// [finish](Delivery::finish) it then.
    Refused(Delivery, Reason),
}

impl<S, F> Consumption<S, F> {
    /// The waits while the store is away, doubled from the first to the last.
    const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(5)];

    pub(super) fn new(
        store: Arc<S>,
        consumer: Consumer,
        timer: Arc<dyn Timer>,
        retry: RetryPolicy,
        effect: F,
    ) -> Self {
        Self { store, consumer, timer, retry, effect }
    }
}

impl<S, F> Consumption<S, F>
where
    S: Transactions + StepLedger<<S as Transactions>::Tx>,
    F: for<'tx> Fn(&'tx S::Tx, &'tx Received) -> BoxFuture<'tx, Result<StepResult, Undone>> + Send + Sync,
{
    /// Has the effect in a transaction of its own, unless it has been had, and finishes the delivery when that has been committed.
    ///
    /// An effect that fails is tried again in place, so that the next message of an ordering key does not overtake it: as long as it
    /// takes while the store is away, and as often as the retry policy says after a failure that may be the message's own. A delivery
    /// that is dropped meanwhile, as when this future is, comes again.
    ///
    /// An error says that the broker did not learn that the delivery is done. The effect stays, and the message comes again and is
    /// a repeat.
    pub async fn hand(&self, delivery: Delivery) -> Result<Handed, ConsumeError> {
        let [mut pause, longest] = Self::PAUSES;
        let mut attempts = 0;
        loop {
            match self.attempt(&delivery.received).await {
                Ok(had) => {
                    delivery.finish().await?;
                    return Ok(had.into());
                }
                Err(Failure::OfStore(error)) => {
                    self.say_put_off(&delivery, &error, pause);
                    self.timer.sleep(pause).await;
                    pause = (pause * 2).min(longest);
                }
                Err(Failure::Passing(reason)) => {
                    attempts += 1;
                    if self.retry.is_last(attempts) {
                        return Ok(Handed::Refused(delivery, reason));
                    }
                    let wait = self.retry.delay(attempts, seed(self.timer.now()));
                    self.say_put_off(&delivery, &reason, wait);
                    self.timer.sleep(wait).await;
                }
                Err(Failure::Final(reason)) => return Ok(Handed::Refused(delivery, reason)),
            }
        }
    }

    async fn attempt(&self, received: &Received) -> Result<Once, Failure> {
        let done = in_transaction(&*self.store, &*self.timer, |tx| {
            work(async move {
                let effect = |tx| (self.effect)(tx, received);
                once(&*self.store, tx, &self.consumer, received.into(), effect).await
            })
        });
        done.await.map_err(Undone::failure)
    }

    fn say_put_off(&self, delivery: &Delivery, why: &dyn fmt::Display, wait: Duration) {
        let (id, consumer, wait_seconds) = (&delivery.received.id, &self.consumer, wait.as_secs_f64());
        tracing::warn!(id, %consumer, %why, wait_seconds, "effect was put off");
    }
}

/// Waits must differ between consumers that fail together; they need not be unforeseeable.
fn seed(now: Duration) -> u64 {
    now.as_secs() ^ u64::from(now.subsec_nanos())
}

impl From<Once> for Handed {
    fn from(had: Once) -> Self {
        match had {
            Once::Done(result) => Self::Done(result),
            Once::Repeated(result) => Self::Repeated(result),
        }
    }
}

impl<S, F> fmt::Debug for Consumption<S, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumption").field("consumer", &self.consumer).finish_non_exhaustive()
    }
}
