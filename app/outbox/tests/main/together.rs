//! Several relays on one store that keeps leases.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use claimstream::{Compose, MessageId, NewMessage, Observe, Relay, RelayConfig, Timer, Verdict, handler_fn};
use claimstream_memory::MemoryStore;
use claimstream_ports::mock::HandTimer;
use futures::{FutureExt, StreamExt, channel::oneshot, executor::block_on};

use crate::play::{Bench, accepted};

const STEP: Duration = Duration::from_millis(5);

/// How often each message has been begun.
type Begun = Arc<Mutex<BTreeMap<MessageId, u32>>>;

struct Town {
    store: MemoryStore,
    timer: HandTimer,
    bench: Bench,
}

impl Town {
    fn with(messages: usize) -> Self {
        let store = MemoryStore::with_manual_clock();
        let paid: Vec<_> = (0..messages).map(|n| NewMessage::json("orders", &n).unwrap()).collect();
        block_on(store.enqueue_now(&paid)).unwrap();
        Self { store, timer: HandTimer::default(), bench: Bench::default() }
    }

    fn relay(&self) -> Relay {
        let config = RelayConfig { batch: 30, prefetch: 60, ..RelayConfig::default() };
        Relay::new(Arc::new(self.store.rival()), self.timer.clone(), config)
    }

    /// Lets time pass on both clocks until `done`.
    fn pass_until(&mut self, mut done: impl FnMut(&Self) -> bool) {
        for _ in 0..100_000 {
            self.bench.settle();
            if done(self) {
                return;
            }
            self.timer.advance(STEP);
            self.store.advance(STEP);
        }
        panic!("no end in sight");
    }

    fn is_empty(&self) -> bool {
        block_on(self.store.observe()).unwrap().iter().all(|queue| queue.depth == 0)
    }
}

/// Needs 12 ms for every message; every seventh fails the first time, every eleventh panics the first time.
fn handler(timer: &HandTimer, begun: &Begun) -> impl claimstream::Handler + 'static {
    let (timer, begun) = (timer.clone(), Arc::clone(begun));
    handler_fn(move |claimed| {
        let (timer, begun) = (timer.clone(), Arc::clone(&begun));
        async move {
            *begun.lock().unwrap().entry(claimed.message.id).or_default() += 1;
            timer.sleep(Duration::from_millis(12)).await;
            let n: usize = serde_json::from_slice(claimed.message.payload.bytes()).unwrap();
            match claimed.attempt {
                1 if n.is_multiple_of(7) => Verdict::nack("the first time"),
                1 if n.is_multiple_of(11) => panic!("the first time"),
                _ => Verdict::ack(),
            }
        }
    })
}

#[test]
fn two_pipelines_and_a_stream_empty_the_queue_and_meet_nowhere() {
    let mut town = Town::with(1000);
    let begun = Begun::default();
    let mut ends = Vec::new();
    for _ in 0..2 {
        let (stop, stopped) = oneshot::channel::<()>();
        let pipeline = town.relay().pipeline("orders", handler(&town.timer, &begun)).unwrap();
        ends.push((stop, town.bench.start(pipeline.run_until(stopped.map(|_| ())))));
    }
    let (claims, seen) = (town.relay().claims("orders").unwrap(), Arc::clone(&begun));
    let _task = town.bench.start(claims.for_each_concurrent(10, move |claim| {
        let claim = claim.unwrap();
        *seen.lock().unwrap().entry(claim.message().id).or_default() += 1;
        async move { accepted(claim.ack().await) }
    }));

    town.pass_until(Town::is_empty);

    let mut failed = 0;
    for (stop, task) in ends {
        stop.send(()).unwrap();
        let report = town.bench.finish(&town.timer, task).unwrap();
        assert_eq!((report.superseded, report.unsettled, report.buried), (0, 0, 0));
        assert!(report.acked > 0 && report.panicked > 0);
        failed += report.nacked;
    }
    let begun = begun.lock().unwrap();
    assert_eq!(begun.len(), 1000);
    assert_eq!(
        begun.values().sum::<u32>() as u64,
        1000 + failed,
        "each once, and once more for each failure"
    );
}

#[test]
fn what_a_relay_held_that_is_gone_comes_back_after_its_lease() {
    let mut town = Town::with(200);
    let begun = Begun::default();
    let pipeline = town.relay().pipeline("orders", handler(&town.timer, &begun)).unwrap();
    let mut doomed = Box::pin(pipeline.run_until(futures::future::pending()));
    assert!((&mut doomed).now_or_never().is_none());
    drop(doomed);
    assert_eq!(begun.lock().unwrap().len(), 32, "the doomed one had begun as many as it runs at once");

    let pipeline = town.relay().pipeline("orders", handler(&town.timer, &begun)).unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let task = town.bench.start(pipeline.run_until(stopped.map(|_| ())));
    town.pass_until(Town::is_empty);
    assert!(town.timer.now() >= Duration::from_secs(30), "not before the lease was over");
    assert!(town.timer.now() <= Duration::from_secs(40), "within a lease, a poll and a retry");
    stop.send(()).unwrap();
    let report = town.bench.finish(&town.timer, task).unwrap();
    assert_eq!((report.acked, report.superseded, report.unsettled), (200, 0, 0));
}
