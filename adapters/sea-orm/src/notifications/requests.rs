use std::sync::Arc;

use claimstream_domain::{
    Enqueued, Reason,
    notification::{DeliveryStatus, NotificationRequest, Progress, RequestStatus, request_message},
};
use claimstream_ports::{
    StoreError,
    notification::{Cancelled, OpenedRequest},
};
use sea_orm::ConnectionTrait;
use uuid::Uuid;

use crate::{
    database::{
        Database,
        args::{Args, bytes},
        classify::corrupt,
        sql::Sql,
        typed_row::row,
        unit::{Row, maybe, rows, run},
    },
    enqueue::rows::{Enqueueing, answer},
    notifications::records::delivery_status,
};

const SUBMIT: &str = "submit";
const REQUEST: &str = "request";

/// Requests for notifications, and what became of them.
pub(crate) struct Requests {
    pub(crate) db: Arc<Database>,
    pub(crate) enqueueing: Arc<Enqueueing>,
}

impl Requests {
    /// Takes requests in, in a transaction.
    pub(crate) async fn submit(
        &self,
        on: &impl ConnectionTrait,
        requests: &[NotificationRequest],
    ) -> Result<Vec<Enqueued>, StoreError> {
        let messages = requests.iter().map(request_message).collect::<Result<Vec<_>, _>>();
        let messages = messages.map_err(|e| corrupt(SUBMIT, e))?;
        let rows = requests.iter().map(request_row).collect::<Result<Vec<_>, _>>()?;
        self.db.limits.packet.check(SUBMIT, self.db.sql.notifications.request_insert.row_bytes(&rows))?;
        let ids: Vec<Uuid> = requests.iter().map(|request| request.id).collect();
        let (insert, lookup) =
            (&self.db.sql.notifications.request_insert, &self.db.sql.notifications.request_known);
        let new = self.db.insert_new(on, SUBMIT, insert, lookup, &ids, &rows).await?;
        let fresh: Vec<_> = messages.into_iter().zip(&new).filter_map(|(m, new)| new.then_some(m)).collect();
        self.enqueueing.enqueue(on, &fresh).await?;
        Ok(new.into_iter().map(answer).collect())
    }

    /// Takes requests in, in a transaction of the outbox's own.
    pub(crate) async fn submit_now(
        &self,
        requests: &[NotificationRequest],
    ) -> Result<Vec<Enqueued>, StoreError> {
        self.db
            .restarting_beside(SUBMIT, || async {
                let transaction = self.db.begin_beside(SUBMIT).await?;
                let taken = self.submit(&transaction, requests).await?;
                self.db.commit(SUBMIT, transaction).await?;
                Ok(taken)
            })
            .await
    }

    /// Notes that somebody works on a request, and reads it.
    pub(crate) async fn open(&self, id: Uuid) -> Result<Option<OpenedRequest>, StoreError> {
        let (db, args) = (&self.db, self.db.args().with("id", bytes(id)));
        db.restarting_beside(REQUEST, || {
            run(db.callers(), REQUEST, db.sql.notifications.request_open.bind(&args))
        })
        .await?;
        self.read(&args).await?.as_ref().map(opened).transpose()
    }

    /// Notes how a request has ended.
    pub(crate) async fn close(&self, id: Uuid, failure: Option<Reason>) -> Result<(), StoreError> {
        let status = if failure.is_some() { RequestStatus::Failed } else { RequestStatus::Dispatched };
        let args = self
            .db
            .args()
            .with("id", bytes(id))
            .with("status", status.name())
            .with("reason", maybe(failure.as_ref().map(Reason::as_str)));
        self.write(&self.db.sql.notifications.request_close, &args).await.map(|_| ())
    }

    /// Lets a request that has failed be worked on again.
    pub(crate) async fn reopen(&self, id: Uuid) -> Result<(), StoreError> {
        let args = self.db.args().with("id", bytes(id));
        self.write(&self.db.sql.notifications.request_reopen, &args).await.map(|_| ())
    }

    /// Calls a request off, unless somebody works on it already.
    pub(crate) async fn cancel(&self, id: Uuid) -> Result<Cancelled, StoreError> {
        let args = self.db.args().with("id", bytes(id));
        if self.write(&self.db.sql.notifications.request_cancel, &args).await? > 0 {
            return Ok(Cancelled::Yes);
        }
        match self.read(&args).await? {
            Some(row) => match status(&row)? {
                RequestStatus::Cancelled => Ok(Cancelled::Yes),
                status => Ok(Cancelled::TooLate(status)),
            },
            None => Ok(Cancelled::Unknown),
        }
    }

    /// How far the messages of a request have come.
    pub(crate) async fn progress(&self, id: Uuid) -> Result<Option<Progress>, StoreError> {
        let args = self.db.args().with("id", bytes(id));
        let Some(row) = self.read(&args).await? else { return Ok(None) };
        let (recorded, reason) = (status(&row)?, row.maybe_text("reason")?);
        let mut progress = Progress { recorded, reason, pending: 0, delivered: 0, skipped: 0, failed: 0 };
        for row in self
            .db
            .restarting_beside(REQUEST, || {
                rows(self.db.callers(), REQUEST, self.db.sql.notifications.message_count.bind(&args))
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

    async fn write(&self, sql: &Sql, args: &Args) -> Result<u64, StoreError> {
        let db = &self.db;
        db.restarting_beside(REQUEST, || run(db.callers(), REQUEST, sql.bind(args))).await
    }

    async fn read(&self, args: &Args) -> Result<Option<Row>, StoreError> {
        let db = &self.db;
        let read = || rows(db.callers(), REQUEST, db.sql.notifications.request_read.bind(args));
        Ok(db.restarting_beside(REQUEST, read).await?.into_iter().next())
    }
}

fn request_row(request: &NotificationRequest) -> Result<Args, StoreError> {
    let json = serde_json::to_vec(request).map_err(|e| corrupt(SUBMIT, e))?;
    Ok(Args::new().with("id", bytes(request.id)).with("request", json))
}

fn opened(row: &Row) -> Result<OpenedRequest, StoreError> {
    let request = serde_json::from_slice(&row.bytes("request")?).map_err(|e| corrupt(REQUEST, e))?;
    Ok(OpenedRequest { request, status: status(row)? })
}

fn status(row: &Row) -> Result<RequestStatus, StoreError> {
    row.text("status")?.parse().map_err(|e| corrupt(REQUEST, e))
}

row! {
    /// How many messages of a request have a status.
    struct CountRow of "notifications/message_count" { status: String, messages: u64 }
}
