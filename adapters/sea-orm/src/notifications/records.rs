use std::sync::Arc;

use claimstream_domain::{
    Reason,
    notification::{Channel, DeliveryStatus, NotificationRecord},
};
use claimstream_ports::{StoreError, notification::MessageOutcome};
use uuid::Uuid;

use crate::database::{
    Database,
    args::{Args, bytes},
    classify::corrupt,
    coalescer::WriteCoalescer,
    typed_row::row,
    unit::{Row, maybe, rows, run},
};

const MESSAGE: &str = "notification message";

/// Records of the messages of requests.
pub(crate) struct Records {
    pub(crate) db: Arc<Database>,
    /// Outcomes that are written together.
    outcomes: Arc<WriteCoalescer<MessageOutcome>>,
}

impl Records {
    pub(crate) fn of(db: Arc<Database>) -> Self {
        Self { db, outcomes: Arc::default() }
    }

    /// Keeps records, and says how far the delivery of each has come.
    pub(crate) async fn record(
        &self,
        records: &[NotificationRecord],
    ) -> Result<Vec<DeliveryStatus>, StoreError> {
        self.db.restarting_beside(MESSAGE, || self.insert_records(records)).await?;
        let ids: Vec<Uuid> = records.iter().map(|record| record.id).collect();
        let known = self.delivery_statuses(&ids).await?;
        let gone = || corrupt(MESSAGE, "a record that was just kept is gone");
        known.into_iter().map(|status| status.ok_or_else(gone)).collect()
    }

    async fn insert_records(&self, records: &[NotificationRecord]) -> Result<(), StoreError> {
        let rows: Vec<Args> = records.iter().map(record_row).collect();
        let transaction = self.db.begin_beside(MESSAGE).await?;
        for statement in self.db.inserts(&self.db.sql.notifications.message_record, &rows) {
            run(&transaction, MESSAGE, statement).await?;
        }
        self.db.commit(MESSAGE, transaction).await
    }

    /// How far the delivery of each message has come, as far as it is recorded.
    pub(crate) async fn delivery_statuses(
        &self,
        ids: &[Uuid],
    ) -> Result<Vec<Option<DeliveryStatus>>, StoreError> {
        let mut known = std::collections::HashMap::new();
        for ids in ids.chunks(512) {
            let args = self.db.args().with_list("ids", ids.iter().copied().map(bytes));
            let found = self
                .db
                .restarting_beside(MESSAGE, || {
                    rows(self.db.callers(), MESSAGE, self.db.sql.notifications.message_status.bind(&args))
                })
                .await?;
            for row in &found {
                let StatusRow { id, status } = StatusRow::read(row)?;
                known.insert(id, delivery_status(&status)?);
            }
        }
        Ok(ids.iter().map(|id| known.get(id).copied()).collect())
    }

    /// Notes outcomes, together with those of other calls.
    pub(crate) async fn conclude(self: &Arc<Self>, outcomes: Vec<MessageOutcome>) -> Result<(), StoreError> {
        let records = Arc::clone(self);
        let write = move |outcomes: Vec<MessageOutcome>| {
            let records = Arc::clone(&records);
            async move { records.db.restarting_beside(MESSAGE, || records.write_outcomes(&outcomes)).await }
        };
        self.db.coalesced(MESSAGE, &self.outcomes, outcomes, write).await
    }

    /// Outcomes that read alike are written by one statement.
    async fn write_outcomes(&self, outcomes: &[MessageOutcome]) -> Result<(), StoreError> {
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
        let transaction = self.db.begin_beside(MESSAGE).await?;
        for (outcome, ids) in groups {
            let args = self
                .db
                .args()
                .with("status", outcome.status.name())
                .with("reason", maybe(outcome.reason.as_ref().map(Reason::as_str)))
                .with("reference", maybe(outcome.reference.as_deref().map(|text| cut(text, 255))))
                .with_list("ids", ids.into_iter().map(bytes));
            run(&transaction, MESSAGE, self.db.sql.notifications.message_conclude.bind(&args)).await?;
        }
        self.db.commit(MESSAGE, transaction).await
    }

    /// Lets a message that has failed be delivered again.
    pub(crate) async fn reopen(&self, id: Uuid) -> Result<(), StoreError> {
        let (db, args) = (&self.db, self.db.args().with("id", bytes(id)));
        let reopen = || run(db.callers(), MESSAGE, db.sql.notifications.message_reopen.bind(&args));
        db.restarting_beside(MESSAGE, reopen).await.map(|_| ())
    }

    /// The messages of a request that follow `after`, at most so many.
    pub(crate) async fn messages(
        &self,
        id: Uuid,
        after: Option<Uuid>,
        limit: u32,
    ) -> Result<Vec<NotificationRecord>, StoreError> {
        let db = &self.db;
        let args = db.args().with("id", bytes(id)).with("after", bytes(after.unwrap_or(Uuid::nil())));
        let args = args.with("limit", i64::from(limit));
        let page = || rows(db.callers(), MESSAGE, db.sql.notifications.message_page.bind(&args));
        db.restarting_beside(MESSAGE, page).await?.iter().map(|row| record(row, id)).collect()
    }
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

pub(super) fn delivery_status(status: &str) -> Result<DeliveryStatus, StoreError> {
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
    struct MessageRow of "notifications/message_page" {
        id: Uuid,
        channel: String,
        recipient: String,
        status: String,
        reason: Option<String>,
    }
}
