use std::{collections::HashMap, sync::Arc};

use claimstream_domain::{
    Enqueued, Fingerprint,
    notification::{NotificationRequest, Progress, RequestStatus, Submitted, request_message},
};
use claimstream_ports::{
    StoreError, StoreErrorKind,
    notification::{BeingTakenIn, RequestRead, UnreadableRequest},
};
use sea_orm::ConnectionTrait;
use uuid::Uuid;

use crate::{
    database::{
        Database,
        args::{Args, bytes},
        classify::{corrupt, is_row_locked_by_another},
        typed_row::row,
        unit::{Row, rows},
    },
    enqueue::rows::Enqueueing,
    notifications::{
        receipts::receipt_kind,
        statuses::{delivery_status, request_status},
    },
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
    ) -> Result<Vec<Submitted>, StoreError> {
        let mut places: Vec<usize> = (0..requests.len()).collect();
        places.sort_by_key(|place| requests[*place].id);
        let sorted: Vec<&NotificationRequest> = places.iter().map(|place| &requests[*place]).collect();
        let mut answers = vec![Submitted::New; requests.len()];
        for (place, answer) in places.into_iter().zip(self.submit_sorted(on, &sorted).await?) {
            answers[place] = answer;
        }
        Ok(answers)
    }

    async fn submit_sorted(
        &self,
        on: &impl ConnectionTrait,
        requests: &[&NotificationRequest],
    ) -> Result<Vec<Submitted>, StoreError> {
        let messages = requests.iter().copied().map(request_message).collect::<Result<Vec<_>, _>>();
        let messages = messages.map_err(|e| corrupt(SUBMIT, e))?;
        let rows = requests.iter().copied().map(request_row).collect::<Result<Vec<_>, _>>()?;
        self.db.limits.packet.check(SUBMIT, self.db.sql.notifications.request_insert.row_bytes(&rows))?;
        let ids: Vec<Uuid> = requests.iter().map(|request| request.id).collect();
        let (insert, lookup) =
            (&self.db.sql.notifications.request_insert, &self.db.sql.notifications.request_known);
        let new = self.db.insert_new(on, SUBMIT, insert, lookup, &ids, &rows).await?;
        let fresh: Vec<_> = messages.into_iter().zip(&new).filter_map(|(m, new)| new.then_some(m)).collect();
        if self.enqueueing.enqueue(on, &fresh).await?.contains(&Enqueued::Duplicate) {
            // Taken in without a message that begins its fan-out, it would stay pending for ever.
            let why = "a message is kept under the id of one of these requests, which may have been delivered; look before you give it another id";
            return Err(StoreError::new(StoreErrorKind::Conflict, SUBMIT, why));
        }
        let again: Vec<Uuid> = ids.iter().zip(&new).filter_map(|(id, new)| (!new).then_some(*id)).collect();
        let taken = self.taken(on, &again).await?;
        let answer = |(request, new): (&&NotificationRequest, bool)| match (new, taken.get(&request.id)) {
            (true, _) => Ok(Submitted::New),
            (false, Some(known)) => Ok(Submitted::again(request.fingerprint(), *known)),
            (false, None) => Err(unreadable("it is not there")),
        };
        requests.iter().zip(new).map(answer).collect()
    }

    /// The fingerprints of requests as they were taken in.
    async fn taken(
        &self,
        on: &impl ConnectionTrait,
        ids: &[Uuid],
    ) -> Result<HashMap<Uuid, Fingerprint>, StoreError> {
        let mut taken = HashMap::new();
        for ids in ids.chunks(Self::IDS) {
            let args = self.db.args().with_list("ids", ids.iter().copied().map(bytes));
            for row in rows(on, SUBMIT, self.db.sql.notifications.request_taken.bind(&args)).await? {
                let TakenRow { id, request, fingerprint } = TakenRow::read(&row)?;
                taken.insert(id, known_fingerprint(&request, fingerprint.as_deref())?);
            }
        }
        Ok(taken)
    }

    /// Takes requests in, in a transaction of the outbox's own. One that waited for another transaction in vain is not repeated.
    pub(crate) async fn submit_now(
        &self,
        requests: &[NotificationRequest],
    ) -> Result<Vec<Submitted>, StoreError> {
        let submit = || async {
            let transaction = self.db.begin_beside(SUBMIT).await?;
            let taken = match self.submit(&transaction, requests).await {
                Err(waited) if is_row_locked_by_another(&waited) => return Ok(Err(waited)),
                taken => taken?,
            };
            self.db.commit(SUBMIT, transaction).await?;
            Ok(Ok(taken))
        };
        self.db.restarting_beside(SUBMIT, submit).await.flatten().map_err(being_taken_in)
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

    /// How far the messages of a request have come.
    pub(crate) async fn progress(&self, id: Uuid) -> Result<Option<Progress>, StoreError> {
        let args = self.db.args().with("id", bytes(id));
        let Some(row) = self.status(&args).await? else { return Ok(None) };
        let (recorded, reason) = (status(&row)?, row.maybe_text("reason")?);
        let mut progress = Progress::of(recorded, reason);
        for row in self
            .db
            .restarting_beside(REQUEST, || {
                rows(self.db.callers(), REQUEST, self.db.sql.notifications.request_counts.bind(&args))
            })
            .await?
        {
            match CountRow::read(&row)? {
                CountRow { status: Some(status), messages, .. } => {
                    progress.count(delivery_status(&status)?, messages);
                }
                CountRow { kind: Some(kind), messages, .. } => {
                    progress.receipts.count(receipt_kind(&kind)?, messages);
                }
                CountRow { messages, .. } => {
                    return Err(corrupt(REQUEST, format!("{messages} messages of no status")));
                }
            }
        }
        Ok(Some(progress))
    }

    async fn status(&self, args: &Args) -> Result<Option<Row>, StoreError> {
        let db = &self.db;
        let read = || rows(db.callers(), REQUEST, db.sql.notifications.request_status.bind(args));
        Ok(db.restarting_beside(REQUEST, read).await?.into_iter().next())
    }
}

