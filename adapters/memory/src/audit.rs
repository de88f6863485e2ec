use async_trait::async_trait;
use claimstream_domain::{AuditEntry, AuditListed};
use claimstream_ports::{AuditLog, StoreError};

use crate::store::MemoryStore;

#[async_trait]
impl AuditLog for MemoryStore {
    async fn note_action(&self, entry: &AuditEntry) -> Result<(), StoreError> {
        self.database.tables().audit.add(entry, self.database.now());
        Ok(())
    }

    async fn entries(&self, after: Option<u64>, limit: u32) -> Result<Vec<AuditListed>, StoreError> {
        Ok(self.database.tables().audit.list(after, limit, self.database.now()))
    }
}
