//! Promise: a message of a broker has its effect once, blocks no consumer for ever, and is held for no longer than
//! its broker allows

use std::sync::{
    Mutex,
    atomic::{AtomicU32, Ordering::Relaxed},
};

use async_trait::async_trait;
use claimstream::RelayConfig;
use claimstream_domain::{Headers, HoldLimit, Jitter, Payload};
use claimstream_memory::MemoryStore;
use claimstream_ports::{Hold, StoreError, StoreErrorKind};
use claimstream_tokio::TokioTimer;
use futures::FutureExt;

use super::*;
use crate::inbox::Inbox;

/// What a consumer did with a delivery.
#[derive(Default)]
struct Seen {
    finished: AtomicU32,
    given_back: AtomicU32,
    /// When the hold was extended, by the timer of the test.
    extended: Mutex<Vec<Duration>>,
}

/// A hold that is lost when it was extended so often.
struct SeenHold {
    seen: Arc<Seen>,
    limit: HoldLimit,
    lost_after: usize,
    timer: TokioTimer,
}

#[async_trait]
impl Hold for SeenHold {
    fn limit(&self) -> HoldLimit {
        self.limit
    }

    async fn extend(&self) -> Result<Extended, ConsumeError> {
        let mut extended = self.seen.extended.lock().unwrap();
        extended.push(self.timer.now());
        Ok(if extended.len() > self.lost_after { Extended::Lost } else { Extended::Held })
    }

    async fn finish(self: Box<Self>) -> Result<(), ConsumeError> {
        self.seen.finished.fetch_add(1, Relaxed);
        Ok(())
    }

    async fn give_back(self: Box<Self>) -> Result<(), ConsumeError> {
        self.seen.given_back.fetch_add(1, Relaxed);
        Ok(())
    }
}

const SHORT: Duration = Duration::from_millis(1);

type Tx = <MemoryStore as Transactions>::Tx;
type Effect<'tx> = BoxFuture<'tx, Result<StepResult, StepError>>;

struct Setup {
    inbox: Inbox<MemoryStore>,
    seen: Arc<Seen>,
    timer: TokioTimer,
    effects: AtomicU32,
}

impl Setup {
    fn new() -> Self {
        let inbox = Inbox::new(Arc::new(MemoryStore::new()), &RelayConfig::default()).unwrap();
        Self { inbox, seen: Arc::default(), timer: TokioTimer::new(), effects: AtomicU32::new(0) }
    }

    fn delivery(&self, id: &str, body: &str) -> Delivery {
        self.held(id, body, HoldLimit::None, usize::MAX)
    }

    fn held(&self, id: &str, body: &str, limit: HoldLimit, lost_after: usize) -> Delivery {
        let (id, place, body) = (id.to_owned(), "orders".to_owned(), Payload::json(body));
        let received =
            Received { id, place, key: None, attributes: Vec::new(), headers: Headers::new(), body };
        let (seen, timer) = (Arc::clone(&self.seen), self.timer);
        Delivery::new(received, 1, Box::new(SeenHold { seen, limit, lost_after, timer }))
    }

    /// Hands deliveries over to an effect that ends so when it is tried for the nth time, the first being 0.
    fn consumption<'a>(
        &self,
        wait: Duration,
        ends: impl Fn(u32) -> Result<StepResult, StepError> + Send + Sync + 'a,
    ) -> Consumption<MemoryStore, impl for<'tx> Fn(&'tx Tx, &'tx Received) -> Effect<'tx> + 'a> {
        let retry = RetryPolicy { base: wait, cap: wait, max_attempts: 3, jitter: Jitter::None };
        let tried = AtomicU32::new(0);
        let consumer = Consumer::new("shipping").unwrap();
        self.inbox.consumption(consumer, self.timer, retry, move |_, _| {
            let done = ends(tried.fetch_add(1, Relaxed));
            async move { done }.boxed()
        })
    }

    /// Hands a delivery over to an effect that fails so often before it succeeds.
    async fn hand(&self, delivery: Delivery, failures: u32, how: fn(&str) -> StepError) -> Handed {
        let consumption = self.consumption(SHORT, |tried| {
            if tried < failures {
                return Err(how("not yet"));
            }
            self.effects.fetch_add(1, Relaxed);
            Ok(StepResult::default())
        });
        consumption.hand(delivery).await.unwrap()
    }

    fn counts(&self) -> (u32, u32) {
        (self.effects.load(Relaxed), self.seen.finished.load(Relaxed))
    }
}

fn nack(why: &str) -> StepError {
    StepError::nack(why)
}

fn bury(why: &str) -> StepError {
    StepError::bury(why)
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
        let consumption = setup.consumption(SHORT, |tried| {
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

/// Guard: a hold is extended while its message is retried | consumption.rs `lost`: `pending` in every case
#[tokio::test(start_paused = true)]
async fn a_message_that_is_retried_for_long_is_never_held_for_longer_than_its_broker_allows() {
    let setup = Setup::new();
    let limit = Duration::from_secs(30);
    let began = setup.timer.now();
    let consumption = setup.consumption(Duration::from_secs(300), |_| Err(nack("not yet")));
    let delivery = setup.held("a", "1", HoldLimit::Extendable(limit), usize::MAX);
    assert!(matches!(consumption.hand(delivery).await.unwrap(), Handed::Refused(..)));
    let ended = setup.timer.now();
    let mut extended = setup.seen.extended.lock().unwrap().clone();
    extended.insert(0, began);
    extended.push(ended);
    assert!(ended - began >= Duration::from_secs(600));
    assert!(extended.windows(2).all(|pair| pair[1] - pair[0] < limit), "{extended:?}");
}

#[tokio::test(start_paused = true)]
async fn a_message_that_another_consumer_has_is_tried_no_longer() {
    let setup = Setup::new();
    let consumption = setup.consumption(Duration::from_secs(300), |tried| {
        assert_eq!(tried, 0);
        Err(nack("not yet"))
    });
    let lost =
        consumption.hand(setup.held("a", "1", HoldLimit::Extendable(Duration::from_secs(30)), 2)).await;
    assert!(
        matches!(&lost, Err(ConsumeError::Away(why)) if why.as_str().contains("another consumer")),
        "{lost:?}"
    );
    assert_eq!((setup.counts(), setup.seen.given_back.load(Relaxed)), ((0, 0), 0));
}

/// Guard: retrying ends before the broker takes the message away | consumption.rs `tried`: no look at `limit`
#[tokio::test(start_paused = true)]
async fn retrying_ends_before_a_broker_that_extends_no_hold_takes_the_message_away() {
    let all = Duration::from_secs(1800);
    let handed = async |left: u64| {
        let setup = Setup::new();
        let left = Duration::from_secs(left);
        let consumption = setup.consumption(Duration::from_secs(1000), |tried| {
            assert!(tried < 2, "the message is tried beyond its time");
            Err(nack("not yet"))
        });
        let began = setup.timer.now();
        let handed = consumption.hand(setup.held("a", "1", HoldLimit::Fixed { all, left }, 0)).await.unwrap();
        assert!(setup.timer.now() - began < left);
        (handed, setup.seen.given_back.load(Relaxed))
    };
    assert!(matches!(handed(1800).await, (Handed::Refused(..), 0)));
    assert!(matches!(handed(600).await, (Handed::GivenBack(_), 1)), "it waited behind others for long");
}
