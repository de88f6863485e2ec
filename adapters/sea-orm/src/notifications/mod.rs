use std::sync::Arc;

use async_trait::async_trait;
use claimstream_domain::{
    Enqueued, Reason,
    notification::{
        Channel, DeliveryStatus, NotificationRecord, NotificationRequest, Progress, RequestStatus,
        request_message,
    },
};
use claimstream_ports::{
    StoreError,
    notification::{
        Cancelled, MessageOutcome, MessageRepository, NotificationReports, OpenedRequest, RequestRepository,
        SubmitRequests,
    },
};
use sea_orm::{ConnectionTrait, DatabaseTransaction};
use uuid::Uuid;

use crate::{
    caller_transactions::savepoint::Savepoint,
    database::typed_row::row,
    database::{
        args::{Args, bytes},
        classify::corrupt,
        unit::{Row, maybe, rows, run},
    },
    enqueue::rows::answer,
    outbox::handle::SeaOrmOutbox,
    sql::Sql,
    store::Store,
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
    ) -> Result<Vec<Enqueued>, StoreError> {
        self.store.check_backend(tx, SUBMIT)?;
        if requests.is_empty() {
            return Ok(Vec::new());
        }
        let savepoint = Savepoint::set(&self.store, tx, SUBMIT).await?;
        savepoint.end(self.store.submit(tx, requests).await).await
    }
}

impl SeaOrmOutbox {
    /// Takes requests in, in a transaction of the outbox's own that runs to its end even if the caller is cancelled.
    pub async fn submit_now(&self, requests: &[NotificationRequest]) -> Result<Vec<Enqueued>, StoreError> {
        let (store, requests) = (self.store.clone(), requests.to_vec());
        let work = async move {
            store
                .restarting_beside(SUBMIT, || async {
                    let transaction = store.begin_beside(SUBMIT).await?;
                    let taken = store.submit(&transaction, &requests).await?;
                    store.commit(SUBMIT, transaction).await?;
                    Ok(taken)
                })
                .await
        };
        self.store.detached(SUBMIT, work).await
    }
}

#[async_trait]
impl RequestRepository for SeaOrmOutbox {
    async fn open(&self, id: Uuid) -> Result<Option<OpenedRequest>, StoreError> {
        let store = self.store.clone();
        let work = async move {
            let args = store.args().with("id", bytes(id));
            store
                .restarting_beside(REQUEST, || {
                    run(store.callers(), REQUEST, store.sql.notifications.request_open.bind(&args))
                })
                .await?;
            let found = store
                .restarting_beside(REQUEST, || {
                    rows(store.callers(), REQUEST, store.sql.notifications.request_read.bind(&args))
                })
                .await?;
            found.first().map(opened).transpose()
        };
        self.store.detached(REQUEST, work).await
    }

    async fn close(&self, id: Uuid, failure: Option<Reason>) -> Result<(), StoreError> {
        let store = self.store.clone();
        let status = if failure.is_some() { RequestStatus::Failed } else { RequestStatus::Dispatched };
        let work = async move {
            let args = store
                .args()
                .with("id", bytes(id))
                .with("status", status.name())
                .with("reason", maybe(failure.as_ref().map(Reason::as_str)));
            store
                .restarting_beside(REQUEST, || {
                    run(store.callers(), REQUEST, store.sql.notifications.request_close.bind(&args))
                })
                .await
                .map(|_| ())
        };
        self.store.detached(REQUEST, work).await
    }

    async fn reopen(&self, id: Uuid) -> Result<(), StoreError> {
        let store = self.store.clone();
        let work = async move { store.reopen(REQUEST, &store.sql.notifications.request_reopen, id).await };
        self.store.detached(REQUEST, work).await
    }

    async fn cancel(&self, id: Uuid) -> Result<Cancelled, StoreError> {
        let store = self.store.clone();
        let work = async move {
            let args = store.args().with("id", bytes(id));
            let called_off = store
                .restarting_beside(REQUEST, || {
                    run(store.callers(), REQUEST, store.sql.notifications.request_cancel.bind(&args))
                })
                .await?;
            if called_off > 0 {
                return Ok(Cancelled::Yes);
            }
            let found = store
                .restarting_beside(REQUEST, || {
                    rows(store.callers(), REQUEST, store.sql.notifications.request_read.bind(&args))
                })
                .await?;
            match found.first() {
                Some(row) => match status(row)? {
                    RequestStatus::Cancelled => Ok(Cancelled::Yes),
                    status => Ok(Cancelled::TooLate(status)),
                },
                None => Ok(Cancelled::Unknown),
            }
        };
        self.store.detached(REQUEST, work).await
    }
}

