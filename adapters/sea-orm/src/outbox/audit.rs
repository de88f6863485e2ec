use std::sync::Arc;

use async_trait::async_trait;
use claimstream_domain::{AuditEntry, AuditListed};
use claimstream_ports::{AuditLog, StoreError};

use super::handle::SeaOrmOutbox;
use crate::queues::audit;

const NOTE: &str = "note an action";
const ENTRIES: &str = "audit";

#[async_trait]
impl AuditLog for SeaOrmOutbox {
    async fn note_action(&self, entry: &AuditEntry) -> Result<(), StoreError> {
        let (db, entry) = (Arc::clone(&self.rooms.db), entry.clone());
        self.rooms.db.detached(NOTE, async move { audit::note(&db, &entry).await }).await
    }

    async fn entries(&self, after: Option<u64>, limit: u32) -> Result<Vec<AuditListed>, StoreError> {
        let db = Arc::clone(&self.rooms.db);
        self.rooms.db.detached(ENTRIES, async move { audit::entries(&db, after, limit).await }).await
    }
}