/// The fingerprint of a request: the one that was kept when it was erased, or that of the request.
fn known_fingerprint(request: &[u8], kept: Option<&[u8]>) -> Result<Fingerprint, StoreError> {
    if let Some(kept) = kept {
        return Fingerprint::from_slice(kept).map_err(|e| unreadable(&e));
    }
    let request: NotificationRequest = serde_json::from_slice(request).map_err(|e| unreadable(&e))?;
    Ok(request.fingerprint())
}

fn unreadable(why: impl ToString) -> StoreError {
    corrupt(SUBMIT, UnreadableRequest(why.to_string()))
}

/// Says of an error that another transaction had a request of a submission, if it had. The one lock of an SQLite file may
/// have been taken for something else.
pub(crate) fn being_taken_in(error: StoreError) -> StoreError {
    match is_row_locked_by_another(&error) {
        true => StoreError::new(StoreErrorKind::Transient, SUBMIT, BeingTakenIn(error.get_ref().to_string())),
        false => error,
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

row! {
    struct TakenRow of "notifications/request_taken" { id: Uuid, request: Vec<u8>, fingerprint: Option<Vec<u8>> }
}

row! {
    /// How many messages of a request have a status, or a kind of receipt.
    struct CountRow of "notifications/request_counts" { status: Option<String>, kind: Option<String>, messages: u64 }
}

#[cfg(test)]
mod tests {
    use claimstream_domain::notification::DeliveryStatus;

    use super::*;

    #[test]
    fn the_tables_know_every_status() {
        const TABLES: &str = include_str!("../sql/tables/notifications_1.mysql.sql");
        let recorded = RequestStatus::ALL.iter().filter(|status| **status != RequestStatus::Undeliverable);
        let of_requests: Vec<_> = recorded.map(|status| status.name()).collect();
        let of_messages: Vec<_> = DeliveryStatus::ALL.iter().map(|status| status.name()).collect();
        for names in [of_requests, of_messages] {
            let column = format!("ENUM('{}') NOT NULL", names.join("', '"));
            assert!(TABLES.contains(&column), "no column {column}");
        }
    }
}
