use std::{sync::Arc, task::Poll, time::Duration};

use claimstream::{Claim, Claims, Relay, RelayConfig, Verdict};
use claimstream_domain::Settled;
use claimstream_ports::{Timer, Wakeup, mock::HandTimer};
use futures::StreamExt;

use super::watched::Watched;
use crate::Instance;

/// A process that reads the queue as a stream; its timer is moved as far as it takes.
pub(super) struct Process {
    claims: Claims,
    relay: Relay,
    timer: HandTimer,
    store: Arc<Watched>,
}

impl Process {
    pub(super) fn new(instance: &Instance, config: RelayConfig) -> Self {
        Self::on(Watched::new(instance, None), instance, config)
    }

    pub(super) fn on(store: Arc<Watched>, instance: &Instance, config: RelayConfig) -> Self {
        let timer = HandTimer::default();
        let relay = Relay::from_ports(store.clone(), store.clone(), Arc::new(timer.clone()), config);
        let claims = relay.claims(instance.queue().clone()).expect("a stream");
        Self { claims, relay, timer, store }
    }

    pub(super) fn with_wakeup(self, wakeup: Arc<dyn Wakeup>) -> Self {
        let relay = self.relay.with_wakeup(wakeup);
        let claims = relay.claims(self.claims.queue().clone()).expect("a stream");
        Self { claims, relay, ..self }
    }

    /// The next claim, unless none comes within two idle waits.
    pub(super) async fn next(&mut self) -> Option<Claim> {
        self.next_within(Duration::from_secs(11)).await
    }

    pub(super) async fn next_within(&mut self, most: Duration) -> Option<Claim> {
        let step = Duration::from_millis(250).min(most / 4);
        let found = within(&self.timer, &self.store, most, step, self.claims.next()).await?;
        Some(found.expect("the stream has no end").expect("the store works"))
    }

    pub(super) async fn ack(&mut self, claim: Claim) -> Settled {
        self.settle(claim, Verdict::ack()).await
    }

    pub(super) async fn settle(&mut self, claim: Claim, verdict: Verdict) -> Settled {
        let (most, step) = (Duration::from_secs(1), Duration::from_millis(5));
        let settled = within(&self.timer, &self.store, most, step, claim.settle(verdict)).await;
        settled.expect("an answer within a second").expect("settle")
    }

    pub(super) async fn close(self) {
        let (most, step) = (Duration::from_secs(1), Duration::from_millis(5));
        let closed = within(&self.timer, &self.store, most, step, self.claims.close()).await;
        closed.expect("an end within a second").expect("close");
    }
}

pub(super) fn config(prefetch: u32) -> RelayConfig {
    RelayConfig { batch: 10, prefetch, ..RelayConfig::default() }
}

/// Waits for `future` while `timer` moves in steps of `step`, at most `most` of it.
///
/// Time moves only when the future has come to rest and the store is not busy: a slow answer costs no time of this timer, and
/// a future that waits for this timer alone costs no real time.
async fn within<F: Future>(
    timer: &HandTimer,
    store: &Watched,
    most: Duration,
    step: Duration,
    future: F,
) -> Option<F::Output> {
    let mut future = std::pin::pin!(future);
    let end = timer.now() + most;
    let mut moments = MOMENTS;
    loop {
        if let Poll::Ready(output) = futures::poll!(&mut future) {
            return Some(output);
        }
        if store.is_busy() && moments > 0 {
            if let Ok(output) = tokio::time::timeout(MOMENT, &mut future).await {
                return Some(output);
            }
            moments -= 1;
            continue;
        }
        moments = MOMENTS;
        if timer.now() >= end {
            return None;
        }
        timer.advance(step);
        tokio::task::yield_now().await;
    }
}

/// How long a call that is under way is waited for at a time.
const MOMENT: Duration = Duration::from_millis(3);

/// How many moments a call may be under way; one that takes longer waits for something that this future does not drive.
const MOMENTS: u32 = 300;
