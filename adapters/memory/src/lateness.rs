use std::time::Duration;

use async_trait::async_trait;
use claimstream_domain::Due;
use claimstream_ports::{ServerClock, StoreError};

use crate::{clock::between, store::MemoryStore};

#[async_trait]
impl ServerClock for MemoryStore {
    async fn late(&self, due: Due) -> Result<Duration, StoreError> {
        Ok(match due {
            Due::At(moment) => between(moment, self.clock().now()),
            Due::Now | Due::After(_) => Duration::ZERO,
        })
    }
}
