use async_trait::async_trait;
use claimstream_domain::{
    Enqueued, MessageId, QueueName,
    saga::{NewSaga, SagaContinuation, SagaContinued, SagaId, SagaRecord, SagaState},
};
use claimstream_ports::{
    Enqueue, FindMessages, StoreError,
    saga::{ContinueSagas, NoteSagas, SagaReports},
};
use sea_orm::DatabaseTransaction;

use crate::{
    database::classify::corrupt,
    outbox::{handle::SeaOrmOutbox, state::OutboxState},
    steps::sagas,
};

const NOTE: &str = "note saga";
const READ: &str = "sagas";
const CONTINUE: &str = "continue saga";

/// For transactions on the outbox's own database, which [`SeaOrmOutbox::begin`] begins; it is proven first, as by
/// [`SeaOrmOutbox::enqueue_on`].
#[async_trait]
impl NoteSagas<DatabaseTransaction> for SeaOrmOutbox {
    async fn note(&self, tx: &DatabaseTransaction, saga: &NewSaga) -> Result<(), StoreError> {
        let OutboxState { db, transactions, .. } = &*self.state;
        transactions.check_backend(tx, NOTE)?;
        saga.check().map_err(|e| corrupt(NOTE, e))?;
        transactions.within(tx, NOTE, sagas::note(db, tx, saga)).await
    }
}

#[async_trait]
impl SagaReports for SeaOrmOutbox {
    async fn saga(&self, scope: &str, id: SagaId) -> Result<Option<SagaRecord>, StoreError> {
        let scope = scope.to_owned();
        self.detached(READ, move |state| async move { sagas::saga(&state.db, &scope, id).await }).await
    }

    async fn sagas_of(
        &self,
        scope: &str,
        owner: &str,
        after: Option<SagaId>,
        limit: u32,
    ) -> Result<Vec<SagaRecord>, StoreError> {
        let (scope, owner) = (scope.to_owned(), owner.to_owned());
        self.detached(READ, move |state| async move {
            sagas::sagas_of(&state.db, &scope, &owner, after, limit).await
        })
        .await
    }
}

#[async_trait]
impl ContinueSagas for SeaOrmOutbox {
    async fn continue_saga(&self, scope: &str, id: SagaId) -> Result<SagaContinued, StoreError> {
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
            let queue = QueueName::new(scope).map_err(|e| corrupt(CONTINUE, e))?;
            let message = record.order().and_then(|order| order.nudge(queue, nudge));
            let message = message.map_err(|e| corrupt(CONTINUE, e))?;
            let (outbox, asked) = (self.clone(), message.id);
            let enqueued: Result<Vec<Enqueued>, StoreError> = self
                .transaction(move |tx| Box::pin(async move { outbox.enqueue(tx, &[message]).await }))
                .await;
            if let [Enqueued::New] = enqueued?.as_slice() {
                return Ok(SagaContinued::Asked(asked));
            }
            // Another call has done the same at this moment, or its body is all that is left of it.
            match self.find(&[asked]).await?.pop().flatten() {
                Some(_) => return Ok(SagaContinued::UnderWay(asked)),
                None => used.push(asked),
            }
        }
    }
}
