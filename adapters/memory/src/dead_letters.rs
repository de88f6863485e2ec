use async_trait::async_trait;
use claimstream_domain::{DeadLetter, DeadLetterFilter, QueueStatus};
use claimstream_ports::{DeadLetters, Observe, StoreError};

use crate::{database::corrupt, store::MemoryStore};

#[async_trait]
impl DeadLetters for MemoryStore {
    async fn list(&self, filter: &DeadLetterFilter, limit: u32) -> Result<Vec<DeadLetter>, StoreError> {
        let mut letters = self.database.tables().outbox.dead_letters(filter, self.database.now());
        letters.truncate(limit as usize);
        Ok(letters)
    }

    async fn revive(&self, filter: &DeadLetterFilter) -> Result<u64, StoreError> {
        let mut tables = self.database.tables();
        tables.outbox.revive(filter, self.database.now()).map_err(|e| corrupt("revive", e))
    }

    async fn purge(&self, filter: &DeadLetterFilter) -> Result<u64, StoreError> {
        Ok(self.database.tables().outbox.purge(filter, self.database.now()))
    }
}

#[async_trait]
impl Observe for MemoryStore {
    async fn observe(&self) -> Result<Vec<QueueStatus>, StoreError> {
        Ok(self.database.tables().outbox.observe(self.database.now()))
    }
}