#[async_trait]
impl MessageRepository for SeaOrmOutbox {
    async fn record(&self, records: &[NotificationRecord]) -> Result<Vec<DeliveryStatus>, StoreError> {
        let (store, records) = (self.store.clone(), records.to_vec());
        let work = async move {
            store.restarting_beside(MESSAGE, || store.insert_records(&records)).await?;
            let ids: Vec<Uuid> = records.iter().map(|record| record.id).collect();
            let known = store.delivery_statuses(&ids).await?;
            let gone = || corrupt(MESSAGE, "a record that was just kept is gone");
            known.into_iter().map(|status| status.ok_or_else(gone)).collect()
        };
        self.store.detached(MESSAGE, work).await
    }

    async fn status(&self, ids: &[Uuid]) -> Result<Vec<Option<DeliveryStatus>>, StoreError> {
        let (store, ids) = (self.store.clone(), ids.to_vec());
        self.store.detached(MESSAGE, async move { store.delivery_statuses(&ids).await }).await
    }

    async fn conclude(&self, outcomes: &[MessageOutcome]) -> Result<(), StoreError> {
        let (store, outcomes) = (self.store.clone(), outcomes.to_vec());
        let writing = Arc::clone(&store);
        let write = move |outcomes: Vec<MessageOutcome>| {
            let store = Arc::clone(&writing);
            async move { store.restarting_beside(MESSAGE, || store.conclude(&outcomes)).await }
        };
        let work = async move { store.coalesced(MESSAGE, &store.outcomes, outcomes, write).await };
        self.store.detached(MESSAGE, work).await
    }

    async fn reopen(&self, id: Uuid) -> Result<(), StoreError> {
        let store = self.store.clone();
        let work = async move { store.reopen(MESSAGE, &store.sql.notifications.message_reopen, id).await };
        self.store.detached(MESSAGE, work).await
    }
}

#[async_trait]
impl NotificationReports for SeaOrmOutbox {
    async fn progress(&self, id: Uuid) -> Result<Option<Progress>, StoreError> {
        let store = self.store.clone();
        self.store.detached(REQUEST, async move { store.progress(id).await }).await
    }

    async fn messages(
        &self,
        id: Uuid,
        after: Option<Uuid>,
        limit: u32,
    ) -> Result<Vec<NotificationRecord>, StoreError> {
        let store = self.store.clone();
        let work = async move {
            let args = store
                .args()
                .with("id", bytes(id))
                .with("after", bytes(after.unwrap_or(Uuid::nil())))
                .with("limit", i64::from(limit));
            let found = store
                .restarting_beside(MESSAGE, || {
                    rows(store.callers(), MESSAGE, store.sql.notifications.message_page.bind(&args))
                })
                .await?;
            found.iter().map(|row| record(row, id)).collect()
        };
        self.store.detached(MESSAGE, work).await
    }
}

impl Store {
    async fn submit(
        &self,
        on: &impl ConnectionTrait,
        requests: &[NotificationRequest],
    ) -> Result<Vec<Enqueued>, StoreError> {
        let messages = requests.iter().map(request_message).collect::<Result<Vec<_>, _>>();
        let messages = messages.map_err(|e| corrupt(SUBMIT, e))?;
        let rows = requests.iter().map(request_row).collect::<Result<Vec<_>, _>>()?;
        self.limits.packet.check(SUBMIT, self.sql.notifications.request_insert.row_bytes(&rows))?;
        let ids: Vec<Uuid> = requests.iter().map(|request| request.id).collect();
        let (insert, lookup) =
            (&self.sql.notifications.request_insert, &self.sql.notifications.request_known);
        let new = self.insert_new(on, SUBMIT, insert, lookup, &ids, &rows).await?;
        let fresh: Vec<_> = messages.into_iter().zip(&new).filter_map(|(m, new)| new.then_some(m)).collect();
        self.enqueue(on, &fresh).await?;
        Ok(new.into_iter().map(answer).collect())
    }

    async fn insert_records(&self, records: &[NotificationRecord]) -> Result<(), StoreError> {
        let rows: Vec<Args> = records.iter().map(record_row).collect();
        let transaction = self.begin_beside(MESSAGE).await?;
        for statement in self.inserts(&self.sql.notifications.message_record, &rows) {
            run(&transaction, MESSAGE, statement).await?;
        }
        self.commit(MESSAGE, transaction).await
    }

    async fn delivery_statuses(&self, ids: &[Uuid]) -> Result<Vec<Option<DeliveryStatus>>, StoreError> {
        let mut known = std::collections::HashMap::new();
        for ids in ids.chunks(512) {
            let args = self.args().with_list("ids", ids.iter().copied().map(bytes));
            let found = self
                .restarting_beside(MESSAGE, || {
                    rows(self.callers(), MESSAGE, self.sql.notifications.message_status.bind(&args))
                })
                .await?;
            for row in &found {
                let StatusRow { id, status } = StatusRow::read(row)?;
                known.insert(id, delivery_status(&status)?);
            }
        }
        Ok(ids.iter().map(|id| known.get(id).copied()).collect())
    }

