use std::time::Duration;

use async_trait::async_trait;
use claimstream_domain::saga::{NewSaga, SagaId, SagaRecord};
use claimstream_ports::{
    StoreError,
    saga::{NoteSagas, SagaReports},
};
use sea_orm::DatabaseTransaction;

use crate::{
    caller_transactions::savepoint::Savepoint,
    database::typed_row::row,
    database::{
        args::Args,
        classify::corrupt,
        unit::{Row, rows, run},
    },
    outbox::handle::SeaOrmOutbox,
    steps::ledger::step,
};

const NOTE: &str = "note saga";
const READ: &str = "sagas";

/// For transactions on the outbox's own database, which [`SeaOrmOutbox::begin`] begins; it is proven first, as by
/// [`SeaOrmOutbox::enqueue_on`].
#[async_trait]
impl NoteSagas<DatabaseTransaction> for SeaOrmOutbox {
    async fn note(&self, tx: &DatabaseTransaction, saga: &NewSaga) -> Result<(), StoreError> {
        self.store.check_backend(tx, NOTE)?;
        saga.check().map_err(|e| corrupt(NOTE, e))?;
        let args = of_saga(self.store.args(), &saga.scope, saga.id)
            .with("owner", &*saga.owner)
            .with("input", &*saga.input);
        let savepoint = Savepoint::set(&self.store, tx, NOTE).await?;
        let noted = run(tx, NOTE, self.store.sql.sagas.note.bind(&args)).await;
        savepoint.end(noted.map(|_| ())).await
    }
}

#[async_trait]
impl SagaReports for SeaOrmOutbox {
    async fn saga(&self, scope: &str, id: SagaId) -> Result<Option<SagaRecord>, StoreError> {
        let store = self.store.clone();
        let args = of_saga(store.args(), scope, id);
        let work = async move {
            let found = store
                .restarting_beside(READ, || rows(store.callers(), READ, store.sql.sagas.read.bind(&args)))
                .await?;
            found.first().map(record).transpose()
        };
        self.store.detached(READ, work).await
    }

    async fn sagas_of(
        &self,
        scope: &str,
        owner: &str,
        after: Option<SagaId>,
        limit: u32,
    ) -> Result<Vec<SagaRecord>, StoreError> {
        let store = self.store.clone();
        let args = store.args().with("scope", scope).with("owner", owner).with("limit", i64::from(limit));
        let args = match after {
            Some(after) => args.with("after", after.to_string()),
            None => args,
        };
        let work = async move {
            let page = if after.is_some() { &store.sql.sagas.page_after } else { &store.sql.sagas.page };
            let found =
                store.restarting_beside(READ, || rows(store.callers(), READ, page.bind(&args))).await?;
            found.iter().map(record).collect()
        };
        self.store.detached(READ, work).await
    }
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
