use std::{collections::BTreeSet, sync::Arc};

use async_trait::async_trait;
use claimstream_domain::{
    QueueName,
    notification::{NotificationRequest, Submitted},
};
use claimstream_http::Intake;
use claimstream_ports::{StoreError, StoreErrorKind};
use claimstream_sea_orm::SeaOrmOutbox;

use crate::wakeups::Wakeups;

/// Takes requests that come over HTTP into an outbox, and wakes relays after the commit.
pub(crate) struct OutboxIntake {
    pub(crate) outbox: SeaOrmOutbox,
    pub(crate) wakeups: Arc<Wakeups>,
}

#[async_trait]
impl Intake for OutboxIntake {
    async fn take(&self, requests: &[NotificationRequest]) -> Result<Vec<Submitted>, StoreError> {
        let answers = self.outbox.submit_now(requests).await?;
        let new = requests.iter().zip(&answers).filter(|(_, answer)| **answer == Submitted::New);
        let queues: BTreeSet<_> = new.map(|(request, _)| request.priority.request_queue()).collect();
        for queue in queues {
            let queue = QueueName::new(queue);
            let queue = queue.map_err(|e| StoreError::new(StoreErrorKind::Corrupt, "submit", e))?;
            self.wakeups.announce(&queue).await;
        }
        Ok(answers)
    }
}
