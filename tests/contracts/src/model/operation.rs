use std::{collections::HashMap, time::Duration};

use claimstream_domain::{
    Claimed, DedupKey, Disposition, Enqueued, MessageId, NewMessage, Reason, Renewed, Retention, Settled,
    Settlement,
};
use proptest::{collection::vec, prelude::*, sample::select};

use crate::{
    Fixture, Instance,
    backend::{Sweeper, SweptFixture},
};

/// One operation on a store.
#[derive(Clone, Debug)]
pub(super) enum Operation {
    Enqueue {
        by: Side,
        delay: u64,
        key: Option<&'static str>,
    },
    Claim {
        by: Side,
        limit: usize,
        lease: u64,
    },
    Settle {
        by: Side,
        batch: Vec<(usize, Kind)>,
    },
    Renew {
        by: Side,
        claims: Vec<usize>,
        lease: u64,
    },
    Advance {
        micros: u64,
    },
    /// All that is finished is forgotten, and a message that was there is enqueued again.
    Again {
        by: Side,
        which: usize,
    },
    Revive,
    Purge {
        dead_for: u64,
    },
    Observe,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Side {
    Store,
    Rival,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Done,
    Emit,
    Retry(u64),
    Dead,
    Returned,
}

/// What can be seen of an operation from outside; messages go by the order in which they were made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Observation {
    Enqueued(Vec<Enqueued>),
    Claimed(Vec<(usize, u32, Option<Reason>)>),
    Settled(Vec<Settled>),
    Renewed(Vec<Option<usize>>),
    Count(u64),
    Status {
        numbers: Option<(u64, u64, u64, u64, Option<Duration>)>,
        dead: Vec<(usize, u32, Reason, Duration)>,
    },
    Nothing,
}

impl Operation {
    pub(super) fn any() -> impl Strategy<Value = Self> {
        let times = || {
            select(vec![0, 1, 999_999, 1_000_000, 2_000_000, 9_999_999, 10_000_000, 30_000_000, 60_000_000])
        };
        let leases = || select(vec![10_000_000, 30_000_000]);
        let key = prop_oneof![3 => Just(None), 1 => select(vec!["a", "A", "b"]).prop_map(Some)];
        prop_oneof![
            4 => (Side::any(), times(), key).prop_map(|(by, delay, key)| Self::Enqueue { by, delay, key }),
            5 => (Side::any(), 1..4_usize, leases())
                .prop_map(|(by, limit, lease)| Self::Claim { by, limit, lease }),
            5 => (Side::any(), vec((any::<usize>(), Kind::any()), 1..4))
                .prop_map(|(by, batch)| Self::Settle { by, batch }),
            2 => (Side::any(), vec(any::<usize>(), 1..4), leases())
                .prop_map(|(by, claims, lease)| Self::Renew { by, claims, lease }),
            4 => times().prop_map(|micros| Self::Advance { micros }),
            2 => (Side::any(), any::<usize>()).prop_map(|(by, which)| Self::Again { by, which }),
            2 => Just(Self::Revive),
            1 => times().prop_map(|dead_for| Self::Purge { dead_for }),
            1 => Just(Self::Observe),
        ]
    }
}

impl Side {
    pub(super) fn any() -> impl Strategy<Value = Self> {
        select(vec![Self::Store, Self::Rival])
    }

    pub(super) fn number(self) -> usize {
        match self {
            Self::Store => 0,
            Self::Rival => 1,
        }
    }

    fn of(self, fixture: &Fixture) -> &Instance {
        match self {
            Self::Store => &fixture.store,
            Self::Rival => &fixture.rival,
        }
    }
}

impl Kind {
    fn any() -> impl Strategy<Value = Self> {
        prop_oneof![
            2 => Just(Self::Done),
            1 => Just(Self::Emit),
            2 => select(vec![0, 1_000_000, 40_000_000]).prop_map(Self::Retry),
            1 => Just(Self::Dead),
            2 => Just(Self::Returned),
        ]
    }
}

/// Runs operations and a last look at everything, and says what was seen at each.
pub(super) async fn run_all(swept: &SweptFixture, operations: &[Operation]) -> Vec<Observation> {
    let SweptFixture { fixture, sweeper } = swept;
    let mut runner = Runner { fixture, sweeper: &**sweeper, made: HashMap::new(), claims: Vec::new() };
    let mut seen = Vec::new();
    for operation in operations {
        seen.push(runner.run(operation).await);
    }
    seen.push(runner.observe().await);
    seen
}

struct Runner<'a> {
    fixture: &'a Fixture,
    sweeper: &'a dyn Sweeper,
    made: HashMap<MessageId, usize>,
    /// Every claim that was ever made, also those that are lost.
    claims: Vec<Claimed>,
}

