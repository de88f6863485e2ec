use std::{collections::HashMap, sync::Arc};

use claimstream_domain::{
    Enqueued,
    notification::{DeliveryStatus, NotificationRequest, Progress, RequestStatus, request_message},
};
use claimstream_ports::{
    StoreError,
    notification::{Cancelled, RequestRead},
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
        unit::{Row, rows, run},
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
    /// How many requests one statement reads.
    const IDS: usize = 500;

    /// Takes requests in, in a transaction.
    ///
    /// They are written by id: two callers with the same ones in opposite orders would each hold what the other waits for.
    pub(crate) async fn submit(
        &self,
        on: &impl ConnectionTrait,
        requests: &[NotificationRequest],
    ) -> Result<Vec<Enqueued>, StoreError> {
        let mut places: Vec<usize> = (0..requests.len()).collect();
        places.sort_by_key(|place| requests[*place].id);
        let sorted: Vec<&NotificationRequest> = places.iter().map(|place| &requests[*place]).collect();
        let mut answers = vec![Enqueued::Duplicate; requests.len()];
        for (place, new) in places.into_iter().zip(self.submit_sorted(on, &sorted).await?) {
            answers[place] = answer(new);
        }
        Ok(answers)
    }

    /// Whether each request is new.
    async fn submit_sorted(
        &self,
        on: &impl ConnectionTrait,
        requests: &[&NotificationRequest],
    ) -> Result<Vec<bool>, StoreError> {
        let messages = requests.iter().copied().map(request_message).collect::<Result<Vec<_>, _>>();
        let messages = messages.map_err(|e| corrupt(SUBMIT, e))?;
        let rows = requests.iter().copied().map(request_row).collect::<Result<Vec<_>, _>>()?;
        self.db.limits.packet.check(SUBMIT, self.db.sql.notifications.request_insert.row_bytes(&rows))?;
        let ids: Vec<Uuid> = requests.iter().map(|request| request.id).collect();
        let (insert, lookup) =
            (&self.db.sql.notifications.request_insert, &self.db.sql.notifications.request_known);
        let new = self.db.insert_new(on, SUBMIT, insert, lookup, &ids, &rows).await?;
        let fresh: Vec<_> = messages.into_iter().zip(&new).filter_map(|(m, new)| new.then_some(m)).collect();
        self.enqueueing.enqueue(on, &fresh).await?;
        Ok(new)
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

    /// Reads requests, as far as they are there.
    pub(crate) async fn read(&self, ids: &[Uuid]) -> Result<Vec<Option<RequestRead>>, StoreError> {
        let (db, mut found) = (&self.db, HashMap::new());
        for ids in ids.chunks(Self::IDS) {
            let args = db.args().with_list("ids", ids.iter().copied().map(bytes));
            let read = || rows(db.callers(), REQUEST, db.sql.notifications.request_read.bind(&args));
            for row in db.restarting_beside(REQUEST, read).await? {
                found.insert(row.uuid("id")?, request(&row)?);
            }
        }
        Ok(ids.iter().map(|id| found.get(id).cloned()).collect())
    }

    /// Calls a request off, unless somebody works on it already.
    pub(crate) async fn cancel(&self, id: Uuid) -> Result<Cancelled, StoreError> {
        let args = self.db.args().with("id", bytes(id));
        if self.write(&self.db.sql.notifications.request_cancel, &args).await? > 0 {
            return Ok(Cancelled::Yes);
        }
        match self.status(&args).await? {
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
        let Some(row) = self.status(&args).await? else { return Ok(None) };
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

    async fn status(&self, args: &Args) -> Result<Option<Row>, StoreError> {
        let db = &self.db;
        let read = || rows(db.callers(), REQUEST, db.sql.notifications.request_status.bind(args));
        Ok(db.restarting_beside(REQUEST, read).await?.into_iter().next())
    }
}

fn request_row(request: &NotificationRequest) -> Result<Args, StoreError> {
    let json = serde_json::to_vec(request).map_err(|e| corrupt(SUBMIT, e))?;
    Ok(Args::new().with("id", bytes(request.id)).with("request", json))
}

fn request(row: &Row) -> Result<RequestRead, StoreError> {
    let request = serde_json::from_slice(&row.bytes("request")?).map_err(|e| corrupt(REQUEST, e))?;
    Ok(RequestRead { request, status: status(row)? })
}

fn status(row: &Row) -> Result<RequestStatus, StoreError> {
    request_status(&row.text("status")?)
}

pub(super) fn request_status(status: &str) -> Result<RequestStatus, StoreError> {
    status.parse().map_err(|e| corrupt(REQUEST, e))
}

row! {
    /// How many messages of a request have a status.
    struct CountRow of "notifications/message_count" { status: String, messages: u64 }
}

#[cfg(test)]
mod tests {
    use claimstream_domain::notification::DeliveryStatus;

    use super::*;

    #[test]
    fn the_tables_know_every_status() {
        const TABLES: &str = include_str!("../sql/schema/schema_1.mysql.sql");
        let of_requests: Vec<_> = RequestStatus::ALL.iter().map(|status| status.name()).collect();
        let of_messages: Vec<_> = DeliveryStatus::ALL.iter().map(|status| status.name()).collect();
        for names in [of_requests, of_messages] {
            let column = format!("ENUM('{}') NOT NULL", names.join("', '"));
            assert!(TABLES.contains(&column), "no column {column}");
        }
    }
}
