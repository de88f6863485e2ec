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
        let rooms = Arc::clone(&self.rooms);
        let work = async move {
            let shards = count(rooms.db.relay(), rooms.db.sql).await?;
            let observed = Arc::new(observe::observe(&rooms.db, shards).await?);
            rooms.counted.note(rooms.db.timer(), &observed);
            Ok(observed.queues.clone())
        };
        self.rooms.db.detached(OBSERVE, work).await
    }
}

#[async_trait]
impl FindMessages for SeaOrmOutbox {
    async fn find(&self, ids: &[MessageId]) -> Result<Vec<Option<MessageStanding>>, StoreError> {
        let (db, ids) = (Arc::clone(&self.rooms.db), ids.to_vec());
        self.rooms.db.detached(FIND, async move { find::find(&db, &ids).await }).await
    }
}

#[async_trait]
impl ReadMessages for SeaOrmOutbox {
    async fn kept(&self, id: MessageId) -> Result<Option<MessageKept>, StoreError> {
        let db = Arc::clone(&self.rooms.db);
        self.rooms.db.detached(FIND, async move { kept::kept(&db, id).await }).await
    }

    async fn carried(&self, id: MessageId) -> Result<Option<MessageCarried>, StoreError> {
        let db = Arc::clone(&self.rooms.db);
        self.rooms.db.detached(FIND, async move { kept::carried(&db, id).await }).await
    }

    async fn keyed(&self, queue: &QueueName, key: &DedupKey) -> Result<Option<DedupKeyTaken>, StoreError> {
        let (db, queue, key) = (Arc::clone(&self.rooms.db), queue.clone(), key.clone());
        self.rooms.db.detached(FIND, async move { kept::keyed(&db, &queue, &key).await }).await
    }
}

#[async_trait]
impl ServerClock for SeaOrmOutbox {
    async fn late(&self, due: Due) -> Result<Duration, StoreError> {
        let db = Arc::clone(&self.rooms.db);
        self.rooms.db.detached(LATE, async move { lateness::late(&db, due).await }).await
    }
}
