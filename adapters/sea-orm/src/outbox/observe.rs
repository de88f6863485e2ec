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
        self.detached(OBSERVE, move |rooms| async move {
            let shards = count(rooms.db.relay(), rooms.db.sql).await?;
            let observed = Arc::new(observe::observe(&rooms.db, shards).await?);
            rooms.counted.note(rooms.db.timer(), &observed);
            Ok(observed.queues.clone())
        })
        .await
    }
}

#[async_trait]
impl FindMessages for SeaOrmOutbox {
    async fn find(&self, ids: &[MessageId]) -> Result<Vec<Option<MessageStanding>>, StoreError> {
        let ids = ids.to_vec();
        self.detached(FIND, move |rooms| async move { find::find(&rooms.db, &ids).await }).await
    }
}

#[async_trait]
impl ReadMessages for SeaOrmOutbox {
    async fn kept(&self, id: MessageId) -> Result<Option<MessageKept>, StoreError> {
        self.detached(FIND, move |rooms| async move { kept::kept(&rooms.db, id).await }).await
    }

    async fn carried(&self, id: MessageId) -> Result<Option<MessageCarried>, StoreError> {
        self.detached(FIND, move |rooms| async move { kept::carried(&rooms.db, id).await }).await
    }

    async fn keyed(&self, queue: &QueueName, key: &DedupKey) -> Result<Option<DedupKeyTaken>, StoreError> {
        let (queue, key) = (queue.clone(), key.clone());
        self.detached(FIND, move |rooms| async move { kept::keyed(&rooms.db, &queue, &key).await }).await
    }
}

#[async_trait]
impl ServerClock for SeaOrmOutbox {
    async fn late(&self, due: Due) -> Result<Duration, StoreError> {
        self.detached(LATE, move |rooms| async move { lateness::late(&rooms.db, due).await }).await
    }
}
