use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use claimstream_domain::{
    DedupKey, DedupKeyTaken, Due, MessageCarried, MessageId, MessageKept, MessageStanding, QueueName,
    QueueStatus,
};
use claimstream_ports::{FindMessages, Observe, ReadMessages, ServerClock, StoreError};

use super::handle::SeaOrmOutbox;
use crate::{
    queues::{find, kept, lateness, observe},
    resharding::shards::count,
};

const OBSERVE: &str = "observe";
const FIND: &str = "find";
const LATE: &str = "late";

#[async_trait]
impl Observe for SeaOrmOutbox {
    async fn observe(&self) -> Result<Vec<QueueStatus>, StoreError> {
        self.detached(OBSERVE, move |state| async move {
            let shards = count(state.db.relay(), state.db.sql).await?;
            let observed = Arc::new(observe::observe(&state.db, shards).await?);
            state.counted.note(state.db.timer(), &observed);
            Ok(observed.queues.clone())
        })
        .await
    }
}

#[async_trait]
impl FindMessages for SeaOrmOutbox {
    async fn find(&self, ids: &[MessageId]) -> Result<Vec<Option<MessageStanding>>, StoreError> {
        let ids = ids.to_vec();
        self.detached(FIND, move |state| async move { find::find(&state.db, &ids).await }).await
    }
}

#[async_trait]
impl ReadMessages for SeaOrmOutbox {
    async fn kept(&self, id: MessageId) -> Result<Option<MessageKept>, StoreError> {
        self.detached(FIND, move |state| async move { kept::kept(&state.db, id).await }).await
    }

    async fn carried(&self, id: MessageId) -> Result<Option<MessageCarried>, StoreError> {
        self.detached(FIND, move |state| async move { kept::carried(&state.db, id).await }).await
    }

    async fn keyed(&self, queue: &QueueName, key: &DedupKey) -> Result<Option<DedupKeyTaken>, StoreError> {
        let (queue, key) = (queue.clone(), key.clone());
        self.detached(FIND, move |state| async move { kept::keyed(&state.db, &queue, &key).await }).await
    }
}

#[async_trait]
impl ServerClock for SeaOrmOutbox {
    async fn late(&self, due: Due) -> Result<Duration, StoreError> {
        self.detached(LATE, move |state| async move { lateness::late(&state.db, due).await }).await
    }
}