    /// Outcomes that read alike are written by one statement.
    async fn conclude(&self, outcomes: &[MessageOutcome]) -> Result<(), StoreError> {
        let alike = |a: &MessageOutcome, b: &MessageOutcome| {
            a.status == b.status && a.reason == b.reason && a.reference == b.reference
        };
        let mut groups: Vec<(&MessageOutcome, Vec<Uuid>)> = Vec::new();
        for outcome in outcomes {
            match groups.iter_mut().find(|(known, _)| alike(known, outcome)) {
                Some((_, ids)) => ids.push(outcome.id),
                None => groups.push((outcome, vec![outcome.id])),
            }
        }
        let transaction = self.begin_beside(MESSAGE).await?;
        for (outcome, ids) in groups {
            let args = self
                .args()
                .with("status", outcome.status.name())
                .with("reason", maybe(outcome.reason.as_ref().map(Reason::as_str)))
                .with("reference", maybe(outcome.reference.as_deref().map(|text| cut(text, 255))))
                .with_list("ids", ids.into_iter().map(bytes));
            run(&transaction, MESSAGE, self.sql.notifications.message_conclude.bind(&args)).await?;
        }
        self.commit(MESSAGE, transaction).await
    }

    async fn reopen(&self, what: &'static str, failed: &Sql, id: Uuid) -> Result<(), StoreError> {
        let args = self.args().with("id", bytes(id));
        self.restarting_beside(what, || run(self.callers(), what, failed.bind(&args))).await.map(|_| ())
    }

    async fn progress(&self, id: Uuid) -> Result<Option<Progress>, StoreError> {
        let args = self.args().with("id", bytes(id));
        let found = self
            .restarting_beside(REQUEST, || {
                rows(self.callers(), REQUEST, self.sql.notifications.request_read.bind(&args))
            })
            .await?;
        let Some(row) = found.first() else { return Ok(None) };
        let (recorded, reason) = (status(row)?, row.maybe_text("reason")?);
        let mut progress = Progress { recorded, reason, pending: 0, delivered: 0, skipped: 0, failed: 0 };
        for row in self
            .restarting_beside(REQUEST, || {
                rows(self.callers(), REQUEST, self.sql.notifications.message_count.bind(&args))
            })
            .await?
        {
            let CountRow { status, messages } = CountRow::read(&row)?;
            let count = match delivery_status(&status)? {
                DeliveryStatus::Pending => &mut progress.pending,
                DeliveryStatus::Delivered => &mut progress.delivered,
                DeliveryStatus::Skipped => &mut progress.skipped,
                DeliveryStatus::Failed => &mut progress.failed,
            };
            *count = messages;
        }
        Ok(Some(progress))
    }
}

fn request_row(request: &NotificationRequest) -> Result<Args, StoreError> {
    let json = serde_json::to_vec(request).map_err(|e| corrupt(SUBMIT, e))?;
    Ok(Args::new().with("id", bytes(request.id)).with("request", json))
}

fn record_row(record: &NotificationRecord) -> Args {
    Args::new()
        .with("id", bytes(record.id))
        .with("request_id", bytes(record.request_id))
        .with("channel", record.channel.name())
        .with("recipient", cut(&record.recipient, 2048))
        .with("status", record.status.name())
        .with("reason", maybe(record.reason.as_ref().map(Reason::as_str)))
}

fn opened(row: &Row) -> Result<OpenedRequest, StoreError> {
    let request = serde_json::from_slice(&row.bytes("request")?).map_err(|e| corrupt(REQUEST, e))?;
    Ok(OpenedRequest { request, status: status(row)? })
}

fn record(row: &Row, request_id: Uuid) -> Result<NotificationRecord, StoreError> {
    let MessageRow { id, channel, recipient, status, reason } = MessageRow::read(row)?;
    let channel: Channel = channel.parse().map_err(|e| corrupt(MESSAGE, e))?;
    Ok(NotificationRecord {
        id,
        request_id,
        channel,
        recipient,
        status: delivery_status(&status)?,
        reason: reason.map(Reason::new),
    })
}

fn status(row: &Row) -> Result<RequestStatus, StoreError> {
    row.text("status")?.parse().map_err(|e| corrupt(REQUEST, e))
}

fn delivery_status(status: &str) -> Result<DeliveryStatus, StoreError> {
    status.parse().map_err(|e| corrupt(MESSAGE, e))
}

/// The beginning of a text that a column of `max` bytes holds.
fn cut(text: &str, max: usize) -> &str {
    let end = (0..=max.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or_default()]
}

row! {
    struct StatusRow of "notifications/message_status" { id: Uuid, status: String }
}

row! {
    /// How many messages of a request have a status.
    struct CountRow of "notifications/message_count" { status: String, messages: u64 }
}

row! {
    struct MessageRow of "notifications/message_page" {
        id: Uuid,
        channel: String,
        recipient: String,
        status: String,
        reason: Option<String>,
    }
}
