use claimstream_domain::QueueName;
use claimstream_ports::{StoreError, StoreErrorKind};
use claimstream_sea_orm::SeaOrmOutbox;

use super::SeaOrmBackend;
use crate::{
    Fixture,
    fixture::{LockWaits, Wire},
};

impl SeaOrmBackend {
    /// Two instances, which reach their server over a wire that counts their waits for locks if `is_wired`; a file has none.
    pub(super) async fn pair_over(
        &self,
        is_wired: bool,
        url: &str,
        queue: QueueName,
    ) -> Result<(Fixture, SeaOrmOutbox, SeaOrmOutbox), StoreError> {
        if url.starts_with("sqlite") {
            return self.pair(url, queue).await;
        }
        let wire = match is_wired {
            true => Some(
                Wire::to(url).await.map_err(|e| StoreError::new(StoreErrorKind::Unavailable, "open", e))?,
            ),
            false => None,
        };
        let (fixture, store, rival) = self.pair(wire.as_ref().map_or(url, |wire| &wire.url), queue).await?;
        Ok((fixture.with_lock_waits(wire.map_or(LockWaits::Uncounted, LockWaits::Counted)), store, rival))
    }
}
