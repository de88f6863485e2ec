use claimstream_domain::QueueName;
use claimstream_ports::{StoreError, StoreErrorKind};
use claimstream_sea_orm::SeaOrmOutbox;

use super::SeaOrmBackend;
use crate::{Fixture, fixture::Wire};

impl SeaOrmBackend {
    /// Two instances that reach their server over a wire, which counts their waits for locks; a file has none.
    pub(super) async fn wired_pair(
        &self,
        url: &str,
        queue: QueueName,
    ) -> Result<(Fixture, SeaOrmOutbox, SeaOrmOutbox), StoreError> {
        if url.starts_with("sqlite") {
            return self.pair(url, queue).await;
        }
        let wire =
            Wire::to(url).await.map_err(|e| StoreError::new(StoreErrorKind::Unavailable, "open", e))?;
        let (fixture, store, rival) = self.pair(&wire.url, queue).await?;
        Ok((fixture.with_wire(wire), store, rival))
    }
}