impl Runner<'_> {
    async fn run(&mut self, operation: &Operation) -> Observation {
        match operation {
            Operation::Enqueue { by, delay, key } => self.enqueue(*by, *delay, *key).await,
            Operation::Claim { by, limit, lease } => self.claim(*by, *limit, *lease).await,
            Operation::Settle { by, batch } => self.settle(*by, batch).await,
            Operation::Renew { by, claims, lease } => self.renew(*by, claims, *lease).await,
            Operation::Advance { micros } => {
                self.fixture.advance(Duration::from_micros(*micros)).await;
                Observation::Nothing
            }
            Operation::Again { by, which } => self.enqueue_again(*by, *which).await,
            Operation::Revive => {
                Observation::Count(self.fixture.store.revive(&self.fixture.store.own_dead()).await)
            }
            Operation::Purge { dead_for } => {
                let mut filter = self.fixture.store.own_dead();
                filter.dead_for = Some(Duration::from_micros(*dead_for));
                Observation::Count(self.fixture.rival.purge(&filter).await)
            }
            Operation::Observe => self.observe().await,
        }
    }

    async fn enqueue(&mut self, by: Side, delay: u64, key: Option<&str>) -> Observation {
        let mut message = self.fixture.message().deliver_after(Duration::from_micros(delay));
        message.dedup_key = key.map(|key| DedupKey::new(key).expect("a key"));
        self.made.insert(message.id, self.made.len());
        Observation::Enqueued(by.of(self.fixture).enqueue(&[message]).await)
    }

    async fn enqueue_again(&mut self, by: Side, which: usize) -> Observation {
        let kept = Retention::default();
        self.fixture.advance(kept.of_bodies().max(kept.of_keys()) + Duration::from_micros(1)).await;
        self.sweeper.sweep().await;
        let Some(n) = which.checked_rem(self.made.len()) else { return Observation::Nothing };
        let id = self.made.iter().find(|(_, number)| **number == n).map(|(id, _)| *id);
        let again = NewMessage { id: id.expect("one of each number"), ..self.fixture.message() };
        Observation::Enqueued(by.of(self.fixture).enqueue(&[again]).await)
    }

    async fn claim(&mut self, by: Side, limit: usize, lease: u64) -> Observation {
        let claimed = by.of(self.fixture).take_for(limit, Duration::from_micros(lease)).await;
        let seen = claimed.iter().map(|c| (self.number(c.message.id), c.attempt, c.last_error.clone()));
        let seen = seen.collect();
        self.claims.extend(claimed);
        Observation::Claimed(seen)
    }

    async fn settle(&mut self, by: Side, batch: &[(usize, Kind)]) -> Observation {
        let mut settlements = Vec::new();
        for (which, kind) in batch {
            let disposition = self.disposition(*kind);
            if let Some(claimed) = self.pick(*which) {
                settlements.push(Settlement { receipt: claimed.receipt.clone(), disposition });
            }
        }
        Observation::Settled(by.of(self.fixture).settle_all(&settlements).await)
    }

    fn disposition(&mut self, kind: Kind) -> Disposition {
        match kind {
            Kind::Done => Disposition::Done { emit: vec![] },
            Kind::Emit => {
                let child = self.fixture.message();
                self.made.insert(child.id, self.made.len());
                Disposition::Done { emit: vec![child] }
            }
            Kind::Retry(after) => {
                let (after, reason) = (Duration::from_micros(after), Reason::new(format!("wait {after}")));
                Disposition::Retry { after, reason }
            }
            Kind::Dead => Disposition::dead(Reason::new("dead")),
            Kind::Returned => Disposition::Returned,
        }
    }

    /// Renews claims; a receipt that was replaced by a renewal is not shown again.
    async fn renew(&mut self, by: Side, claims: &[usize], lease: u64) -> Observation {
        let mut chosen: Vec<usize> =
            claims.iter().filter_map(|which| which.checked_rem(self.claims.len())).collect();
        chosen.sort_unstable();
        chosen.dedup();
        let receipts: Vec<_> = chosen.iter().map(|n| self.claims[*n].receipt.clone()).collect();
        let answers = by.of(self.fixture).renew_all(&receipts, Duration::from_micros(lease)).await;
        let mut seen = Vec::new();
        for (n, answer) in chosen.into_iter().zip(answers) {
            seen.push(match answer {
                Renewed::Superseded | Renewed::Unknown => None,
                Renewed::Extended(receipt) => {
                    let number = self.number(receipt.message);
                    self.claims[n].receipt = receipt;
                    Some(number)
                }
            });
        }
        Observation::Renewed(seen)
    }

    async fn observe(&self) -> Observation {
        let status = self.fixture.rival.status().await;
        let numbers = status.map(|s| (s.depth, s.due, s.leased, s.dead, s.oldest));
        let dead = self.fixture.store.dead().await;
        let mut dead: Vec<_> =
            dead.into_iter().map(|d| (self.number(d.message.id), d.attempts, d.reason, d.dead_for)).collect();
        // Letters that died in the same microsecond have no order.
        dead.sort_by_key(|(number, ..)| *number);
        Observation::Status { numbers, dead }
    }

    fn pick(&self, which: usize) -> Option<&Claimed> {
        self.claims.get(which.checked_rem(self.claims.len())?)
    }

    fn number(&self, id: MessageId) -> usize {
        *self.made.get(&id).unwrap_or_else(|| panic!("{id} was never made"))
    }
}
