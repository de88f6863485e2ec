use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use claimstream_domain::{Due, QueueStatus};
use claimstream_ports::{Lateness, Observe, StoreError};

use super::handle::SeaOrmOutbox;
use crate::queues::{lateness, observe};

const OBSERVE: &str = "observe";
const LATE: &str = "late";

#[async_trait]
impl Observe for SeaOrmOutbox {
    async fn observe(&self) -> Result<Vec<QueueStatus>, StoreError> {
        let rooms = Arc::clone(&self.rooms);
        let work = async move { observe::observe(&rooms.db, rooms.enqueueing.shards).await };
        self.rooms.db.detached(OBSERVE, work).await
    }
}

#[async_trait]
impl Lateness for SeaOrmOutbox {
    async fn late(&self, due: Due) -> Result<Duration, StoreError> {
        let db = Arc::clone(&self.rooms.db);
        self.rooms.db.detached(LATE, async move { lateness::late(&db, due).await }).await
    }
}
