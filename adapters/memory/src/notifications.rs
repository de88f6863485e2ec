use async_trait::async_trait;
use claimstream_domain::notification::{DeliveryStatus, NotificationRecord, Progress, RequestStatus};
use claimstream_ports::{
    StoreError,
    notification::{
        Cancelled, FanOutStep, MessageOutcome, MessageRepository, NotificationReports, RequestRead,
        RequestRepository, StepNoted,
    },
};
use uuid::Uuid;

use crate::{store::MemoryStore, tables::RequestRow};

#[async_trait]
impl RequestRepository for MemoryStore {
    async fn read(&self, ids: &[Uuid]) -> Result<Vec<Option<RequestRead>>, StoreError> {
        let tables = self.database.tables();
        let read = |row: &RequestRow| RequestRead { request: row.request.clone(), status: row.status };
        Ok(ids.iter().map(|id| tables.notifications.requests.get(id).map(read)).collect())
    }

    async fn note_steps(&self, steps: &[FanOutStep]) -> Result<Vec<StepNoted>, StoreError> {
        let mut tables = self.database.tables();
        Ok(steps.iter().map(|step| tables.notifications.note(step)).collect())
    }

    async fn cancel(&self, id: Uuid) -> Result<Cancelled, StoreError> {
        let mut tables = self.database.tables();
        let Some(row) = tables.notifications.requests.get_mut(&id) else { return Ok(Cancelled::Unknown) };
        row.move_on(RequestStatus::Pending, RequestStatus::Cancelled);
        Ok(match row.status {
            RequestStatus::Cancelled => Cancelled::Yes,
            status => Cancelled::TooLate(status),
        })
    }
}

#[async_trait]
impl MessageRepository for MemoryStore {
    async fn status(&self, ids: &[Uuid]) -> Result<Vec<Option<DeliveryStatus>>, StoreError> {
        let tables = self.database.tables();
        let messages = &tables.notifications.messages;
        Ok(ids.iter().map(|id| messages.get(id).map(|message| message.status)).collect())
    }

    async fn conclude(&self, outcomes: &[MessageOutcome]) -> Result<(), StoreError> {
        let mut tables = self.database.tables();
        for outcome in outcomes {
            if let Some(message) = tables.notifications.messages.get_mut(&outcome.id)
                && message.status == DeliveryStatus::Pending
            {
                message.status = outcome.status;
                message.reason = outcome.reason.clone();
            }
        }
        Ok(())
    }

    async fn reopen(&self, id: Uuid) -> Result<(), StoreError> {
        let mut tables = self.database.tables();
        if let Some(message) = tables.notifications.messages.get_mut(&id)
            && message.status == DeliveryStatus::Failed
        {
            (message.status, message.reason) = (DeliveryStatus::Pending, None);
        }
        Ok(())
    }
}

#[async_trait]
impl NotificationReports for MemoryStore {
    async fn progress(&self, id: Uuid) -> Result<Option<Progress>, StoreError> {
        Ok(self.database.tables().notifications.progress(id))
    }

    async fn messages(
        &self,
        id: Uuid,
        after: Option<Uuid>,
        limit: u32,
    ) -> Result<Vec<NotificationRecord>, StoreError> {
        let tables = self.database.tables();
        let of_request = tables.notifications.of_request(id);
        let behind = of_request.filter(|message| after.is_none_or(|after| message.id > after));
        Ok(behind.take(limit as usize).cloned().collect())
    }
}
