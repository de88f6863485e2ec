use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use claimstream_domain::{Disposition, LoadLimit, Retention, Settled, Settlement};
use claimstream_ports::StoreError;
use sea_orm::{DbErr, Statement};

use crate::{
    database::{
        Database,
        capability::{Capability, applied},
        classify::classify,
        deadline::in_time,
        transaction::Transaction,
    },
    sweep::{
        lag::LagGauge,
        leftovers::{Leftovers, Settling},
        swept::SWEEP,
    },
};

/// What sweeps go by.
#[derive(Clone)]
pub(crate) struct Sweeper {
    pub(crate) db: Arc<Database>,
    pub(crate) retention: Retention,
    pub(crate) limit: LoadLimit,
    pub(crate) lag: Option<LagGauge>,
    pub(crate) leftovers: Arc<Leftovers>,
    /// The server does not show its history list.
    blind: Arc<AtomicBool>,
    /// How many takeovers of the server were known when the sweep began.
    pub(super) takeovers: u64,
}

impl Sweeper {
    pub(crate) fn new(
        db: Arc<Database>,
        retention: Retention,
        limit: LoadLimit,
        lag: Option<LagGauge>,
    ) -> Self {
        Self { db, retention, limit, lag, leftovers: Arc::default(), blind: Arc::default(), takeovers: 0 }
    }

    /// The capabilities whose tables are there now.
    pub(super) async fn capabilities(&self) -> Result<BTreeSet<Capability>, StoreError> {
        let applied = self.db.restarting(|| applied(self.db.relay(), self.db.sql)).await?;
        Ok(applied.into_keys().collect())
    }

    /// For a sweep that begins now.
    ///
    /// What it reads holds until another server takes over, which may lack the last commits: a message that was finished is live
    /// there.
    pub(super) fn beginning_now(&self) -> Self {
        Self { takeovers: self.db.health.servers.takeovers(), ..self.clone() }
    }

    /// Deletes what the sweep has found to be of no use, unless another server has taken over since it began.
    pub(crate) async fn delete(&self, statement: Statement) -> Result<u64, StoreError> {
        self.delete_checked(statement, || self.check_server()).await
    }

    /// Deletes if the check passes once a connection is at hand.
    pub(super) async fn delete_checked(
        &self,
        statement: Statement,
        check: impl Fn() -> Result<(), DbErr>,
    ) -> Result<u64, StoreError> {
        let delete = || {
            let deleted = self.db.relay().execute_checked(statement.clone(), &check);
            in_time(SWEEP, deleted, classify)
        };
        Ok(self.db.restarting(delete).await?.rows_affected())
    }

    /// A transaction on the server at which the sweep began.
    pub(crate) async fn begin(&self) -> Result<Transaction<'_>, StoreError> {
        let transaction = self.db.begin(SWEEP).await?;
        if let Err(moved) = self.check_server() {
            self.db.roll_back(SWEEP, transaction).await?;
            return Err(classify(SWEEP, moved));
        }
        Ok(transaction)
    }

    pub(super) fn check_server(&self) -> Result<(), DbErr> {
        match self.db.health.servers.takeovers() == self.takeovers {
            true => Ok(()),
            false => Err(DbErr::Custom("another server has taken over since the sweep began".into())),
        }
    }

    /// Refuses a server that has replaced the one of a settlement, and one to which a connection has broken since.
    pub(super) fn check_server_since(&self, settling: &Settling) -> Result<(), DbErr> {
        let age = self.db.clock.elapsed().saturating_sub(settling.at);
        if settling.takeovers != self.takeovers || !self.db.health.outage.trusts(age) {
            return Err(DbErr::Custom(
                "the server may have lost its last commits since the settlement".into(),
            ));
        }
        self.check_server()
    }

    /// When and where a settlement begins that will be [noted](Self::note).
    pub(crate) fn settling(&self) -> Settling {
        Settling { at: self.db.clock.elapsed(), takeovers: self.db.health.servers.takeovers() }
    }

    /// Notes which messages are finished, if their bodies are not to be kept.
    pub(crate) fn note(&self, settlements: &[Settlement], settled: &[Settled], begun: Settling) {
        if !self.retention.deletes() {
            return;
        }
        let accepted = settlements.iter().zip(settled).filter(|(_, settled)| **settled == Settled::Accepted);
        let done = accepted.filter(|(one, _)| matches!(one.disposition, Disposition::Done { .. }));
        self.leftovers.note(begun, done.map(|(one, _)| one.receipt.message.uuid()));
    }

    pub(crate) fn is_blind(&self) -> bool {
        self.blind.load(Ordering::Relaxed)
    }

    pub(crate) fn go_blind(&self) {
        self.blind.store(true, Ordering::Relaxed);
    }
}
