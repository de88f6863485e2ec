use std::{fmt, sync::Arc, time::Duration};

use claimstream_domain::{Reason, Received, RetryPolicy, Verdict, step::StepResult};
use claimstream_ports::{ConsumeError, Delivery, Timer, Transactions, step::StepLedger};
use futures::future::BoxFuture;

use super::{Consumer, Once, Undone, attempt::attempt, undone::Failure};

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
    /// takes while the store fails before the effect begins, and as often as the retry policy says after an error of the effect or of the
    /// commit, which may be the message's own. A delivery that is dropped meanwhile, as when this future is, comes again.
    ///
    /// An error says that the broker did not learn that the delivery is done. The effect stays, and the message comes again and is
    /// a repeat.
    pub async fn hand(&self, delivery: Delivery) -> Result<Handed, ConsumeError> {
        let [mut pause, longest] = Self::PAUSES;
        let mut attempts = 0;
        loop {
            match attempt(&*self.store, &*self.timer, &self.consumer, &delivery.received, &self.effect).await
            {
                Ok(had) => {
                    delivery.finish().await?;
                    return Ok(had.into());
                }
                Err(Failure::OfStore(error)) => {
                    self.say_put_off(&delivery, &error, pause);
                    self.timer.sleep(pause).await;
                    pause = (pause * 2).min(longest);
                }
                Err(Failure::OfMessage(verdict)) => {
                    attempts += 1;
                    let (reason, is_final) = match verdict {
                        Verdict::Bury { reason } => (reason, true),
                        Verdict::Nack { reason, .. } | Verdict::Postpone { reason, .. } => (reason, false),
                        Verdict::Ack { .. } | Verdict::Release => {
                            (Reason::new("the effect was put off"), false)
                        }
                    };
                    if is_final || self.retry.is_last(attempts) {
                        return Ok(Handed::Refused(delivery, reason));
                    }
                    let wait = self.retry.delay(attempts, seed(self.timer.now()));
                    self.say_put_off(&delivery, &reason, wait);
                    self.timer.sleep(wait).await;
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
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    use async_trait::async_trait;
    use claimstream::RelayConfig;
    use claimstream_domain::{Headers, Jitter, Payload};
    use claimstream_memory::MemoryStore;
    use claimstream_ports::{Hold, StoreError, StoreErrorKind};
    use claimstream_tokio::TokioTimer;
    use futures::FutureExt;

    use super::*;
    use crate::inbox::Inbox;

    /// Counts how often a delivery was finished.
    struct Finished(Arc<AtomicU32>);

    #[async_trait]
    impl Hold for Finished {
        async fn finish(self: Box<Self>) -> Result<(), ConsumeError> {
            self.0.fetch_add(1, Relaxed);
            Ok(())
        }

        async fn give_back(self: Box<Self>) -> Result<(), ConsumeError> {
            Ok(())
        }
    }

    struct Setup {
        inbox: Inbox<MemoryStore>,
        finished: Arc<AtomicU32>,
        effects: AtomicU32,
    }

    impl Setup {
        fn new() -> Self {
            let inbox = Inbox::new(Arc::new(MemoryStore::new()), &RelayConfig::default()).unwrap();
            Self { inbox, finished: Arc::default(), effects: AtomicU32::new(0) }
        }

        fn delivery(&self, id: &str, body: &str) -> Delivery {
            let (id, place, body) = (id.to_owned(), "orders".to_owned(), Payload::json(body));
            let received =
                Received { id, place, key: None, attributes: Vec::new(), headers: Headers::new(), body };
            Delivery::new(received, 1, Box::new(Finished(Arc::clone(&self.finished))))
        }

        /// Hands deliveries over to an effect that ends so when it is tried for the nth time, the first being 0.
        fn consumption<'a>(
            &self,
            ends: impl Fn(u32) -> Result<StepResult, Undone> + Send + Sync + 'a,
        ) -> Consumption<
            MemoryStore,
            impl for<'tx> Fn(
                &'tx <MemoryStore as Transactions>::Tx,
                &'tx Received,
            ) -> BoxFuture<'tx, Result<StepResult, Undone>>
            + 'a,
        > {
            let retry = RetryPolicy {
                base: Duration::from_millis(1),
                cap: Duration::from_millis(1),
                max_attempts: 3,
                jitter: Jitter::None,
            };
            let tried = AtomicU32::new(0);
            let consumer = Consumer::new("shipping").unwrap();
            self.inbox.consumption(consumer, TokioTimer::new(), retry, move |_, _| {
                let done = ends(tried.fetch_add(1, Relaxed));
                async move { done }.boxed()
            })
        }

        /// Hands a delivery over to an effect that fails so often before it succeeds.
        async fn hand(&self, delivery: Delivery, failures: u32, how: fn(&str) -> Undone) -> Handed {
            let consumption = self.consumption(|tried| {
                if tried < failures {
                    return Err(how("not yet"));
                }
                self.effects.fetch_add(1, Relaxed);
                Ok(StepResult::default())
            });
            consumption.hand(delivery).await.unwrap()
        }

        fn counts(&self) -> (u32, u32) {
            (self.effects.load(Relaxed), self.finished.load(Relaxed))
        }
    }

    fn nack(why: &str) -> Undone {
        Undone::nack(why)
    }

    fn bury(why: &str) -> Undone {
        Undone::bury(why)
    }

    #[tokio::test(start_paused = true)]
    async fn a_message_that_comes_again_is_finished_without_a_second_effect() {
        let setup = Setup::new();
        assert!(matches!(setup.hand(setup.delivery("a", "1"), 0, nack).await, Handed::Done(_)));
        assert!(matches!(setup.hand(setup.delivery("a", "1"), 0, nack).await, Handed::Repeated(_)));
        assert_eq!(setup.counts(), (1, 2));
    }

    #[tokio::test(start_paused = true)]
    async fn an_effect_that_fails_is_tried_again_in_place() {
        let setup = Setup::new();
        assert!(matches!(setup.hand(setup.delivery("a", "1"), 2, nack).await, Handed::Done(_)));
        assert_eq!(setup.counts(), (1, 1));
    }

    /// Guard: a message whose effect the database refuses blocks no consumer | `failure`: no look at `begun`
    #[tokio::test(start_paused = true)]
    async fn an_error_of_the_database_in_the_effect_is_a_failed_attempt_of_any_kind() {
        for kind in StoreErrorKind::ALL {
            let setup = Setup::new();
            let consumption = setup.consumption(|tried| {
                assert!(tried < 100, "{kind}: the message is tried without end");
                Err(StoreError::new(kind, "ship", "1644: refused by a trigger").into())
            });
            let Handed::Refused(_, why) = consumption.hand(setup.delivery("a", "1")).await.unwrap() else {
                panic!("{kind}")
            };
            assert!(why.as_str().contains("1644"), "{why}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_delivery_that_can_never_have_its_effect_is_handed_back_unfinished() {
        let setup = Setup::new();
        let refused = |handed| match handed {
            Handed::Refused(delivery, why) => (delivery.received.id, why.to_string()),
            other => panic!("{other:?}"),
        };
        let buried = refused(setup.hand(setup.delivery("a", "1"), 1, bury).await);
        assert_eq!(buried, ("a".into(), "not yet".into()));
        let failed = refused(setup.hand(setup.delivery("b", "1"), 3, nack).await);
        assert_eq!(failed, ("b".into(), "not yet".into()));
        setup.hand(setup.delivery("c", "1"), 0, nack).await;
        let (_, why) = refused(setup.hand(setup.delivery("c", "2"), 0, nack).await);
        assert!(why.contains("with another payload"), "{why}");
        let (_, why) = refused(setup.hand(setup.delivery("", "1"), 0, nack).await);
        assert!(why.contains("empty"), "{why}");
        assert_eq!(setup.counts(), (1, 1));
    }
}
