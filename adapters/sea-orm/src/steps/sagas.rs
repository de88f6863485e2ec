use std::time::Duration;

use claimstream_domain::saga::{NewSaga, SagaId, SagaRecord};
use claimstream_ports::StoreError;
use sea_orm::ConnectionTrait;

use crate::{
    database::{
        Database,
        args::Args,
        typed_row::row,
        unit::{Row, rows, run},
    },
    steps::ledger::step,
};

const NOTE: &str = "note saga";
const READ: &str = "sagas";

/// Notes that a saga has begun.
pub(crate) async fn note(db: &Database, on: &impl ConnectionTrait, saga: &NewSaga) -> Result<(), StoreError> {
    let args =
        of_saga(db.args(), &saga.scope, saga.id).with("owner", &*saga.owner).with("input", &*saga.input);
    run(on, NOTE, db.sql.sagas.note.bind(&args)).await.map(|_| ())
}

/// One saga, if it is known.
pub(crate) async fn saga(db: &Database, scope: &str, id: SagaId) -> Result<Option<SagaRecord>, StoreError> {
    let args = of_saga(db.args(), scope, id);
    let found =
        db.restarting_beside(READ, || rows(db.callers(), READ, db.sql.sagas.read.bind(&args))).await?;
    found.first().map(record).transpose()
}

/// The sagas of one owner that follow `after`, at most so many.
pub(crate) async fn sagas_of(
    db: &Database,
    scope: &str,
    owner: &str,
    after: Option<SagaId>,
    limit: u32,
) -> Result<Vec<SagaRecord>, StoreError> {
    let args = db.args().with("scope", scope).with("owner", owner).with("limit", i64::from(limit));
    let (page, args) = match after {
        Some(after) => (&db.sql.sagas.page_after, args.with("after", after.to_string())),
        None => (&db.sql.sagas.page, args),
    };
    let found = db.restarting_beside(READ, || rows(db.callers(), READ, page.bind(&args))).await?;
    found.iter().map(record).collect()
}

fn of_saga(args: Args, scope: &str, id: SagaId) -> Args {
    args.with("scope", scope).with("run", id.to_string())
}

fn record(row: &Row) -> Result<SagaRecord, StoreError> {
    let SagaRow { run, owner, input, age, state } = SagaRow::read(row)?;
    let id = run.parse().map_err(|e: uuid::Error| row.corrupt(e))?;
    Ok(SagaRecord {
        id: SagaId::new(id),
        owner: owner.into(),
        input: input.into(),
        age: Duration::from_micros(age.max(0).unsigned_abs()),
        // Absent once it has been purged.
        row: state.map(|_| step(row)).transpose()?,
    })
}

row! {
    struct SagaRow of "sagas/read", "sagas/page", "sagas/page_after" {
        run: String,
        owner: String,
        input: String,
        age: i64,
        state: Option<i64>,
    }
}
