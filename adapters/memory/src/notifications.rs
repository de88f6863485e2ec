use std::time::Duration;

use async_trait::async_trait;
use claimstream_domain::{
    MessageId,
    notification::{DeliveryStatus, NotificationRecord, NotificationRequest, Priority, Progress},
};
use claimstream_ports::{
    StoreError,
    notification::{
        Cancelled, DeliveryState, FanOutStep, ListRequests, MessageOutcome, MessageRepository, MissingRecord,
        NotificationReports, RequestFilter, RequestListed, RequestPage, RequestRead, RequestRepository,
        StepNoted, restoring,
    },
};
use uuid::Uuid;

use crate::{
    clock::between,
    store::MemoryStore,
    tables::{RequestRow, Row, Tables},
};

#[async_trait]
impl RequestRepository for MemoryStore {
    async fn read(&self, ids: &[Uuid]) -> Result<Vec<Option<RequestRead>>, StoreError> {
        let tables = self.database.tables();
        let read = |row: &RequestRow| RequestRead { request: row.request.clone(), status: row.status };
        Ok(ids.iter().map(|id| tables.notifications.requests.get(id).map(read)).collect())
    }

    async fn note_steps(&self, steps: &[FanOutStep]) -> Result<Vec<StepNoted>, StoreError> {
        let now = self.database.now();
        let Tables { notifications, outbox, .. } = &mut *self.database.tables();
        let mut noted = Vec::with_capacity(steps.len());
        for step in steps {
            let (step, messages) = notifications.note(step, now);
            for message in messages.iter().filter(|message| !outbox.knows(message)).collect::<Vec<_>>() {
                outbox.enqueue(Row::new(message, self.database.shards, now), now);
            }
            noted.push(step);
        }
        Ok(noted)
    }

    async fn cancel(&self, id: Uuid) -> Result<Cancelled, StoreError> {
        let now = self.database.now();
        let Tables { notifications, outbox, .. } = &mut *self.database.tables();
        let leased = Priority::ALL.map(|priority| outbox.leased(priority.message_queue(), now));
        let cancelled = notifications.cancel(id, leased.into_iter().sum(), now);
        if matches!(cancelled, Cancelled::Yes(_)) {
            outbox.call_off(MessageId::new(id), now);
        }
        Ok(cancelled)
    }
}

#[async_trait]
impl MessageRepository for MemoryStore {
    async fn status(&self, ids: &[Uuid]) -> Result<Vec<Option<DeliveryStatus>>, StoreError> {
        let tables = self.database.tables();
        let messages = &tables.notifications.messages;
        Ok(ids.iter().map(|id| messages.get(id).map(|message| message.status)).collect())
    }

    async fn delivery_states(&self, ids: &[Uuid]) -> Result<Vec<DeliveryState>, StoreError> {
        let tables = self.database.tables();
        Ok(ids.iter().map(|id| tables.notifications.delivery_state(*id)).collect())
    }

    async fn since_1970(&self) -> Result<Duration, StoreError> {
        Ok(Duration::from_micros(self.database.now().as_micros().max(0).unsigned_abs()))
    }

    async fn conclude(&self, outcomes: &[MessageOutcome]) -> Result<(), StoreError> {
        let (now, mut tables) = (self.database.now(), self.database.tables());
        outcomes.iter().for_each(|outcome| tables.notifications.conclude(outcome, now));
        Ok(())
    }

    async fn restore(&self, missing: &[MissingRecord]) -> Result<Vec<Option<DeliveryStatus>>, StoreError> {
        let now = self.database.now();
        let tables = &mut *self.database.tables();
        for step in restoring(missing) {
            tables.notifications.note(&step, now);
        }
        let mut stand = Vec::with_capacity(missing.len());
        for MissingRecord { record, .. } in missing {
            let (status, is_lost) = tables.notifications.restore(record);
            if is_lost {
                tables.leave_frames(std::slice::from_ref(record))?;
            }
            stand.push(status);
        }
        Ok(stand)
    }

    async fn reopen(&self, id: Uuid) -> Result<Option<DeliveryStatus>, StoreError> {
        Ok(self.database.tables().notifications.reopen(id))
    }
}

#[async_trait]
impl NotificationReports for MemoryStore {
    async fn progress(&self, id: Uuid) -> Result<Option<Progress>, StoreError> {
        let tables = self.database.tables();
        let notifications = &tables.notifications;
        let counted = |progress| Progress { receipts: notifications.receipt_counts(id), ..progress };
        Ok(notifications.progress(id).map(counted))
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

    async fn record(&self, message: Uuid) -> Result<Option<NotificationRecord>, StoreError> {
        Ok(self.database.tables().notifications.messages.get(&message).cloned())
    }
}

#[async_trait]
impl ListRequests for MemoryStore {
    async fn list(
        &self,
        filter: &RequestFilter,
        after: Option<Uuid>,
        limit: u32,
    ) -> Result<RequestPage, StoreError> {
        let (now, tables) = (self.database.now(), self.database.tables());
        let notifications = &tables.notifications;
        let place = notifications.ages.iter().rev().position(|(_, id)| Some(*id) == after);
        let skipped = match (after, place) {
            (None, _) => 0,
            (Some(_), Some(place)) => place + 1,
            (Some(_), None) => notifications.ages.len(),
        };
        let older = notifications.ages.iter().rev().skip(skipped);
        let listed =
            older.filter_map(|(at, id)| Some(listed(notifications.requests.get(id)?, between(*at, now))));
        let requests: Vec<_> = listed.filter(|listed| filter.matches(listed)).take(limit as usize).collect();
        let next = requests.last().filter(|_| requests.len() == limit as usize).map(|last| last.id);
        Ok(RequestPage { requests, next })
    }

    async fn listed(&self, id: Uuid) -> Result<Option<RequestListed>, StoreError> {
        let (now, tables) = (self.database.now(), self.database.tables());
        let notifications = &tables.notifications;
        let taken_in = notifications.ages.iter().find(|(_, other)| *other == id);
        let row = notifications.requests.get(&id);
        Ok(row.zip(taken_in).map(|(row, (at, _))| listed(row, between(*at, now))))
    }
}

fn listed(row: &RequestRow, age: Duration) -> RequestListed {
    let NotificationRequest { id, requester, .. } = &row.request;
    RequestListed { id: *id, status: row.status, requester: requester.clone(), age }
}
