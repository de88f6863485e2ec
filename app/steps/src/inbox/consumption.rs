use std::{fmt, future::pending, pin::pin, sync::Arc, time::Duration};

use claimstream_domain::{HeldAttempt, HeldNext, Reason, Received, RetryPolicy, Verdict, step::StepResult};
use claimstream_ports::{ConsumeError, Delivery, Extended, Timer, Transactions, step::StepLedger};
use futures::future::{BoxFuture, Either, select};

use super::{Consumer, Once, StepError, attempt::attempt, step_error::Failure};

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
    /// It will never have its effect. The delivery is still held: keep the message where an operator finds it, and
    /// [finish](Delivery::finish) it then.
    Refused(Delivery, Reason),
    /// It was tried for as long as the broker lets a message be held, and given back: it comes again.
    GivenBack(Reason),
}

/// How the attempts at a delivery ended.
enum End {
    Had(Once),
    Refused(Reason),
    OutOfTime(Reason),
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
    F: for<'tx> Fn(&'tx S::Tx, &'tx Received) -> BoxFuture<'tx, Result<StepResult, StepError>> + Send + Sync,
{
    /// Has the effect in a transaction of its own, unless it has been had, and finishes the delivery when that has been committed.
    ///
    /// An effect that fails is tried again in place, so that the next message of an ordering key does not overtake it: as long as it
    /// takes while the store fails before the effect begins, and as often as the retry policy says after an error of the effect or of the
    /// commit, which may be the message's own. Meanwhile the broker's hold is extended. A broker whose hold cannot be is given the
    /// message back before its time is over, or the message is refused if it may be the cause. A delivery that is dropped meanwhile,
    /// as when this future is, comes again.
    ///
    /// An error says that the broker does not know that the delivery is done, or has given it to another consumer. An effect that was
    /// committed stays, and the message comes again and is a repeat.
    pub async fn hand(&self, delivery: Delivery) -> Result<Handed, ConsumeError> {
        let end = match select(pin!(self.tried(&delivery)), pin!(self.lost(&delivery))).await {
            Either::Left((end, _)) => end,
            Either::Right((lost, _)) => return Err(lost),
        };
        match end {
            End::Had(had) => {
                delivery.finish().await?;
                Ok(had.into())
            }
            End::Refused(reason) => Ok(Handed::Refused(delivery, reason)),
            End::OutOfTime(reason) => {
                delivery.give_back().await?;
                Ok(Handed::GivenBack(reason))
            }
        }
    }

    /// Tries until the effect was had, or will not be in this delivery.
    async fn tried(&self, delivery: &Delivery) -> End {
        let [mut pause, longest] = Self::PAUSES;
        let (began, limit) = (self.timer.now(), delivery.limit());
        let mut attempts = 0;
        loop {
            let Self { store, consumer, timer, effect, .. } = self;
            let failure = match attempt(&**store, &**timer, consumer, &delivery.received, effect).await {
                Ok(had) => return End::Had(had),
                Err(failure) => failure,
            };
            let is_of_message = matches!(failure, Failure::OfMessage(_));
            let (reason, wait) = match failure {
                Failure::OfStore(error) => {
                    let wait = pause;
                    pause = (pause * 2).min(longest);
                    (Reason::new(error), wait)
                }
                Failure::OfMessage(verdict) => {
                    attempts += 1;
                    let (reason, is_final) = match verdict {
                        Verdict::Bury { reason } => (reason, true),
                        Verdict::Nack { reason, .. } | Verdict::Postpone { reason, .. } => (reason, false),
                        Verdict::Ack { .. } | Verdict::Release => {
                            (Reason::new("the effect was put off"), false)
                        }
                    };
                    if is_final || self.retry.is_last(attempts) {
                        return End::Refused(reason);
                    }
                    (reason, self.retry.delay(attempts, seed(timer.now())))
                }
            };
            let elapsed = timer.now().saturating_sub(began);
            match limit.after(HeldAttempt { elapsed, wait, is_of_message }) {
                HeldNext::Again => {}
                HeldNext::Refuse => return End::Refused(reason),
                HeldNext::GiveBack => return End::OutOfTime(reason),
            }
            self.say_put_off(delivery, &reason, wait);
            timer.sleep(wait).await;
        }
    }

    /// Extends the broker's hold for as long as that goes, and ends when another consumer has the message.
    async fn lost(&self, delivery: &Delivery) -> ConsumeError {
        let Some(every) = delivery.limit().extend_every() else { return pending().await };
        loop {
            self.timer.sleep(every).await;
            match delivery.extend().await {
                Ok(Extended::Held) => {}
                Ok(Extended::Lost) => {
                    return ConsumeError::Away(Reason::new(
                        "the broker has given the message to another consumer, or gives it again",
                    ));
                }
                Err(error) => {
                    let (id, consumer) = (&delivery.received.id, &self.consumer);
                    tracing::warn!(id, %consumer, %error, "hold on a message was not extended");
                }
            }
        }
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

#[cfg(test)]
mod tests;
