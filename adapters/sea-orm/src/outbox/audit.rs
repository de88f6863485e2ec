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
        let entry = entry.clone();
        self.detached(NOTE, move |state| async move { audit::note(&state.db, &entry).await }).await
    }

    async fn entries(&self, after: Option<u64>, limit: u32) -> Result<Vec<AuditListed>, StoreError> {
        self.detached(ENTRIES, move |state| async move { audit::entries(&state.db, after, limit).await })
            .await
    }
}
