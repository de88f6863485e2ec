use std::{collections::HashMap, time::Duration};

use claimstream_domain::{
    Claimed, DedupKey, Disposition, Enqueued, MessageId, NewMessage, Reason, Receipt, Renewed, Retention,
    Settlement,
};

use super::{
    reference::{Ending, Reference},
    step::Step,
};
use crate::{
    Fixture, Instance,
    backend::{Sweeper, SweptFixture},
    model::operation::{Kind, Operation, Side},
};

/// Runs steps on a fixture and holds what is seen against the reference.
pub(super) struct Runner<'a> {
    fixture: &'a Fixture,
    sweeper: &'a dyn Sweeper,
    /// The two that live, each with a number of its own.
    processes: [(usize, Instance); 2],
    made: HashMap<MessageId, usize>,
    ids: Vec<MessageId>,
    /// Every claim that was ever made, also those that are lost.
    claims: Vec<(usize, Receipt)>,
    reference: Reference,
}

/// What so many claims did not return is not there: a look, a lease that has run out and a fence that is out of date take a
/// claim each.
const MAX_FRUITLESS: usize = 4;

/// As long as claims that read ahead last. No moment of an step falls between its end and that of what was read along with it.
const DRAIN: Duration = Duration::from_millis(20_500);
const DRAINED: u32 = 60;

type Seen = Result<(), String>;

fn same<T: PartialEq + std::fmt::Debug>(what: &str, seen: T, expected: T) -> Seen {
    match seen == expected {
        true => Ok(()),
        false => Err(format!("{what}: the store says {seen:?}, the reference {expected:?}")),
    }
}

impl<'a> Runner<'a> {
    pub(super) fn on(SweptFixture { fixture, sweeper }: &'a SweptFixture) -> Self {
        let processes = [(0, fixture.store.clone()), (1, fixture.rival.clone())];
        let (made, ids, claims) = (HashMap::new(), Vec::new(), Vec::new());
        Self { fixture, sweeper: &**sweeper, processes, made, ids, claims, reference: Reference::default() }
    }

    /// Runs them, looks at everything after each, and at last empties the queue.
    pub(super) async fn run(mut self, steps: &[Step]) -> Seen {
        for step in steps {
            self.give_back(step.drains()).await;
            let seen = self.step(step).await;
            seen.map_err(|why| format!("{step:?}: {why}"))?;
            self.give_back(None).await;
            self.look().await.map_err(|why| format!("after {step:?}: {why}"))?;
        }
        self.empty().await.map_err(|why| format!("at the end: {why}"))
    }

    /// What waits for the next claims would be given back by itself at an unknown time.
    async fn give_back(&self, but: Option<Side>) {
        for (n, (_, process)) in self.processes.iter().enumerate() {
            if but.is_none_or(|side| side.number() != n) {
                process.ports.claiming.release_read_ahead(process.queue()).await.expect("released");
            }
        }
    }

    async fn step(&mut self, step: &Step) -> Seen {
        match step {
            Step::Of(operation) => self.operate(operation).await,
            Step::Crash { by } => {
                let number = self.processes.iter().map(|(number, _)| number + 1).max().unwrap_or_default();
                self.processes[by.number()] = (number, self.fixture.another().await);
                Ok(())
            }
            Step::Flood { by, count } => {
                let messages: Vec<_> = (0..*count).map(|_| self.make(self.fixture.message())).collect();
                let now = self.now();
                let (numbers, messages): (Vec<_>, Vec<_>) = messages.into_iter().unzip();
                let seen = self.of(*by).1.enqueue(&messages).await;
                let expected: Vec<_> =
                    numbers.into_iter().map(|n| self.reference.enqueue(n, now, None)).collect();
                same("enqueue", seen, expected)
            }
            Step::Drain { by, claims } => {
                // What has run out at home is counted as it is read, and might wait then.
                if !self.reference.has_lapsed(self.of(*by).0, self.now()) {
                    for _ in 0..*claims {
                        self.claim(*by, DRAINED, DRAIN).await?;
                    }
                }
                Ok(())
            }
        }
    }

