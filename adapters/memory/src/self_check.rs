use async_trait::async_trait;
use claimstream_domain::{Finding, FindingGroup, Severity};
use claimstream_ports::{SelfCheck, StoreError};

use crate::store::MemoryStore;

#[async_trait]
impl SelfCheck for MemoryStore {
    async fn check(&self) -> Result<Vec<FindingGroup>, StoreError> {
        let detail = "messages are in the memory of this process, and end with it; a database keeps them";
        let finding = Finding { severity: Severity::Warning, check: "server", detail: detail.into() };
        Ok(vec![FindingGroup { about: "outbox", findings: vec![finding] }])
    }
}
