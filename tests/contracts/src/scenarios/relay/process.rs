use std::{sync::Arc, time::Duration};

use claimstream::{Claim, Claims, Relay, RelayConfig, Verdict};
use claimstream_domain::Settled;
use claimstream_ports::Wakeup;
use futures::StreamExt;

use super::watched::Watched;
use crate::{HandTimer, Instance};

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
        let store = self.store.clone();
        let found = self.timer.within(most, step, || store.is_busy(), self.claims.next()).await?;
        Some(found.expect("the stream has no end").expect("the store works"))
    }

    pub(super) async fn ack(&mut self, claim: Claim) -> Settled {
        self.settle(claim, Verdict::ack()).await
    }

    pub(super) async fn settle(&mut self, claim: Claim, verdict: Verdict) -> Settled {
        let (most, step) = (Duration::from_secs(1), Duration::from_millis(5));
        let settled = self.timer.within(most, step, || self.store.is_busy(), claim.settle(verdict)).await;
        settled.expect("an answer within a second").expect("settle")
    }

    pub(super) async fn close(self) {
        let (most, step) = (Duration::from_secs(1), Duration::from_millis(5));
        let closed = self.timer.within(most, step, || self.store.is_busy(), self.claims.close()).await;
        closed.expect("an end within a second").expect("close");
    }
}

pub(super) fn config(prefetch: u32) -> RelayConfig {
    RelayConfig { batch: 10, prefetch, ..RelayConfig::default() }
}