    async fn operate(&mut self, operation: &Operation) -> Seen {
        match operation {
            Operation::Enqueue { by, delay, key } => self.enqueue(*by, *delay, *key).await,
            Operation::Claim { by, limit, lease } => {
                self.claim_all(*by, *limit, Duration::from_micros(*lease)).await
            }
            Operation::Settle { by, batch } => self.settle(*by, batch).await,
            Operation::Renew { by, claims, lease } => self.renew(*by, claims, *lease).await,
            Operation::Advance { micros } => {
                self.fixture.advance(Duration::from_micros(*micros)).await;
                Ok(())
            }
            Operation::Again { by, which } => self.enqueue_again(*by, *which).await,
            Operation::Revive => {
                let revived = self.fixture.store.revive(&self.fixture.store.own_dead()).await;
                let now = self.now();
                same("revive", revived, self.reference.revive(now))
            }
            Operation::Purge { dead_for } => {
                let mut filter = self.fixture.store.own_dead();
                filter.dead_for = Some(Duration::from_micros(*dead_for));
                let purged = self.fixture.rival.purge(&filter).await;
                let now = self.now();
                same("purge", purged, self.reference.purge(signed(*dead_for), now))
            }
            Operation::Observe => self.look().await,
        }
    }

    async fn enqueue(&mut self, by: Side, delay: u64, key: Option<&'static str>) -> Seen {
        let message = self.fixture.message().deliver_after(Duration::from_micros(delay));
        let (n, mut message) = self.make(message);
        message.dedup_key = key.map(|key| DedupKey::new(key).expect("a key"));
        let seen = self.of(by).1.enqueue(&[message]).await;
        let due = self.now() + signed(delay);
        same("enqueue", seen, vec![self.reference.enqueue(n, due, key)])
    }

    async fn enqueue_again(&mut self, by: Side, which: usize) -> Seen {
        let kept = Retention::default();
        self.fixture.advance(kept.of_bodies().max(kept.of_keys()) + Duration::from_micros(1)).await;
        self.sweeper.sweep().await;
        self.reference.sweep();
        let Some(n) = which.checked_rem(self.ids.len()) else { return Ok(()) };
        let again = NewMessage { id: self.ids[n], ..self.fixture.message() };
        let seen: Vec<Enqueued> = self.of(by).1.enqueue(&[again]).await;
        let now = self.now();
        same("enqueue again", seen, vec![self.reference.enqueue(n, now, None)])
    }

    /// Claims until so many are there, or nothing comes any more; then nothing may be held up.
    async fn claim_all(&mut self, by: Side, wanted: usize, lease: Duration) -> Seen {
        let (mut taken, mut fruitless) = (0, 0);
        while taken < wanted && fruitless < MAX_FRUITLESS {
            let came = self.claim(by, (wanted - taken) as u32, lease).await?;
            fruitless = if came == 0 { fruitless + 1 } else { 0 };
            taken += came;
        }
        if taken < wanted {
            self.reference.is_exhausted(self.of(by).0, self.now())?;
        }
        Ok(())
    }

    async fn claim(&mut self, by: Side, limit: u32, lease: Duration) -> Result<usize, String> {
        let (number, process) = self.of(by);
        let claimed = process.claim_as(&process.request(limit, lease)).await;
        let (number, now) = (*number, self.now());
        let came: Vec<(usize, &Claimed)> = claimed.iter().map(|c| (self.number(c.message.id), c)).collect();
        self.reference.claimed(number, lease.as_micros() as i64, &came, now)?;
        self.claims.extend(came.into_iter().map(|(n, claimed)| (n, claimed.receipt.clone())));
        Ok(claimed.len())
    }

    async fn settle(&mut self, by: Side, batch: &[(usize, Kind)]) -> Seen {
        let mut endings = Vec::new();
        for (which, kind) in batch {
            let Some(at) = which.checked_rem(self.claims.len()) else { continue };
            let (n, receipt) = self.claims[at].clone();
            let (disposition, children) = self.disposition(*kind);
            endings.push(Ending { n, receipt, disposition, children });
        }
        self.end(by, &endings).await
    }

    async fn end(&mut self, by: Side, endings: &[Ending]) -> Seen {
        let settlement = |end: &Ending| {
            let (receipt, disposition) = (end.receipt.clone(), end.disposition.clone());
            Settlement { receipt, disposition }
        };
        let settlements: Vec<_> = endings.iter().map(settlement).collect();
        let (number, process) = self.of(by);
        let (number, seen) = (*number, process.settle_all(&settlements).await);
        let now = self.now();
        same("settle", seen, self.reference.settle(number, endings, now))
    }

