use std::time::Duration;

use async_trait::async_trait;
use claimstream_domain::Due;
use claimstream_ports::{Lateness, StoreError};

use crate::{outbox::handle::SeaOrmOutbox, store::Store};

#[async_trait]
impl Lateness for SeaOrmOutbox {
    async fn late(&self, due: Due) -> Result<Duration, StoreError> {
        let store = self.store.clone();
        self.store.detached(LATE, async move { store.late(due).await }).await
    }
}

const LATE: &str = "late";

impl Store {
    async fn late(&self, due: Due) -> Result<Duration, StoreError> {
        let Due::At(moment) = due else { return Ok(Duration::ZERO) };
        let now = self.restarting(|| self.now(self.relay(), LATE)).await?;
        let late = now.saturating_sub(moment.as_micros());
        Ok(Duration::from_micros(u64::try_from(late).unwrap_or_default()))
    }
}
