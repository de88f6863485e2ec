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
        let (queue, note) = (queue.clone(), note.clone());
        self.detached(PAUSE, move |state| async move {
            let is_new = pauses::pause(&state.db, &queue, &note).await?;
            if is_new {
                let (by, why) = (note.by(), note.why().unwrap_or_default());
                tracing::warn!(%queue, by, why, "queue was paused");
            }
            Ok(is_new)
        })
        .await
    }

    async fn resume(&self, queue: &QueueName, by: &str) -> Result<bool, StoreError> {
        let (queue, by) = (queue.clone(), by.to_owned());
        self.detached(RESUME, move |state| async move {
            let was_paused = pauses::resume(&state.db, &queue, &by).await?;
            if was_paused {
                // A queue that was counted while it was paused looks as if no relay read it.
                state.counted.forget();
                tracing::warn!(%queue, by, "queue was resumed");
            }
            Ok(was_paused)
        })
        .await
    }

    async fn paused(&self) -> Result<Vec<PausedQueue>, StoreError> {
        self.detached(PAUSED, move |state| async move { pauses::paused(&state.db).await }).await
    }
}