    fn disposition(&mut self, kind: Kind) -> (Disposition, Vec<usize>) {
        let disposition = match kind {
            Kind::Done => Disposition::Done { emit: vec![] },
            Kind::Emit => {
                let (n, child) = self.make(self.fixture.message());
                return (Disposition::Done { emit: vec![child] }, vec![n]);
            }
            Kind::Retry(after) => {
                let (after, reason) = (Duration::from_micros(after), Reason::new(format!("wait {after}")));
                Disposition::Retry { after, reason }
            }
            Kind::Dead => Disposition::dead(Reason::new("dead")),
            Kind::Returned => Disposition::Returned,
        };
        (disposition, vec![])
    }

    async fn renew(&mut self, by: Side, claims: &[usize], lease: u64) -> Seen {
        let mut chosen: Vec<usize> =
            claims.iter().filter_map(|which| which.checked_rem(self.claims.len())).collect();
        chosen.sort_unstable();
        chosen.dedup();
        let chosen: Vec<_> = chosen.into_iter().map(|at| self.claims[at].clone()).collect();
        let receipts: Vec<_> = chosen.iter().map(|(_, receipt)| receipt.clone()).collect();
        let (number, process) = self.of(by);
        let (number, answers) = (*number, process.renew_all(&receipts, Duration::from_micros(lease)).await);
        let extended = |(answer, receipt): (Renewed, &Receipt)| answer == Renewed::Extended(receipt.clone());
        let seen: Vec<bool> = answers.into_iter().zip(&receipts).map(extended).collect();
        let until = self.now() + signed(lease);
        same("renew", seen, self.reference.renew(number, &chosen, until))
    }

    async fn look(&self) -> Seen {
        let now = self.now();
        let status = self.fixture.rival.status().await;
        let micros = |waited: Duration| waited.as_micros() as i64;
        let numbers = status.map(|s| (s.depth, s.due, s.leased, s.dead, s.oldest.map(micros)));
        same("depth, due, leased, dead, oldest", numbers, self.reference.numbers(now))?;
        let dead = self.fixture.store.dead().await;
        let mut dead: Vec<_> = dead
            .into_iter()
            .map(|d| (self.number(d.message.id), d.attempts, d.reason, micros(d.dead_for)))
            .collect();
        // Letters that died in the same microsecond have no order.
        dead.sort_by_key(|(number, ..)| *number);
        let letters = self.reference.dead.iter();
        let letters =
            letters.map(|(n, letter)| (*n, letter.attempts, letter.reason.clone(), now - letter.died_at));
        same("dead letters", dead, letters.collect())
    }

    /// Whatever has happened, all that is left can be handled in the end, by one process alone.
    async fn empty(&mut self) -> Seen {
        self.fixture.advance(Duration::from_secs(3600)).await;
        let mut fruitless = 0;
        while !self.reference.queue.is_empty() {
            let first = self.claims.len();
            fruitless = if self.claim(Side::Store, DRAINED, DRAIN).await? == 0 { fruitless + 1 } else { 0 };
            if fruitless == MAX_FRUITLESS {
                return Err(format!("{} messages are left", self.reference.queue.len()));
            }
            self.give_back(None).await;
            let done = |(n, receipt): &(usize, Receipt)| Ending {
                n: *n,
                receipt: receipt.clone(),
                disposition: Disposition::Done { emit: vec![] },
                children: vec![],
            };
            let endings: Vec<_> = self.claims[first..].iter().map(done).collect();
            self.end(Side::Store, &endings).await?;
        }
        self.look().await
    }

    fn make(&mut self, message: NewMessage) -> (usize, NewMessage) {
        let n = self.ids.len();
        self.made.insert(message.id, n);
        self.ids.push(message.id);
        (n, message)
    }

    fn of(&self, by: Side) -> &(usize, Instance) {
        &self.processes[by.number()]
    }

    fn now(&self) -> i64 {
        self.fixture.now().as_micros()
    }

    fn number(&self, id: MessageId) -> usize {
        *self.made.get(&id).unwrap_or_else(|| panic!("{id} was never made"))
    }
}

fn signed(micros: u64) -> i64 {
    i64::try_from(micros).unwrap_or(i64::MAX)
}
