use async_trait::async_trait;
use claimstream_domain::{
    Fingerprint,
    step::{Begun, NewStep, Step, StepChange, StepKey, StepResult},
};
use claimstream_ports::{
    StoreError,
    step::{LockWait, Locked, StepLedger},
};
use sea_orm::{ConnectionTrait, DatabaseTransaction, Value};
use uuid::Uuid;

use crate::{
    caller_transactions::savepoint::Savepoint,
    database::typed_row::row,
    database::{
        args::{Args, bytes},
        classify::{corrupt, is_locked_by_another},
        dialect::Dialect,
        unit::{Row, rows, run},
    },
    outbox::handle::SeaOrmOutbox,
    store::Store,
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
        self.store.check_backend(tx, BEGIN)?;
        let savepoint = Savepoint::set(&self.store, tx, BEGIN).await?;
        savepoint.end(self.store.begin_step(tx, step).await).await
    }

    async fn advance(
        &self,
        tx: &DatabaseTransaction,
        key: &StepKey,
        from: &Step,
        change: &StepChange,
    ) -> Result<Option<Step>, StoreError> {
        self.store.check_backend(tx, CHANGE)?;
        let savepoint = Savepoint::set(&self.store, tx, CHANGE).await?;
        savepoint.end(self.store.change_step(tx, key, from, change).await).await
    }

    async fn find(&self, tx: &DatabaseTransaction, key: &StepKey) -> Result<Option<Step>, StoreError> {
        self.store.check_backend(tx, FIND)?;
        let found = rows(tx, FIND, self.store.sql.steps.find.bind(&of_key(self.store.args(), key))).await?;
        found.first().map(step).transpose()
    }

    async fn lock(
        &self,
        tx: &DatabaseTransaction,
        key: &StepKey,
        wait: LockWait,
    ) -> Result<Locked, StoreError> {
        self.store.check_backend(tx, LOCK)?;
        self.store.lock_step(tx, key, wait).await
    }
}

impl Store {
    /// The insert decides. Whether it was this one is told by the origin that stands in the row afterwards, and not by a
    /// count of rows, which depends on how the connection was opened.
    async fn begin_step(&self, on: &impl ConnectionTrait, new: &NewStep) -> Result<Begun, StoreError> {
        let origin = Uuid::now_v7();
        let args = of_key(self.args(), &new.key)
            .with("state", new.state)
            .with("origin", bytes(origin))
            .with("fingerprint", Value::Bytes(new.fingerprint.map(|print| print.as_bytes().to_vec())))
            .with("result", result(new.result.as_ref()));
        run(on, BEGIN, self.sql.steps.begin.bind(&args)).await?;
        let found = rows(on, BEGIN, self.sql.steps.lock.bind(&of_key(self.args(), &new.key))).await?;
        let row = found.first().ok_or_else(|| corrupt(BEGIN, "a step that was just begun is not there"))?;
        let step = step(row)?;
        Ok(if row.uuid("origin")? == origin { Begun::New(step) } else { Begun::Found(step) })
    }

    async fn change_step(
        &self,
        on: &impl ConnectionTrait,
        key: &StepKey,
        from: &Step,
        change: &StepChange,
    ) -> Result<Option<Step>, StoreError> {
        let version = i64::try_from(from.version).map_err(|e| corrupt(CHANGE, e))?;
        let args = of_key(self.args(), key)
            .with("state", change.state)
            .with("result", result(change.result.as_ref()))
            .with("version", version)
            .with("from_state", from.state);
        let changed = run(on, CHANGE, self.sql.steps.change.bind(&args)).await?;
        Ok((changed == 1).then(|| from.changed(change)))
    }

    async fn lock_step(
        &self,
        on: &impl ConnectionTrait,
        key: &StepKey,
        wait: LockWait,
    ) -> Result<Locked, StoreError> {
        let statement = match (wait, self.dialect) {
            (LockWait::NoWait, Dialect::MySql) => &self.sql.steps.lock_now,
            _ => &self.sql.steps.lock,
        };
        match rows(on, LOCK, statement.bind(&of_key(self.args(), key))).await {
            Ok(found) => found.first().map_or(Ok(Locked::Absent), |row| step(row).map(Locked::Held)),
            Err(error) if wait == LockWait::NoWait && is_locked_by_another(&error) => Ok(Locked::Busy),
            Err(error) => Err(error),
        }
    }
}

fn of_key(args: Args, key: &StepKey) -> Args {
    args.with("scope", key.scope()).with("run", key.run()).with("step", key.step())
}

fn result(result: Option<&StepResult>) -> Value {
    Value::Bytes(result.map(|result| result.as_bytes().to_vec()))
}

row! {
    struct StepRow of "steps/lock", "steps/lock_now", "steps/find", "sagas/read", "sagas/page", "sagas/page_after" {
        state: i64,
        version: u64,
        fingerprint: Option<Vec<u8>>,
        result: Option<Vec<u8>>,
    }
}

/// The step that a row has.
pub(crate) fn step(row: &Row) -> Result<Step, StoreError> {
    let StepRow { state, version, fingerprint, result } = StepRow::read(row)?;
    let fingerprint = fingerprint.map(|bytes| Fingerprint::from_slice(&bytes)).transpose();
    let result = result.map(StepResult::new).transpose();
    Ok(Step {
        state: state.try_into().map_err(|_| row.corrupt(format!("{state} is out of range")))?,
        version,
        fingerprint: fingerprint.map_err(|e| row.corrupt(e))?,
        result: result.map_err(|e| row.corrupt(e))?,
    })
}
