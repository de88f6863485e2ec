use std::sync::Arc;

use claimstream::{Claim, Relay, RelayError};
use claimstream_domain::{QueueName, Renewed, Settled};
use futures::{StreamExt, channel::oneshot, future::BoxFuture};

use super::{
    handler::ScriptedHandler,
    pipeline::{check_store, send_all},
};
use crate::{
    Scripted,
    journal::{Hold, Journal},
    relays::{MAX_ATTEMPTS, Relays, config, operate},
    said::Said,
    sim::{Process, Sim},
    store::{FaultyStore, LEASE},
    timer::ProcessTimer,
};

/// A few messages, and one to three consumers of streams: they renew, settle, drop and hold claims, and close their streams.
pub(super) async fn run(sim: Sim) {
    let journal = Journal::new(&sim, MAX_ATTEMPTS, Hold::Free);
    let (store, queue) = (FaultyStore::new(&sim, &journal), QueueName::new("orders").expect("a name"));
    let count = send_all(&sim, &store, &journal, &queue);
    let this =
        Consumer { sim: sim.clone(), journal: journal.clone(), store: store.clone(), queue: queue.clone() };
    let start = Arc::new(move |process, stop| {
        Box::pin(this.clone().consume(process, stop)) as BoxFuture<'static, ()>
    });
    sim.spawn(Process::SCRIPT, operate(sim.clone(), store.clone(), journal.clone(), queue.clone()));
    let is_done = || journal.count(&queue) == count && journal.all_ended(&queue);
    Relays::new(&sim).run(start, is_done).await;
    check_store(&sim, &store, &journal, &queue).await;
}

#[derive(Clone)]
struct Consumer {
    sim: Sim,
    journal: Arc<Journal>,
    store: FaultyStore,
    queue: QueueName,
}

impl Consumer {
    async fn consume(self, process: Process, mut stop: oneshot::Receiver<()>) {
        let timer = ProcessTimer::of(&self.sim, process);
        let relay = Relay::new(Arc::new(self.store.clone()), timer, config(&self.sim));
        loop {
            let mut claims = relay.claims(self.queue.clone()).expect("settings that work");
            let most = 1 + self.sim.below(6);
            let mut taken = 0;
            let mut until = claims.until(&mut stop);
            let mut is_stopped = true;
            while let Some(claim) = until.next().await {
                if let Ok(claim) = claim {
                    self.take(process, claim).await;
                }
                taken += 1;
                if taken >= most && !self.sim.is_calm() {
                    is_stopped = false;
                    break;
                }
            }
            drop(until);
            if self.sim.is_calm() || self.sim.chance(700) {
                let closed = claims.close().await.is_ok();
                self.sim.trace(|| format!("{process:?} has closed its stream, without an error: {closed}"));
            } else {
                self.journal.abandoned();
                self.sim.trace(|| format!("{process:?} drops its stream"));
            }
            if is_stopped {
                return;
            }
        }
    }

    /// Deals with one claim: now, or next to those that follow.
    async fn take(&self, process: Process, claim: Claim) {
        let this = self.clone();
        let work = async move { this.deal(process, claim).await };
        if self.sim.chance(400) {
            self.sim.spawn(process, work);
        } else {
            work.await;
        }
    }

    async fn deal(&self, process: Process, mut claim: Claim) {
        let (id, receipt) = (claim.message().id, claim.claimed().receipt.clone());
        let running = self.journal.begins(process, claim.claimed());
        let handler = ScriptedHandler { sim: self.sim.clone(), journal: self.journal.clone(), process };
        let (message, stormy) = (claim.message().clone(), !self.sim.is_calm());
        if stormy && self.sim.chance(100) {
            return self.sim.trace(|| format!("{process:?} drops {id}"));
        }
        while stormy && self.sim.chance(300) {
            self.sim.sleep(self.sim.time_below(LEASE / 2)).await;
            match claim.renew().await {
                Ok(Renewed::Superseded) if self.sim.chance(500) => return,
                _ => {}
            }
        }
        let acting = std::panic::AssertUnwindSafe(handler.act(&message));
        let work = futures::FutureExt::catch_unwind(acting);
        let timeout = self.sim.sleep(LEASE * 2);
        let verdict = match futures::future::select(Box::pin(work), Box::pin(timeout)).await {
            futures::future::Either::Left((Ok(verdict), _)) => verdict,
            futures::future::Either::Left((Err(panic), _)) => {
                return assert!(panic.is::<Scripted>(), "only scripted panics");
            }
            futures::future::Either::Right(_) => return,
        };
        let verdict = running.says(verdict);
        // The work is over; what follows is the settlement.
        drop(running);
        let said = Said::of(&verdict);
        let settled: Result<Settled, RelayError> = claim.settle(verdict).await;
        let accepted = self.journal.has_accepted(&receipt);
        let is_wrong = matches!(settled, Ok(Settled::Accepted)) && !accepted;
        self.sim.require(!is_wrong, || format!("{id}: {said:?} is called accepted, and was not"));
        self.sim
            .require(!matches!(settled, Ok(Settled::Unknown)), || format!("{id} was answered with unknown"));
    }
}
