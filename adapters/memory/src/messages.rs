use async_trait::async_trait;
use claimstream_domain::{
    DedupKey, DedupKeyTaken, MessageCarried, MessageId, MessageKept, MessageStanding, QueueName,
};
use claimstream_ports::{FindMessages, ReadMessages, StoreError};

use crate::store::MemoryStore;

#[async_trait]
impl FindMessages for MemoryStore {
    async fn find(&self, ids: &[MessageId]) -> Result<Vec<Option<MessageStanding>>, StoreError> {
        let (tables, now) = (self.database.tables(), self.database.now());
        Ok(ids.iter().map(|id| tables.outbox.standing(*id, now)).collect())
    }
}

#[async_trait]
impl ReadMessages for MemoryStore {
    async fn kept(&self, id: MessageId) -> Result<Option<MessageKept>, StoreError> {
        Ok(self.database.tables().outbox.kept(id, self.database.now()))
    }

    async fn carried(&self, id: MessageId) -> Result<Option<MessageCarried>, StoreError> {
        Ok(self.database.tables().outbox.carried(id))
    }

    async fn keyed(&self, queue: &QueueName, key: &DedupKey) -> Result<Option<DedupKeyTaken>, StoreError> {
        Ok(self.database.tables().outbox.keyed(queue, key, self.database.now()))
    }
}
