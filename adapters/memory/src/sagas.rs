use async_trait::async_trait;
use claimstream_domain::{
    Enqueued, MessageId, QueueName, Timestamp,
    saga::{NewSaga, SagaContinuation, SagaContinued, SagaId, SagaRecord, SagaState},
    step::StepKey,
};
use claimstream_ports::{
    FindMessages, StoreError, StoreErrorKind,
    saga::{ContinueSagas, NoteSagas, SagaReports},
};

use crate::{
    clock::between,
    database::corrupt,
    store::MemoryStore,
    tables::{Change, Identity, Tables},
    transaction::MemoryTransaction,
};

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
        let noted = tables.sagas.get(scope, id);
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
        let found = tables.sagas.of_owner(scope, owner, after);
        let now = self.database.now();
        found.into_iter().take(limit as usize).map(|(saga, at)| record(&tables, saga, *at, now)).collect()
    }
}

#[async_trait]
impl ContinueSagas for MemoryStore {
    async fn continue_saga(&self, scope: &str, id: SagaId) -> Result<SagaContinued, StoreError> {
        const CONTINUE: &str = "continue saga";
        let Some(record) = self.saga(scope, id).await? else { return Ok(SagaContinued::Unknown) };
        let Some(row) = &record.row else { return Ok(SagaContinued::Forgotten) };
        let ids: Vec<MessageId> = id.messages(scope).into_iter().map(|(_, id)| id).collect();
        let found = self.find(&ids).await?;
        let stand: Vec<_> = found.into_iter().map(|it| it.map(|it| it.state)).collect();
        let mut used = Vec::new();
        loop {
            let nudge = match SagaContinuation::of((scope, id), SagaState::of_code(row.state), &stand, &used)
            {
                SagaContinuation::Nothing(why) => return Ok(why),
                SagaContinuation::Enqueue(nudge) => nudge,
            };
            let order = record.order().map_err(|e| corrupt(CONTINUE, e))?;
            let queue = QueueName::new(scope).map_err(|e| corrupt(CONTINUE, e))?;
            let message = order.nudge(queue, nudge).map_err(|e| corrupt(CONTINUE, e))?;
            if let [Enqueued::New] = self.enqueue_now(std::slice::from_ref(&message)).await?.as_slice() {
                return Ok(SagaContinued::Asked(message.id));
            }
            match self.find(&[message.id]).await?.pop().flatten() {
                Some(_) => return Ok(SagaContinued::UnderWay(message.id)),
                None => used.push(message.id),
            }
        }
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
