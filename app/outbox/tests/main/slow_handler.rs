//! A handler that takes its time.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use claimstream::{Claimed, Handler, PipelineReport, RelayConfig, Timer, Verdict};
use claimstream_ports::mock::HandTimer;
use futures::channel::oneshot;

use crate::play::{Bench, Play, Task};

pub(crate) type Outcome = Result<PipelineReport, claimstream::RelayError>;

/// Starts a pipeline of `play`; what is sent by the first answer stops it.
pub(crate) fn start(
    play: &Play,
    bench: &Bench,
    config: RelayConfig,
    handler: impl Handler + 'static,
) -> (oneshot::Sender<()>, Task<Outcome>) {
    let (stop, stopped) = oneshot::channel::<()>();
    let pipeline = play.relay(config).pipeline("orders", handler).unwrap();
    let task = bench.start(pipeline.run_until(async move {
        let _ = stopped.await;
    }));
    (stop, task)
}

/// Takes `for_each` of virtual time for every message and counts how many it has at hand.
pub(crate) struct Slow {
    pub(crate) timer: HandTimer,
    for_each: Duration,
    at_hand: AtomicUsize,
    pub(crate) most: Arc<AtomicUsize>,
    pub(crate) ended: Arc<AtomicUsize>,
}

struct AtHand<'a>(&'a AtomicUsize);

impl Drop for AtHand<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Slow {
    pub(crate) fn new(timer: &HandTimer, for_each: Duration) -> Self {
        let timer = timer.clone();
        Self { timer, for_each, at_hand: AtomicUsize::default(), most: Arc::default(), ended: Arc::default() }
    }
}

#[async_trait]
impl Handler for Slow {
    async fn handle(&self, _: &Claimed) -> Verdict {
        let now = self.at_hand.fetch_add(1, Ordering::Relaxed) + 1;
        let _at_hand = AtHand(&self.at_hand);
        self.most.fetch_max(now, Ordering::Relaxed);
        self.timer.sleep(self.for_each).await;
        self.ended.fetch_add(1, Ordering::Relaxed);
        Verdict::ack()
    }
}
