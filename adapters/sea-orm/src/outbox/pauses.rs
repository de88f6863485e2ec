use std::sync::Arc;

use async_trait::async_trait;
use claimstream_domain::{PauseNote, PausedQueue, QueueName};
use claimstream_ports::{PauseQueues, StoreError};

use super::handle::SeaOrmOutbox;
use crate::queues::pauses;

const PAUSE: &str = "pause";
const RESUME: &str = "resume";
const PAUSED: &str = "paused";

#[async_trait]
impl PauseQueues for SeaOrmOutbox {
    async fn pause(&self, queue: &QueueName, note: &PauseNote) -> Result<bool, StoreError> {
        let (db, queue, note) = (Arc::clone(&self.rooms.db), queue.clone(), note.clone());
        let work = async move {
            let is_new = pauses::pause(&db, &queue, &note).await?;
            if is_new {
                let (by, why) = (note.by(), note.why().unwrap_or_default());
                tracing::warn!(%queue, by, why, "queue was paused");
            }
            Ok(is_new)
        };
        self.rooms.db.detached(PAUSE, work).await
    }

    async fn resume(&self, queue: &QueueName, by: &str) -> Result<bool, StoreError> {
        let (rooms, queue, by) = (Arc::clone(&self.rooms), queue.clone(), by.to_owned());
        let work = async move {
            let was_paused = pauses::resume(&rooms.db, &queue, &by).await?;
            if was_paused {
                // A queue that was counted while it was paused looks as if no relay read it.
                rooms.counted.forget();
                tracing::warn!(%queue, by, "queue was resumed");
            }
            Ok(was_paused)
        };
        self.rooms.db.detached(RESUME, work).await
    }

    async fn paused(&self) -> Result<Vec<PausedQueue>, StoreError> {
        let db = Arc::clone(&self.rooms.db);
        self.rooms.db.detached(PAUSED, async move { pauses::paused(&db).await }).await
    }
}
