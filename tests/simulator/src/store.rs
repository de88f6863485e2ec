use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use claimstream_domain::{
    ClaimRequest, Claimed, Disposition, Lease, Reason, Receipt, Renewed, Settled, Settlement,
};
use claimstream_memory::MemoryStore;
use claimstream_ports::{LockingStrategy, Settlements, StoreError, StoreErrorKind};
use futures::channel::oneshot;

use crate::{
    journal::Journal,
    sabotage::Sabotage,
    sim::{Process, Sim},
    weather::Mishap,
};

/// The store as a process sees it over a network that fails: calls are refused, slow, lost or done without an answer.
///
/// Every answer of the store is compared with the [`Journal`] when it is made.
#[derive(Clone)]
pub(crate) struct FaultyStore {
    pub(crate) sim: Sim,
    pub(crate) store: MemoryStore,
    pub(crate) journal: Arc<Journal>,
}

/// The lease of all relays. Slow calls are measured by it.
pub(crate) const LEASE: Duration = Duration::from_secs(9);

/// What becomes of a call.
enum Course {
    Prompt,
    Refused(StoreErrorKind),
    Lost,
    Slow(Duration, Duration),
    Detached(Duration, Duration),
}

impl FaultyStore {
    pub(crate) fn new(sim: &Sim, journal: &Arc<Journal>) -> Self {
        Self { sim: sim.clone(), store: sim.store(), journal: Arc::clone(journal) }
    }
}

/// Makes a call of `name` over the network; `work` is what the server does, which goes on though its caller is gone.
pub(crate) async fn call<T: Send + 'static>(
    sim: &Sim,
    name: &'static str,
    work: impl Future<Output = Result<T, StoreError>> + Send + 'static,
) -> Result<T, StoreError> {
    let (there, back) = match course(sim) {
        Course::Detached(there, back) => (there, back),
        other => return follow(sim, name, other, work).await,
    };
    sim.count(Mishap::Detached);
    sim.trace(|| format!("{name} is on its way for {there:?}, and {back:?} back"));
    let (answer, answered) = oneshot::channel();
    let wire = sim.clone();
    sim.spawn(Process::WIRE, async move {
        wire.sleep(there).await;
        let done = work.await;
        wire.sleep(back).await;
        let _ = answer.send(done);
    });
    answered.await.unwrap_or_else(|_| {
        Err(StoreError::new(StoreErrorKind::Unavailable, name, "the connection has ended"))
    })
}

/// Makes a call that ends with its caller, such as one within a transaction.
pub(crate) async fn call_here<T>(
    sim: &Sim,
    name: &'static str,
    work: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    follow(sim, name, course(sim), work).await
}

async fn follow<T>(
    sim: &Sim,
    name: &'static str,
    course: Course,
    work: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    match course {
        Course::Prompt => work.await,
        Course::Refused(kind) => {
            sim.count(Mishap::Refused);
            sim.trace(|| format!("{name} is refused: {kind}"));
            Err(StoreError::new(kind, name, "refused by the script"))
        }
        Course::Lost => {
            sim.count(Mishap::Lost);
            let done = work.await.is_ok();
            sim.trace(|| format!("the answer to {name} is lost, done: {done}"));
            Err(StoreError::new(StoreErrorKind::Unavailable, name, "the answer is lost"))
        }
        Course::Slow(there, back) | Course::Detached(there, back) => {
            sim.count(Mishap::Slow);
            sim.trace(|| format!("{name} takes {there:?} there and {back:?} back"));
            sim.sleep(there).await;
            let answer = work.await;
            sim.sleep(back).await;
            answer
        }
    }
}

fn course(sim: &Sim) -> Course {
    let weather = sim.weather();
    if sim.chance(weather.refused) {
        let kinds = [StoreErrorKind::Unavailable, StoreErrorKind::Transient, StoreErrorKind::Misconfigured];
        return Course::Refused(kinds[sim.below(3) as usize]);
    }
    if sim.chance(weather.lost) {
        return Course::Lost;
    }
    if sim.chance(weather.slow) {
        return Course::Slow(way(sim), way(sim));
    }
    if sim.chance(weather.detached) {
        return Course::Detached(way(sim), way(sim));
    }
    Course::Prompt
}

/// How long a call is under way in one direction: nothing, a part of a lease, or longer than one.
fn way(sim: &Sim) -> Duration {
    match sim.below(8) {
        0..3 => Duration::ZERO,
        3..7 => sim.time_below(LEASE / 2),
        _ => sim.time_below(LEASE * 2),
    }
}

