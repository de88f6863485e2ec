use std::{sync::Arc, time::Duration};

use claimstream_domain::{MessageId, NewMessage, Payload, QueueName};
use claimstream_sea_orm::SeaOrmOutbox;
use tokio::sync::watch;
use uuid::Uuid;

use super::tally::Tally;

/// Enqueues one message after the other, at one node after the other; what is not acknowledged is enqueued again under its id.
pub(super) struct Producer {
    pub(super) outboxes: Vec<SeaOrmOutbox>,
    pub(super) queue: QueueName,
    pub(super) every: Duration,
    pub(super) tally: Arc<Tally>,
}

impl Producer {
    /// A node that says nothing for so long is left for the next one.
    const TIMEOUT: Duration = Duration::from_secs(3);
    const AGAIN: Duration = Duration::from_millis(50);

    pub(super) async fn run(self, mut stop: watch::Receiver<bool>) {
        let mut turn = 0;
        while !*stop.borrow() {
            let id = Uuid::now_v7();
            let message =
                NewMessage::new(MessageId::new(id), self.queue.clone(), Payload::json("{\"number\":1}"));
            // Enqueued for certain, also if the run is to stop: whether it is there would be unknown otherwise.
            loop {
                let outbox = &self.outboxes[turn % self.outboxes.len()];
                turn += 1;
                let taken = outbox.enqueue_now(std::slice::from_ref(&message));
                if let Ok(Ok(_)) = tokio::time::timeout(Self::TIMEOUT, taken).await {
                    break;
                }
                tokio::time::sleep(Self::AGAIN).await;
            }
            self.tally.enqueued(id);
            tokio::select! {
                () = tokio::time::sleep(self.every) => {}
                _ = stop.changed() => {}
            }
        }
    }
}
