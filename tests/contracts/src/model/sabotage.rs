//! Promise: the model test notices a store with a fault

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use claimstream_domain::{
    ClaimRequest, Claimed, DeadLetter, DeadLetterFilter, DeadLetterGroups, DeadLetterPage, DeadLetterPlace,
    Disposition, Lease, QueueName, Reason, Receipt, Renewed, Settled, Settlement,
};
use claimstream_ports::{DeadLetters, LockingStrategy, Settlements, StoreError};

use crate::{
    Fixture, Need, Ports,
    backend::{Backend, Sweeper, SweptFixture},
};

/// A way in which a store can be wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sabotage {
    /// A release is a nack without a delay.
    CountsAReleasedAttempt,
    /// A renewal answers and does nothing.
    ForgetsToRenew,
    /// A lease is a microsecond too long.
    LeasesTooLong,
    /// A settlement that lost its claim is called accepted.
    AcceptsEverything,
    /// A revived letter stays.
    RevivesNothing,
    /// A sweep forgets who is dead.
    SweepsDeadLetters,
    /// A claim brings something along that another claim holds.
    HandsOutTwice,
    /// A claim takes one message more than it brings.
    KeepsOneBack,
    /// Each attempt is the first one.
    CountsNoAttempt,
    /// What was handed out is not settled, and is called accepted.
    ForgetsToSettle,
}

impl Sabotage {
    pub(super) const ALL: [Self; 6] = [
        Self::CountsAReleasedAttempt,
        Self::ForgetsToRenew,
        Self::LeasesTooLong,
        Self::AcceptsEverything,
        Self::RevivesNothing,
        Self::SweepsDeadLetters,
    ];

    /// Further ones that a reference is held against which follows the store.
    pub(super) const OF_OWNERS: [Self; 4] =
        [Self::HandsOutTwice, Self::KeepsOneBack, Self::CountsNoAttempt, Self::ForgetsToSettle];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::CountsAReleasedAttempt => "counts_a_released_attempt",
            Self::ForgetsToRenew => "forgets_to_renew",
            Self::LeasesTooLong => "leases_too_long",
            Self::AcceptsEverything => "accepts_everything",
            Self::RevivesNothing => "revives_nothing",
            Self::SweepsDeadLetters => "sweeps_dead_letters",
            Self::HandsOutTwice => "hands_out_twice",
            Self::KeepsOneBack => "keeps_one_back",
            Self::CountsNoAttempt => "counts_no_attempt",
            Self::ForgetsToSettle => "forgets_to_settle",
        }
    }
}

/// A backend whose stores are wrong in one way.
pub(super) struct Sabotaged<V> {
    backend: V,
    sabotage: Sabotage,
}

impl<V> Sabotaged<V> {
    pub(super) fn new(backend: V, sabotage: Sabotage) -> Self {
        Self { backend, sabotage }
    }

    fn spoil(&self, ports: &mut Ports) {
        let spoilt =
            Arc::new(Spoilt { ports: ports.clone(), sabotage: self.sabotage, last: Mutex::default() });
        ports.claiming = spoilt.clone();
        ports.settlements = spoilt.clone();
        ports.dead_letters = spoilt;
    }
}

#[async_trait]
impl<V: Backend> Backend for Sabotaged<V> {
    fn name(&self) -> &str {
        "sabotaged"
    }

    fn strategy(&self) -> &str {
        self.sabotage.name()
    }

    fn has(&self) -> &[Need] {
        self.backend.has()
    }

    async fn fixture(&self) -> Result<Fixture, StoreError> {
        let mut fixture = self.backend.fixture().await?;
        self.spoil(&mut fixture.store.ports);
        self.spoil(&mut fixture.rival.ports);
        Ok(fixture)
    }

    async fn swept_fixture(&self) -> Result<SweptFixture, StoreError> {
        let SweptFixture { mut fixture, sweeper } = self.backend.swept_fixture().await?;
        self.spoil(&mut fixture.store.ports);
        self.spoil(&mut fixture.rival.ports);
        let ports = fixture.store.ports.clone();
        Ok(match self.sabotage {
            Sabotage::SweepsDeadLetters => {
                SweptFixture { fixture, sweeper: Arc::new(Broom { ports, sweeper }) }
            }
            _ => SweptFixture { fixture, sweeper },
        })
    }
}