#[async_trait]
impl LockingStrategy for FaultyStore {
    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<Claimed>, StoreError> {
        let (this, request) = (self.clone(), request.clone());
        call(&self.sim, "claim", async move {
            let mut claimed = this.store.claim(&request).await?;
            this.sabotage_claim(&request, &mut claimed);
            this.journal.claimed(&request, &claimed);
            Ok(claimed)
        })
        .await
    }
}

#[async_trait]
impl Settlements for FaultyStore {
    async fn settle(&self, settlements: &[Settlement]) -> Result<Vec<Settled>, StoreError> {
        settlements.iter().for_each(|settlement| self.journal.shows(&settlement.receipt));
        let (this, all) = (self.clone(), settlements.to_vec());
        if self.sim.has(Sabotage::GuessesSettlements) {
            let answer = call(&self.sim, "settle", async move { this.settle_here(all).await }).await;
            return Ok(answer.unwrap_or_else(|_| vec![Settled::Accepted; settlements.len()]));
        }
        call(&self.sim, "settle", async move { this.settle_here(all).await }).await
    }

    async fn renew(&self, receipts: &[Receipt], lease: Lease) -> Result<Vec<Renewed>, StoreError> {
        receipts.iter().for_each(|receipt| self.journal.shows(receipt));
        let (this, all) = (self.clone(), receipts.to_vec());
        let answer = call(&self.sim, "renew", async move {
            let renewed = match this.sim.has(Sabotage::ForgetsToRenew) {
                true => all.iter().cloned().map(Renewed::Extended).collect(),
                false => this.store.renew(&all, lease).await?,
            };
            this.journal.renewed(&all, lease, &renewed);
            Ok(renewed)
        })
        .await;
        if let Ok(renewed) = &answer {
            self.journal.replaced(renewed);
        }
        answer
    }
}

impl FaultyStore {
    /// Settles each by itself, because some may be answered as unknown, done or not.
    async fn settle_here(&self, settlements: Vec<Settlement>) -> Result<Vec<Settled>, StoreError> {
        let (mut answers, several) = (Vec::new(), settlements.len() > 1);
        let unknown = self.sim.weather().unknown;
        for (at, settlement) in settlements.into_iter().enumerate() {
            // Something of a call with an answer is known, and a call about one is never answered with unknown.
            let is_hidden = several && at > 0 && self.sim.chance(unknown);
            if is_hidden && self.sim.chance(500) {
                self.sim.count(Mishap::Unknown);
                answers.push(Settled::Unknown);
                continue;
            }
            let settled = self.settle_one(settlement).await?;
            answers.push(if is_hidden { Settled::Unknown } else { settled });
        }
        Ok(answers)
    }

    async fn settle_one(&self, mut settlement: Settlement) -> Result<Settled, StoreError> {
        let asked = settlement.clone();
        if self.sim.has(Sabotage::CountsReleases) && settlement.disposition == Disposition::Returned {
            let reason = Reason::new("released");
            settlement.disposition = Disposition::Retry { after: Duration::ZERO, reason };
        }
        if self.sim.has(Sabotage::ForgetsChildren) && matches!(asked.disposition, Disposition::Done { .. }) {
            settlement.disposition = Disposition::Done { emit: vec![] };
        }
        if self.sim.has(Sabotage::SettlesForAnyClaim)
            && let Some(claim) = self.journal.newest_claim(settlement.receipt.message)
        {
            settlement.receipt.claim = claim;
        }
        let answers = self.store.settle(std::slice::from_ref(&settlement)).await?;
        let mut settled = answers.first().copied().unwrap_or(Settled::Unknown);
        if self.sim.has(Sabotage::AcceptsWhatIsLost) {
            settled = Settled::Accepted;
        }
        self.journal.settled(&asked, settled);
        Ok(settled)
    }

    fn sabotage_claim(&self, request: &ClaimRequest, claimed: &mut Vec<Claimed>) {
        if self.sim.has(Sabotage::CountsNoAttempt) {
            claimed.iter_mut().for_each(|claimed| claimed.attempt = 1);
        }
        if self.sim.has(Sabotage::HandsOutLeased) && claimed.is_empty() {
            claimed.extend(self.journal.any_leased().map(|mut leased| {
                leased.receipt.claim = request.claim;
                leased
            }));
        }
    }
}
