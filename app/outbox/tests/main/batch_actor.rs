//! A batch handler that does with each message what a test says.

use std::{
    collections::BTreeSet,
    future::pending,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use claimstream::{
    BatchHandler, BatchPipeline, Claimed, PipelineReport, RelayConfig, Timer, Verdict, Verdicts,
};
use claimstream_ports::mock::HandTimer;
use futures::{channel::oneshot, future::join_all};

use crate::{
    play::{Bench, Play, Task},
    slow_handler::Outcome,
};

/// What it does with one message; those of a batch come one after another unless the actor works [beside](Actor::beside).
#[derive(Clone, Debug)]
pub(crate) enum Act {
    Give(Verdict),
    /// Goes on without a verdict.
    Skip,
    Panic,
    Hang,
    /// Hangs, and acknowledges it when it is dropped.
    AckDropped,
    /// Acknowledges it after a while.
    AckAfter(Duration),
    /// Gives other verdicts as well, too late or on nothing.
    Babble,
}

/// Acts by the number of the message and by whether it is alone.
pub(crate) struct Actor<F> {
    timer: HandTimer,
    act: F,
    /// Whether it works on the messages of a batch beside each other.
    beside: bool,
    pub(crate) seen: Arc<Mutex<Seen>>,
}

/// What the handler was called with.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) calls: Vec<Vec<u128>>,
    /// Messages that a call is at and that have no verdict.
    at: BTreeSet<u128>,
    /// The most messages without a verdict that calls were at together.
    pub(crate) most_at: usize,
    /// How many calls run.
    running: usize,
    pub(crate) most: usize,
    pub(crate) dropped: usize,
}

impl<F: Fn(u128, bool) -> Act> Actor<F> {
    pub(crate) fn new(timer: &HandTimer, act: F) -> Self {
        Self { timer: timer.clone(), act, beside: false, seen: Arc::default() }
    }

    /// Works on the messages of a batch beside each other.
    pub(crate) fn beside(self) -> Self {
        Self { beside: true, ..self }
    }

    async fn act(&self, index: usize, n: u128, of: usize, verdicts: &dyn Verdicts) {
        let give = |verdict| {
            self.seen.lock().unwrap().at.remove(&n);
            verdicts.give(index, verdict);
        };
        match (self.act)(n, of == 1) {
            Act::Give(verdict) => give(verdict),
            Act::Skip => {}
            Act::Panic => panic!("at {n}"),
            Act::Hang => pending().await,
            Act::AckDropped => {
                let _dropped = Dropped(|| give(Verdict::ack()));
                pending().await
            }
            Act::AckAfter(wait) => {
                self.timer.sleep(wait).await;
                give(Verdict::ack());
            }
            Act::Babble => {
                give(Verdict::ack());
                verdicts.give(index, Verdict::bury("a second verdict"));
                verdicts.give(of, Verdict::bury("on nothing"));
                verdicts.give(usize::MAX, Verdict::bury("on nothing"));
            }
        }
    }
}

#[async_trait]
impl<F: Fn(u128, bool) -> Act + Send + Sync> BatchHandler for Actor<F> {
    async fn handle_batch(&self, batch: &[Claimed], verdicts: &dyn Verdicts) {
        let numbers: Vec<_> = batch.iter().map(|claimed| claimed.message.id.uuid().as_u128()).collect();
        let mut call = Call::begin(&self.seen, numbers.clone());
        let acts = numbers.into_iter().enumerate();
        let acts = acts.map(|(index, n)| self.act(index, n, batch.len(), verdicts));
        if self.beside {
            join_all(acts).await;
        } else {
            for act in acts {
                act.await;
            }
        }
        call.returned = true;
    }
}

/// Does something when it is dropped.
struct Dropped<F: Fn()>(F);

impl<F: Fn()> Drop for Dropped<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// One call under way; no message may be in two of them.
struct Call<'a> {
    seen: &'a Mutex<Seen>,
    numbers: Vec<u128>,
    returned: bool,
}

impl<'a> Call<'a> {
    fn begin(seen: &'a Mutex<Seen>, numbers: Vec<u128>) -> Self {
        let mut noted = seen.lock().unwrap();
        for n in &numbers {
            assert!(noted.at.insert(*n), "message {n} is at hand twice");
        }
        noted.calls.push(numbers.clone());
        noted.most_at = noted.most_at.max(noted.at.len());
        noted.running += 1;
        noted.most = noted.most.max(noted.running);
        Self { seen, numbers, returned: false }
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        let mut noted = self.seen.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        noted.at.retain(|n| !self.numbers.contains(n));
        noted.running -= 1;
        noted.dropped += usize::from(!self.returned);
    }
}

/// Starts a batch pipeline of `play` as `shape` says; what is sent by the first answer stops it.
pub(crate) fn start_batches(
    play: &Play,
    bench: &Bench,
    config: RelayConfig,
    handler: impl BatchHandler + 'static,
    shape: impl FnOnce(BatchPipeline) -> BatchPipeline,
) -> (oneshot::Sender<()>, Task<Outcome>) {
    let (stop, stopped) = oneshot::channel::<()>();
    let pipeline = shape(play.relay(config).batch_pipeline("orders", handler).unwrap());
    let task = bench.start(pipeline.run_until(async move {
        let _ = stopped.await;
    }));
    (stop, task)
}

/// Runs a pipeline for `time` and stops it; says what its handler has seen.
pub(crate) fn run_batches(
    play: &Play,
    config: RelayConfig,
    actor: Actor<impl Fn(u128, bool) -> Act + Send + Sync + 'static>,
    shape: impl FnOnce(BatchPipeline) -> BatchPipeline,
    time: Duration,
) -> (PipelineReport, Arc<Mutex<Seen>>) {
    let (mut bench, seen) = (Bench::default(), Arc::clone(&actor.seen));
    let (stop, task) = start_batches(play, &bench, config, actor, shape);
    bench.pass(&play.timer, time);
    stop.send(()).unwrap();
    (bench.finish(&play.timer, task).unwrap(), seen)
}

/// Runs a pipeline of a handler that takes the messages of a batch one after another.
pub(crate) fn run(
    play: &Play,
    config: RelayConfig,
    act: impl Fn(u128, bool) -> Act + Send + Sync + 'static,
    shape: impl FnOnce(BatchPipeline) -> BatchPipeline,
    time: Duration,
) -> (PipelineReport, Arc<Mutex<Seen>>) {
    run_batches(play, config, Actor::new(&play.timer, act), shape, time)
}

/// Runs a pipeline of a handler that works on the messages of a batch beside each other.
pub(crate) fn spawn(
    play: &Play,
    config: RelayConfig,
    act: impl Fn(u128, bool) -> Act + Send + Sync + 'static,
    shape: impl FnOnce(BatchPipeline) -> BatchPipeline,
    time: Duration,
) -> (PipelineReport, Arc<Mutex<Seen>>) {
    run_batches(play, config, Actor::new(&play.timer, act).beside(), shape, time)
}

pub(crate) fn acks() -> Act {
    Act::Give(Verdict::ack())
}

pub(crate) fn calls(seen: &Mutex<Seen>) -> Vec<Vec<u128>> {
    seen.lock().unwrap().calls.clone()
}
