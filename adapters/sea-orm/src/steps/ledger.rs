use claimstream_domain::{
    Fingerprint,
    step::{Begun, NewStep, Step, StepChange, StepKey, StepResult},
};
use claimstream_ports::{
    StoreError,
    step::{LockWait, Locked},
};
use sea_orm::{ConnectionTrait, Value};
use uuid::Uuid;

use crate::database::{
    Database,
    args::{Args, bytes},
    classify::{corrupt, is_locked_by_another},
    dialect::Dialect,
    typed_row::row,
    unit::{Row, rows, run},
};

const BEGIN: &str = "begin step";
const CHANGE: &str = "advance step";
const FIND: &str = "find step";
const LOCK: &str = "lock step";

/// The insert decides. Whether it was this one shows in the origin that stands in the row afterwards, and not in a
/// count of rows, which depends on how the connection was opened.
pub(crate) async fn begin_step(
    db: &Database,
    on: &impl ConnectionTrait,
    new: &NewStep,
) -> Result<Begun, StoreError> {
    let origin = Uuid::now_v7();
    let args = of_key(db.args(), &new.key)
        .with("state", new.state)
        .with("origin", bytes(origin))
        .with("fingerprint", Value::Bytes(new.fingerprint.map(|print| print.as_bytes().to_vec())))
        .with("result", result(new.result.as_ref()));
    run(on, BEGIN, db.sql.steps.begin.bind(&args)).await?;
    let found = rows(on, BEGIN, db.sql.steps.lock.bind(&of_key(db.args(), &new.key))).await?;
    let row = found.first().ok_or_else(|| corrupt(BEGIN, "a step that was just begun is not there"))?;
    let step = step(row)?;
    Ok(if step.origin == origin { Begun::New(step) } else { Begun::Found(step) })
}

pub(crate) async fn change_step(
    db: &Database,
    on: &impl ConnectionTrait,
    key: &StepKey,
    from: &Step,
    change: &StepChange,
) -> Result<Option<Step>, StoreError> {
    let version = i64::try_from(from.version).map_err(|e| corrupt(CHANGE, e))?;
    let origin = Uuid::now_v7();
    let args = of_key(db.args(), key)
        .with("state", change.state)
        .with("origin", bytes(origin))
        .with("result", result(change.result.as_ref()))
        .with("version", version)
        .with("from_state", from.state);
    let changed = run(on, CHANGE, db.sql.steps.change.bind(&args)).await?;
    Ok((changed == 1).then(|| from.changed(change).written_by(origin)))
}

/// A step, if there is one.
pub(crate) async fn find_step(
    db: &Database,
    on: &impl ConnectionTrait,
    key: &StepKey,
) -> Result<Option<Step>, StoreError> {
    let found = rows(on, FIND, db.sql.steps.find.bind(&of_key(db.args(), key))).await?;
    found.first().map(step).transpose()
}

pub(crate) async fn lock_step(
    db: &Database,
    on: &impl ConnectionTrait,
    key: &StepKey,
    wait: LockWait,
) -> Result<Locked, StoreError> {
    let statement = match (wait, db.dialect) {
        (LockWait::NoWait, Dialect::MySql) => &db.sql.steps.lock_now,
        _ => &db.sql.steps.lock,
    };
    match rows(on, LOCK, statement.bind(&of_key(db.args(), key))).await {
        Ok(found) => found.first().map_or(Ok(Locked::Absent), |row| step(row).map(Locked::Held)),
        Err(error) if wait == LockWait::NoWait && is_locked_by_another(&error) => Ok(Locked::Busy),
        Err(error) => Err(error),
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
        origin: Vec<u8>,
    }
}

/// The step that a row has.
pub(crate) fn step(row: &Row) -> Result<Step, StoreError> {
    let StepRow { state, version, fingerprint, result, origin } = StepRow::read(row)?;
    let fingerprint = fingerprint.map(|bytes| Fingerprint::from_slice(&bytes)).transpose();
    let result = result.map(StepResult::new).transpose();
    Ok(Step {
        state: state.try_into().map_err(|_| row.corrupt(format!("{state} is out of range")))?,
        version,
        fingerprint: fingerprint.map_err(|e| row.corrupt(e))?,
        result: result.map_err(|e| row.corrupt(e))?,
        origin: Uuid::from_slice(&origin).map_err(|e| row.corrupt(e))?,
    })
}
