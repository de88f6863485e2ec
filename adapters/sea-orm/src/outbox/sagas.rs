use std::sync::Arc;

use async_trait::async_trait;
use claimstream_domain::saga::{NewSaga, SagaId, SagaRecord};
use claimstream_ports::{
    StoreError,
    saga::{NoteSagas, SagaReports},
};
use sea_orm::DatabaseTransaction;

use crate::{
    database::classify::corrupt,
    outbox::{handle::SeaOrmOutbox, rooms::Rooms},
    steps::sagas,
};

const NOTE: &str = "note saga";
const READ: &str = "sagas";

/// For transactions on the outbox's own database, which [`SeaOrmOutbox::begin`] begins; it is proven first, as by
/// [`SeaOrmOutbox::enqueue_on`].
#[async_trait]
impl NoteSagas<DatabaseTransaction> for SeaOrmOutbox {
    async fn note(&self, tx: &DatabaseTransaction, saga: &NewSaga) -> Result<(), StoreError> {
        let Rooms { db, transactions, .. } = &*self.rooms;
        transactions.check_backend(tx, NOTE)?;
        saga.check().map_err(|e| corrupt(NOTE, e))?;
        transactions.within(tx, NOTE, sagas::note(db, tx, saga)).await
    }
}

#[async_trait]
impl SagaReports for SeaOrmOutbox {
    async fn saga(&self, scope: &str, id: SagaId) -> Result<Option<SagaRecord>, StoreError> {
        let (db, scope) = (Arc::clone(&self.rooms.db), scope.to_owned());
        self.rooms.db.detached(READ, async move { sagas::saga(&db, &scope, id).await }).await
    }

    async fn sagas_of(
        &self,
        scope: &str,
        owner: &str,
        after: Option<SagaId>,
        limit: u32,
    ) -> Result<Vec<SagaRecord>, StoreError> {
        let (db, scope, owner) = (Arc::clone(&self.rooms.db), scope.to_owned(), owner.to_owned());
        let work = async move { sagas::sagas_of(&db, &scope, &owner, after, limit).await };
        self.rooms.db.detached(READ, work).await
    }
}
