use async_trait::async_trait;
use claimstream_domain::{PauseNote, PausedQueue, QueueName};
use claimstream_ports::{PauseQueues, StoreError};

use crate::store::MemoryStore;

#[async_trait]
impl PauseQueues for MemoryStore {
    async fn pause(&self, queue: &QueueName, note: &PauseNote) -> Result<bool, StoreError> {
        Ok(self.database.tables().pauses.add(queue, note, self.database.now()))
    }

    async fn resume(&self, queue: &QueueName, _by: &str) -> Result<bool, StoreError> {
        Ok(self.database.tables().pauses.remove(queue))
    }

    async fn paused(&self) -> Result<Vec<PausedQueue>, StoreError> {
        Ok(self.database.tables().pauses.list(self.database.now()))
    }
}
