use std::time::Duration;

use async_trait::async_trait;
use claimstream_domain::notification::{
    DeliveryStatus, NotificationRecord, NotificationRequest, Progress, Submitted, consent::Address,
    digest::KeptItem,
};
use claimstream_ports::{
    StoreError,
    notification::{
        Cancelled, DeliveryState, DigestPlace, DigestRepository, EraseRecipient, Erased, FanOutStep,
        ListRequests, MessageOutcome, MessageRepository, MissingRecord, NotificationReports, RequestFilter,
        RequestListed, RequestPage, RequestRead, RequestRepository, StepNoted, SubmitRequests,
    },
};
use sea_orm::DatabaseTransaction;
use uuid::Uuid;

use crate::{
    notifications::repositories::Repositories,
    notifications::{listing, requests::being_taken_in, restoring::Restoring},
    outbox::{handle::SeaOrmOutbox, state::OutboxState},
};

const SUBMIT: &str = "submit";
const REQUEST: &str = "request";
const MESSAGE: &str = "notification message";

#[async_trait]
impl SubmitRequests<DatabaseTransaction> for SeaOrmOutbox {
    async fn submit(
        &self,
        tx: &DatabaseTransaction,
        requests: &[NotificationRequest],
    ) -> Result<Vec<Submitted>, StoreError> {
        let OutboxState { transactions, notifications, .. } = &*self.state;
        transactions.check_backend(tx, SUBMIT)?;
        if requests.is_empty() {
            return Ok(Vec::new());
        }
        let submitted = transactions.within(tx, SUBMIT, notifications.requests.submit(tx, requests)).await;
        submitted.map_err(being_taken_in)
    }
}

impl SeaOrmOutbox {
    /// Takes requests in, in a transaction of the outbox's own that runs to its end even if the caller is cancelled.
    pub async fn submit_now(&self, requests: &[NotificationRequest]) -> Result<Vec<Submitted>, StoreError> {
        let requests = requests.to_vec();
        self.detached(
            SUBMIT,
            move |state| async move { state.notifications.requests.submit_now(&requests).await },
        )
        .await
    }
}

#[async_trait]
impl RequestRepository for SeaOrmOutbox {
    async fn read(&self, ids: &[Uuid]) -> Result<Vec<Option<RequestRead>>, StoreError> {
        let ids = ids.to_vec();
        self.detached(REQUEST, move |state| async move { state.notifications.requests.read(&ids).await })
            .await
    }

    async fn note_steps(&self, steps: &[FanOutStep]) -> Result<Vec<StepNoted>, StoreError> {
        let steps = steps.to_vec();
        self.detached(REQUEST, move |state| async move { state.notifications.fan_outs.note(&steps).await })
            .await
    }

    async fn cancel(&self, id: Uuid) -> Result<Cancelled, StoreError> {
        self.detached(REQUEST, move |state| async move { state.notifications.requests.cancel(id).await })
            .await
    }
}

#[async_trait]
impl MessageRepository for SeaOrmOutbox {
    async fn status(&self, ids: &[Uuid]) -> Result<Vec<Option<DeliveryStatus>>, StoreError> {
        let ids = ids.to_vec();
        self.detached(MESSAGE, move |state| async move {
            state.notifications.records.delivery_statuses(&ids).await
        })
        .await
    }

    async fn delivery_states(&self, ids: &[Uuid]) -> Result<Vec<DeliveryState>, StoreError> {
        let ids = ids.to_vec();
        self.detached(
            MESSAGE,
            move |state| async move { state.notifications.records.delivery_states(&ids).await },
        )
        .await
    }

    async fn since_1970(&self) -> Result<Duration, StoreError> {
        self.detached(MESSAGE, move |state| async move {
            let now =
                state.db.restarting_beside(MESSAGE, || state.db.now(state.db.callers(), MESSAGE)).await?;
            Ok(Duration::from_micros(now.max(0).unsigned_abs()))
        })
        .await
    }

    async fn conclude(&self, outcomes: &[MessageOutcome]) -> Result<(), StoreError> {
        let outcomes = outcomes.to_vec();
        self.detached(
            MESSAGE,
            move |state| async move { state.notifications.records.conclude(outcomes).await },
        )
        .await
    }

    async fn restore(&self, missing: &[MissingRecord]) -> Result<Vec<Option<DeliveryStatus>>, StoreError> {
        let missing = missing.to_vec();
        self.detached(MESSAGE, move |state| async move {
            let Repositories { fan_outs, records, erasing, .. } = &state.notifications;
            Restoring { db: &state.db, fan_outs, records, erasing }.restore(&missing).await
        })
        .await
    }

    async fn reopen(&self, id: Uuid) -> Result<Option<DeliveryStatus>, StoreError> {
        self.detached(MESSAGE, move |state| async move { state.notifications.records.reopen(id).await }).await
    }
}

#[async_trait]
impl DigestRepository for SeaOrmOutbox {
    async fn close(&self, digests: &[DigestPlace]) -> Result<Vec<Vec<KeptItem>>, StoreError> {
        let digests = digests.to_vec();
        self.detached(MESSAGE, move |state| async move { state.notifications.digests.close(&digests).await })
            .await
    }
}

#[async_trait]
impl NotificationReports for SeaOrmOutbox {
    async fn progress(&self, id: Uuid) -> Result<Option<Progress>, StoreError> {
        self.detached(REQUEST, move |state| async move { state.notifications.requests.progress(id).await })
            .await
    }

    async fn messages(
        &self,
        id: Uuid,
        after: Option<Uuid>,
        limit: u32,
    ) -> Result<Vec<NotificationRecord>, StoreError> {
        self.detached(MESSAGE, move |state| async move {
            state.notifications.records.messages(id, after, limit).await
        })
        .await
    }

    async fn record(&self, message: Uuid) -> Result<Option<NotificationRecord>, StoreError> {
        self.detached(MESSAGE, move |state| async move { state.notifications.records.one(message).await })
            .await
    }
}

#[async_trait]
impl ListRequests for SeaOrmOutbox {
    async fn list(
        &self,
        filter: &RequestFilter,
        after: Option<Uuid>,
        limit: u32,
    ) -> Result<RequestPage, StoreError> {
        let filter = filter.clone();
        self.detached(
            REQUEST,
            move |state| async move { listing::list(&state.db, &filter, after, limit).await },
        )
        .await
    }

    async fn listed(&self, id: Uuid) -> Result<Option<RequestListed>, StoreError> {
        self.detached(REQUEST, move |state| async move { listing::one(&state.db, id).await }).await
    }
}

#[async_trait]
impl EraseRecipient for SeaOrmOutbox {
    async fn erase(&self, recipient: &str, addresses: &[Address]) -> Result<Erased, StoreError> {
        let (recipient, addresses) = (recipient.to_owned(), addresses.to_vec());
        self.detached("erase", move |state| async move {
            state.notifications.erasing.erase(&recipient, &addresses).await
        })
        .await
    }
}