/// Takes dead letters away, too.
struct Broom {
    ports: Ports,
    sweeper: Arc<dyn Sweeper>,
}

#[async_trait]
impl Sweeper for Broom {
    async fn sweep(&self) {
        self.sweeper.sweep().await;
        self.ports.dead_letters.purge(&DeadLetterFilter::default()).await.expect("purge");
    }
}

struct Spoilt {
    ports: Ports,
    sabotage: Sabotage,
    /// What the claim before has brought last.
    last: Mutex<Option<Claimed>>,
}

#[async_trait]
impl LockingStrategy for Spoilt {
    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<Claimed>, StoreError> {
        let mut request = request.clone();
        if self.sabotage == Sabotage::LeasesTooLong {
            let longer = request.lease.duration() + Duration::from_micros(1);
            request.lease = Lease::new(longer).expect("a lease");
        }
        let mut claimed = self.ports.claiming.claim(&request).await?;
        match self.sabotage {
            Sabotage::HandsOutTwice => {
                let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
                let before = std::mem::replace(&mut *last, claimed.last().cloned());
                claimed.extend(before);
            }
            Sabotage::KeepsOneBack => drop(claimed.pop()),
            Sabotage::CountsNoAttempt => claimed.iter_mut().for_each(|claimed| claimed.attempt = 1),
            _ => {}
        }
        Ok(claimed)
    }

    async fn release_read_ahead(&self, queue: &QueueName) -> Result<(), StoreError> {
        self.ports.claiming.release_read_ahead(queue).await
    }
}

#[async_trait]
impl Settlements for Spoilt {
    async fn settle(&self, settlements: &[Settlement]) -> Result<Vec<Settled>, StoreError> {
        let mut settlements = settlements.to_vec();
        if self.sabotage == Sabotage::CountsAReleasedAttempt {
            settlements.iter_mut().for_each(|settlement| count(&mut settlement.disposition));
        }
        if self.sabotage == Sabotage::ForgetsToSettle {
            return Ok(vec![Settled::Accepted; settlements.len()]);
        }
        let answers = self.ports.settlements.settle(&settlements).await?;
        match self.sabotage {
            Sabotage::AcceptsEverything => Ok(vec![Settled::Accepted; answers.len()]),
            _ => Ok(answers),
        }
    }

    async fn renew(&self, receipts: &[Receipt], lease: Lease) -> Result<Vec<Renewed>, StoreError> {
        match self.sabotage {
            Sabotage::ForgetsToRenew => Ok(receipts.iter().cloned().map(Renewed::Extended).collect()),
            _ => self.ports.settlements.renew(receipts, lease).await,
        }
    }
}

#[async_trait]
impl DeadLetters for Spoilt {
    async fn list(&self, filter: &DeadLetterFilter, limit: u32) -> Result<Vec<DeadLetter>, StoreError> {
        self.ports.dead_letters.list(filter, limit).await
    }

    async fn page(
        &self,
        filter: &DeadLetterFilter,
        after: Option<DeadLetterPlace>,
        limit: u32,
    ) -> Result<DeadLetterPage, StoreError> {
        self.ports.dead_letters.page(filter, after, limit).await
    }

    async fn count(&self, filter: &DeadLetterFilter, most: u64) -> Result<u64, StoreError> {
        self.ports.dead_letters.count(filter, most).await
    }

    async fn groups(&self, filter: &DeadLetterFilter, most: u32) -> Result<DeadLetterGroups, StoreError> {
        self.ports.dead_letters.groups(filter, most).await
    }

    async fn revive(&self, filter: &DeadLetterFilter) -> Result<u64, StoreError> {
        match self.sabotage {
            Sabotage::RevivesNothing => Ok(self.list(filter, u32::MAX).await?.len() as u64),
            _ => self.ports.dead_letters.revive(filter).await,
        }
    }

    async fn purge(&self, filter: &DeadLetterFilter) -> Result<u64, StoreError> {
        self.ports.dead_letters.purge(filter).await
    }
}

fn count(disposition: &mut Disposition) {
    if *disposition == Disposition::Returned {
        *disposition = Disposition::Retry { after: Duration::ZERO, reason: Reason::new("released") };
    }
}
