use std::sync::Arc;

use async_trait::async_trait;
use claimstream_domain::step::{Begun, NewStep, Step, StepChange, StepKey};
use claimstream_ports::{
    StoreError,
    step::{LockWait, Locked, PurgeSteps, StepLedger},
};
use sea_orm::DatabaseTransaction;

use crate::{
    outbox::{handle::SeaOrmOutbox, state::OutboxState},
    steps::ledger::{begin_step, change_step, find_step, lock_step},
    sweep::{
        round::{Round, before},
        swept::SWEEP,
    },
};

const BEGIN: &str = "begin step";
const CHANGE: &str = "advance step";
const FIND: &str = "find step";
const LOCK: &str = "lock step";

/// For transactions on the outbox's own database, which [`SeaOrmOutbox::begin`] begins. What writes proves the transaction
/// and the database first, as [`SeaOrmOutbox::enqueue_on`] does.
///
/// On MySQL and MariaDB a lock wait that is refused may leave the transaction open; it must be rolled back like after any
/// other error. On SQLite there is one write lock for everything, and a transaction of the outbox has it from its beginning.
#[async_trait]
impl StepLedger<DatabaseTransaction> for SeaOrmOutbox {
    async fn begin(&self, tx: &DatabaseTransaction, step: &NewStep) -> Result<Begun, StoreError> {
        let OutboxState { db, transactions, .. } = &*self.state;
        transactions.check_backend(tx, BEGIN)?;
        transactions.within(tx, BEGIN, begin_step(db, tx, step)).await
    }

    async fn advance(
        &self,
        tx: &DatabaseTransaction,
        key: &StepKey,
        from: &Step,
        change: &StepChange,
    ) -> Result<Option<Step>, StoreError> {
        let OutboxState { db, transactions, .. } = &*self.state;
        transactions.check_backend(tx, CHANGE)?;
        transactions.within(tx, CHANGE, change_step(db, tx, key, from, change)).await
    }

    async fn find(&self, tx: &DatabaseTransaction, key: &StepKey) -> Result<Option<Step>, StoreError> {
        self.state.transactions.check_backend(tx, FIND)?;
        find_step(&self.state.db, tx, key).await
    }

    async fn lock(
        &self,
        tx: &DatabaseTransaction,
        key: &StepKey,
        wait: LockWait,
    ) -> Result<Locked, StoreError> {
        self.state.transactions.check_backend(tx, LOCK)?;
        lock_step(&self.state.db, tx, key, wait).await
    }
}

/// A [sweep](SeaOrmOutbox::sweep) does this as well.
#[async_trait]
impl PurgeSteps for SeaOrmOutbox {
    fn step_retention(&self) -> std::time::Duration {
        self.state.step_retention
    }

    async fn purge_steps(&self) -> Result<u64, StoreError> {
        let sweeper = Arc::clone(&self.state.sweeper);
        let now = self.state.db.detached(SWEEP, async move { sweeper.fresh_now().await }).await?;
        let bound = before(now, self.step_retention());
        Round::of(&self.state.sweeper).steps(bound).await.map(|(steps, _)| steps)
    }
}
