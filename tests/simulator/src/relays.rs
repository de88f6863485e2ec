use std::{sync::Arc, time::Duration};

use claimstream::{Lease, Pacing, RelayConfig, RetryPolicy};
use claimstream_domain::{DeadLetterFilter, PauseNote, QueueName};
use claimstream_ports::{DeadLetters, PauseQueues, Timer};
use futures::{channel::oneshot, future::BoxFuture};

use crate::{
    journal::Journal,
    sim::{Process, Sim},
    store::{FaultyStore, LEASE},
    weather::Mishap,
};

/// How often a message is tried.
pub(crate) const MAX_ATTEMPTS: u32 = 4;

/// The processes of a schedule: they are started, killed, paused and stopped as the weather has it, and in the end each runs
/// undisturbed until everything is done.
#[derive(Clone)]
pub(crate) struct Relays {
    sim: Sim,
}

/// What a process runs; it ends in order after the signal.
pub(crate) type Start = Arc<dyn Fn(Process, oneshot::Receiver<()>) -> BoxFuture<'static, ()> + Send + Sync>;

impl Relays {
    pub(crate) fn new(sim: &Sim) -> Self {
        Self { sim: sim.clone() }
    }

    /// Runs up to three processes in bad weather for a while, then in good weather until `is_done`.
    pub(crate) async fn run(&self, start: Start, is_done: impl Fn() -> bool) {
        let count = 1 + self.sim.below(3);
        let all: Vec<_> = (0..count).map(|_| self.supervise(Arc::clone(&start))).collect();
        let all = futures::future::join_all(all);
        let storm = self.sim.time_below(Duration::from_secs(90));
        let course = async {
            self.sim.sleep(storm).await;
            self.sim.calm();
            self.sim.trace(|| "nothing goes wrong from here on".into());
            // Calls that are on their way arrive, also those of processes that are dead.
            self.sim.sleep(LEASE * 2).await;
            self.until(&is_done).await;
        };
        let (stops, ()) = futures::join!(all, course);
        for (process, stop, ended) in stops {
            drop(stop);
            if ended.await.is_err() && !self.sim.has_failed() {
                self.sim.fail(format!("{process:?} did not end in order"));
            }
        }
    }

    /// Waits for `is_done`; after a quarter of an hour of good weather that is a fault.
    pub(crate) async fn until(&self, is_done: impl Fn() -> bool) {
        let end = self.sim.timer().now() + Duration::from_secs(900);
        while !is_done() {
            if self.sim.timer().now() > end {
                return self.sim.fail("not everything has ended after a quarter of an hour without faults");
            }
            self.sim.sleep(Duration::from_secs(1)).await;
        }
    }

    /// Starts processes one after another until the weather is calm; answers the last one, which runs on.
    async fn supervise(&self, start: Start) -> (Process, oneshot::Sender<()>, oneshot::Receiver<()>) {
        loop {
            let (process, stop, mut ended) = self.begin(&start);
            self.disturb(process).await;
            if self.sim.is_calm() {
                return (process, stop, ended);
            }
            let weather = self.sim.weather();
            if self.sim.chance(weather.crash) {
                self.sim.count(Mishap::Crash);
                self.sim.kill_after(process, self.sim.below(12) as u32 + 1);
                self.sim.sleep(self.sim.time_below(LEASE)).await;
                self.sim.kill(process);
                continue;
            }
            drop(stop);
            // In order, but for what does not end in time.
            for _ in 0..60 {
                if !matches!(ended.try_recv(), Ok(None)) {
                    break;
                }
                self.sim.sleep(Duration::from_secs(1)).await;
            }
            if matches!(ended.try_recv(), Ok(None)) {
                self.sim.fail(format!("{process:?} does not stop"));
            }
            self.sim.kill(process);
        }
    }

    fn begin(&self, start: &Start) -> (Process, oneshot::Sender<()>, oneshot::Receiver<()>) {
        let process = self.sim.new_process();
        let ((stop, stopped), (end, ended)) = (oneshot::channel(), oneshot::channel());
        self.sim.trace(|| format!("{process:?} starts"));
        let work = start(process, stopped);
        let sim = self.sim.clone();
        self.sim.spawn(process, async move {
            work.await;
            sim.trace(|| format!("{process:?} has ended"));
            let _ = end.send(());
        });
        (process, stop, ended)
    }

    /// Lets a process run for a while, with pauses.
    async fn disturb(&self, process: Process) {
        for _ in 0..self.sim.below(4) + 1 {
            if self.sim.is_calm() {
                return;
            }
            self.sim.sleep(self.sim.time_below(LEASE * 2)).await;
            if self.sim.chance(self.sim.weather().pause) {
                self.sim.count(Mishap::Pause);
                self.sim.trace(|| format!("{process:?} stands still"));
                self.sim.pause(process);
                self.sim.sleep(self.sim.time_below(LEASE * 2)).await;
                self.sim.resume(process);
            }
        }
    }
}

/// An operator who pauses a queue, resumes it, and revives its dead letters.
pub(crate) async fn operate(sim: Sim, store: FaultyStore, journal: Arc<Journal>, queue: QueueName) {
    let note = PauseNote::new("an operator", None).expect("a short note");
    while sim.weather().operator > 0 {
        sim.sleep(sim.time_below(Duration::from_secs(20))).await;
        if !sim.chance(sim.weather().operator) {
            continue;
        }
        sim.count(Mishap::Operator);
        if sim.chance(500) {
            let filter = DeadLetterFilter { queue: Some(queue.clone()), ..DeadLetterFilter::default() };
            let count = store.store.revive(&filter).await.unwrap_or_default();
            sim.trace(|| format!("{count} dead letters are revived"));
            journal.revived(&queue);
        } else {
            let paused = store.store.pause(&queue, &note).await.is_ok();
            sim.trace(|| format!("the queue is paused: {paused}"));
            sim.sleep(sim.time_below(LEASE * 2)).await;
            let resumed = store.store.resume(&queue, "an operator").await.is_ok();
            sim.trace(|| format!("the queue is resumed: {resumed}"));
        }
    }
}

/// Settings of a relay: small ones, so that every limit is reached. Idle waits are all alike, because no seed decides them.
pub(crate) fn config(sim: &Sim) -> RelayConfig {
    let retry = RetryPolicy {
        base: Duration::from_secs(1),
        cap: Duration::from_secs(4),
        max_attempts: MAX_ATTEMPTS,
        ..RetryPolicy::default()
    };
    let idle = Duration::from_millis(1500 + 250 * sim.below(4));
    let prefetch = 1 + sim.below(5) as u32;
    RelayConfig {
        batch: 1 + sim.below(4) as u32,
        prefetch,
        lease: Lease::new(LEASE).expect("a lease"),
        pacing: Pacing { idle_min: idle, idle_max: idle },
        retry,
        settle_age: [Duration::from_millis(10), Duration::from_millis(900)][sim.below(2) as usize],
        settle_batch: 1 + sim.below(4) as u32,
        handle_timeout: LEASE * 2,
        drain: Duration::from_secs(3),
        concurrency: 1 + sim.below(u64::from(prefetch)) as u32,
        ..RelayConfig::default()
    }
}
