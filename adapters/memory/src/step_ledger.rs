use std::time::Duration;

use async_trait::async_trait;
use claimstream_domain::step::{Begun, NewStep, Step, StepChange, StepKey};
use claimstream_ports::{
    StoreError,
    step::{LockWait, Locked, PurgeSteps, StepLedger},
};
use uuid::Uuid;

use crate::{
    store::MemoryStore,
    tables::{Change, Identity, Tables, TransactionId},
    transaction::MemoryTransaction,
};

#[async_trait]
impl StepLedger<MemoryTransaction> for MemoryStore {
    async fn begin(&self, tx: &MemoryTransaction, step: &NewStep) -> Result<Begun, StoreError> {
        const BEGIN: &str = "begin step";
        let (database, tx) = self.database_and_id(tx, BEGIN)?;
        let begin = |tables: &mut Tables| match current(tables, tx, &step.key) {
            Some(found) => {
                tables.open.hold(tx, identity(&step.key));
                Begun::Found(found)
            }
            None => {
                let begun = step.begun().written_by(Uuid::now_v7());
                write(tables, tx, &step.key, begun.clone());
                Begun::New(begun)
            }
        };
        database.when_free(BEGIN, Some(tx), &[identity(&step.key)], begin).await
    }

    async fn advance(
        &self,
        tx: &MemoryTransaction,
        key: &StepKey,
        from: &Step,
        change: &StepChange,
    ) -> Result<Option<Step>, StoreError> {
        const ADVANCE: &str = "advance step";
        let (database, tx) = self.database_and_id(tx, ADVANCE)?;
        let advance = |tables: &mut Tables| {
            let found = current(tables, tx, key)?;
            if (found.version, found.state) != (from.version, from.state) {
                return None;
            }
            let next = found.changed(change).written_by(Uuid::now_v7());
            write(tables, tx, key, next.clone());
            Some(next)
        };
        database.when_free(ADVANCE, Some(tx), &[identity(key)], advance).await
    }

    async fn find(&self, tx: &MemoryTransaction, key: &StepKey) -> Result<Option<Step>, StoreError> {
        let (database, tx) = self.database_and_id(tx, "find step")?;
        Ok(current(&database.tables(), tx, key))
    }

    async fn lock(
        &self,
        tx: &MemoryTransaction,
        key: &StepKey,
        wait: LockWait,
    ) -> Result<Locked, StoreError> {
        const LOCK: &str = "lock step";
        let (database, tx) = self.database_and_id(tx, LOCK)?;
        let identity = identity(key);
        let lock = |tables: &mut Tables| match current(tables, tx, key) {
            Some(found) => {
                tables.open.hold(tx, Identity::Step(key.clone()));
                Locked::Held(found)
            }
            None => Locked::Absent,
        };
        match wait {
            LockWait::Wait => database.when_free(LOCK, Some(tx), &[identity], lock).await,
            LockWait::NoWait => {
                let mut tables = database.tables();
                match tables.open.is_held_by_another(tx, &identity) {
                    true => Ok(Locked::Busy),
                    false => Ok(lock(&mut tables)),
                }
            }
        }
    }
}

/// Nothing is swept in memory: steps are kept as long as the store.
#[async_trait]
impl PurgeSteps for MemoryStore {
    fn step_retention(&self) -> Duration {
        Duration::MAX
    }

    async fn purge_steps(&self) -> Result<u64, StoreError> {
        Ok(0)
    }
}

fn identity(key: &StepKey) -> Identity {
    Identity::Step(key.clone())
}

fn write(tables: &mut Tables, tx: TransactionId, key: &StepKey, step: Step) {
    tables.open.write(tx, vec![identity(key)], Change::Step(key.clone(), step));
}

/// A step as this transaction sees it: its own write, or else the committed one.
fn current(tables: &Tables, tx: TransactionId, key: &StepKey) -> Option<Step> {
    tables.open.step(tx, key).or_else(|| tables.steps.get(key))
}
