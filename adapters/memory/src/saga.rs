use std::{cmp::Reverse, collections::BTreeMap};

use async_trait::async_trait;
use claimstream_domain::{
    StepKey, Timestamp,
    saga::{NewSaga, SagaId, SagaRecord},
};
use claimstream_ports::{NoteSagas, SagaReports, StoreError, StoreErrorKind};

use crate::{
    clock::between,
    database::{Change, Identity, Tables, corrupt},
    store::MemoryStore,
    transaction::MemoryTransaction,
};

/// The sagas that have been noted, by scope and id.
#[derive(Debug, Default)]
pub(crate) struct Sagas(BTreeMap<(Box<str>, SagaId), (NewSaga, Timestamp)>);

#[async_trait]
impl NoteSagas<MemoryTransaction> for MemoryStore {
    async fn note(&self, tx: &MemoryTransaction, saga: &NewSaga) -> Result<(), StoreError> {
        let (database, id) = self.database_and_id(tx, "note saga")?;
        saga.check().map_err(|e| corrupt("note saga", e))?;
        let identity = [Identity::Saga(saga.scope.clone(), saga.id)];
        let note = |tables: &mut Tables| {
            if tables.sagas.knows(saga) || tables.open.has_written(id, &identity) {
                let why = format!("saga {} is noted already", saga.id);
                return Err(StoreError::new(StoreErrorKind::Conflict, "note saga", why));
            }
            let change = Change::Saga(saga.clone(), database.now());
            tables.open.write(id, identity.to_vec(), change);
            Ok(())
        };
        database.when_free("note saga", Some(id), &identity, note).await?
    }
}

#[async_trait]
impl SagaReports for MemoryStore {
    async fn saga(&self, scope: &str, id: SagaId) -> Result<Option<SagaRecord>, StoreError> {
        let tables = self.database.tables();
        let noted = tables.sagas.0.get(&(scope.into(), id));
        noted.map(|(saga, at)| record(&tables, saga, *at, self.database.now())).transpose()
    }

    async fn sagas_of(
        &self,
        scope: &str,
        owner: &str,
        after: Option<SagaId>,
        limit: u32,
    ) -> Result<Vec<SagaRecord>, StoreError> {
        let tables = self.database.tables();
        let after = after.and_then(|id| tables.sagas.place(scope, id));
        let of_owner = |saga: &NewSaga| *saga.scope == *scope && *saga.owner == *owner;
        let mut found: Vec<_> = tables
            .sagas
            .0
            .values()
            .filter(|(saga, at)| of_owner(saga) && after.is_none_or(|after| (*at, saga.id) < after))
            .collect();
        found.sort_by_key(|(saga, at)| Reverse((*at, saga.id)));
        let now = self.database.now();
        found.into_iter().take(limit as usize).map(|(saga, at)| record(&tables, saga, *at, now)).collect()
    }
}

impl Sagas {
    pub(crate) fn insert(&mut self, saga: NewSaga, at: Timestamp) {
        self.0.insert((saga.scope.clone(), saga.id), (saga, at));
    }

    fn knows(&self, saga: &NewSaga) -> bool {
        self.0.contains_key(&(saga.scope.clone(), saga.id))
    }

    fn place(&self, scope: &str, id: SagaId) -> Option<(Timestamp, SagaId)> {
        self.0.get(&(scope.into(), id)).map(|(_, at)| (*at, id))
    }
}

fn record(tables: &Tables, saga: &NewSaga, at: Timestamp, now: Timestamp) -> Result<SagaRecord, StoreError> {
    let key = StepKey::new(&saga.scope, &saga.id.to_string(), "").map_err(|e| corrupt("sagas", e))?;
    Ok(SagaRecord {
        id: saga.id,
        owner: saga.owner.clone(),
        input: saga.input.clone(),
        row: tables.steps.get(&key),
        age: between(at, now),
    })
}
