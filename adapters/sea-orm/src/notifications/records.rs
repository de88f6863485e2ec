use std::{collections::HashMap, sync::Arc};

use claimstream_domain::{
    Reason,
    notification::{Channel, DeliveryStatus, ERASED, NotificationRecord},
};
use claimstream_ports::{
    StoreError,
    notification::{DeliveryState, MessageOutcome},
};
use sea_orm::{ConnectionTrait, Statement, Value};
use uuid::Uuid;

use super::{
    attempts,
    statuses::{delivery_status, request_status},
};
use crate::database::{
    Database,
    args::{Args, bytes},
    classify::corrupt,
    coalescer::WriteCoalescer,
    dialect::Dialect,
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
    /// How many messages one statement names.
    const IDS: usize = 500;
    /// How many outcomes one statement takes that differ: the server looks each row up among all of them.
    const APART: usize = 256;

    pub(crate) fn of(db: Arc<Database>) -> Self {
        Self { db, outcomes: Arc::default() }
    }

    /// Keeps records in a transaction, and answers those that were kept before, with how far the delivery of each has come.
    pub(crate) async fn keep(
        &self,
        on: &impl ConnectionTrait,
        mut records: Vec<&NotificationRecord>,
    ) -> Result<HashMap<Uuid, DeliveryStatus>, StoreError> {
        records.sort_unstable_by_key(|record| record.id);
        let rows: Vec<Args> = records.iter().copied().map(record_row).collect();
        let ids: Vec<Uuid> = records.iter().map(|record| record.id).collect();
        let (insert, lookup) =
            (&self.db.sql.notifications.message_record, &self.db.sql.notifications.message_status);
        let new = self.db.insert_new(on, MESSAGE, insert, lookup, &ids, &rows).await?;
        let known: Vec<Uuid> =
            ids.into_iter().zip(new).filter_map(|(id, new)| (!new).then_some(id)).collect();
        let mut stand = HashMap::new();
        for ids in known.chunks(Self::IDS) {
            self.statuses(on, ids, &mut stand).await?;
        }
        match known.iter().all(|id| stand.contains_key(id)) {
            true => Ok(stand),
            false => Err(corrupt(MESSAGE, "a record that is kept cannot be read")),
        }
    }

    /// How far the delivery of each message has come, as far as it is recorded.
    pub(crate) async fn delivery_statuses(
        &self,
        ids: &[Uuid],
    ) -> Result<Vec<Option<DeliveryStatus>>, StoreError> {
        let mut known = HashMap::new();
        for ids in ids.chunks(Self::IDS) {
            known.extend(
                self.db
                    .restarting_beside(MESSAGE, || async {
                        let mut known = HashMap::new();
                        self.statuses(self.db.callers(), ids, &mut known).await?;
                        Ok(known)
                    })
                    .await?,
            );
        }
        Ok(ids.iter().map(|id| known.get(id).copied()).collect())
    }

    async fn statuses(
        &self,
        on: &impl ConnectionTrait,
        ids: &[Uuid],
        known: &mut HashMap<Uuid, DeliveryStatus>,
    ) -> Result<(), StoreError> {
        let args = self.db.args().with_list("ids", ids.iter().copied().map(bytes));
        for row in rows(on, MESSAGE, self.db.sql.notifications.message_status.bind(&args)).await? {
            let StatusRow { id, status } = StatusRow::read(&row)?;
            known.insert(id, delivery_status(&status)?);
        }
        Ok(())
    }

    /// Where messages stand and which providers may have them, by one statement for all.
    pub(crate) async fn delivery_states(&self, ids: &[Uuid]) -> Result<Vec<DeliveryState>, StoreError> {
        let mut known = HashMap::<Uuid, DeliveryState>::new();
        for ids in ids.chunks(Self::IDS) {
            let args = self.db.args().with_list("ids", ids.iter().copied().map(bytes));
            let read =
                || rows(self.db.callers(), MESSAGE, self.db.sql.notifications.message_state.bind(&args));
            for row in self.db.restarting_beside(MESSAGE, read).await? {
                let StateRow { id, status, provider } = StateRow::read(&row)?;
                let state = known.entry(id).or_default();
                if let Some(status) = status {
                    state.status = Some(delivery_status(&status)?);
                }
                let provider = provider.as_deref().map(attempts::name).transpose()?;
                state.in_doubt.extend(provider.filter(|name| !state.in_doubt.contains(name)));
            }
        }
        Ok(ids.iter().map(|id| known.get(id).cloned().unwrap_or_default()).collect())
    }

    /// Notes outcomes, together with those of other calls.
    pub(crate) async fn conclude(self: &Arc<Self>, outcomes: Vec<MessageOutcome>) -> Result<(), StoreError> {
        let records = Arc::clone(self);
        let write = move |outcomes: Vec<MessageOutcome>| {
            let records = Arc::clone(&records);
            async move { records.write_outcomes(&outcomes).await }
        };
        self.db.coalesced(MESSAGE, &self.outcomes, outcomes, write).await
    }

    /// Writes outcomes, those that read alike by one statement, and those that read like few others together by another.
    ///
    /// Each statement commits itself: what was written is left as it is if the call is repeated, and no lock is held while
    /// another one is waited for.
    async fn write_outcomes(&self, outcomes: &[MessageOutcome]) -> Result<(), StoreError> {
        let sql = &self.db.sql.notifications;
        let (alike, apart) = by_likeness(outcomes);
        let mut statements = Vec::new();
        for (ids, outcome) in alike {
            let args = self.db.args().with_list("ids", ids.into_iter().map(bytes)).with("erased", ERASED);
            let args = written(outcome).into_iter().fold(args, |args, (name, value)| args.with(name, value));
            statements.push(sql.message_conclude.bind(&args));
        }
        for part in apart.chunks(Self::APART) {
            statements.push(self.concluding_each(part));
        }
        for statement in statements {
            let write = || run(self.db.callers(), MESSAGE, statement.clone());
            self.db.restarting_beside(MESSAGE, write).await?;
        }
        Ok(())
    }

    /// One statement for outcomes that differ.
    fn concluding_each(&self, outcomes: &[&MessageOutcome]) -> Statement {
        let sql = &self.db.sql.notifications.message_conclude_each;
        let value = |outcome: &MessageOutcome, n: usize| written(outcome)[n].1.clone();
        let all = |n: usize| outcomes.iter().map(move |outcome| value(outcome, n));
        match self.db.dialect {
            Dialect::MySql => sql.bind(
                &self
                    .db
                    .args()
                    .with("erased", ERASED)
                    .with_list("ids", outcomes.iter().map(|outcome| bytes(outcome.id)))
                    .with_list("statuses", all(0))
                    .with_list("reasons", all(1))
                    .with_list("references", all(2)),
            ),
            Dialect::Sqlite => {
                let row = |outcome: &&MessageOutcome| {
                    let args = Args::new().with("id", bytes(outcome.id));
                    written(outcome).into_iter().fold(args, |args, (name, value)| args.with(name, value))
                };
                sql.bind_rows(
                    &self.db.args().with("erased", ERASED),
                    &outcomes.iter().map(row).collect::<Vec<_>>(),
                )
            }
        }
    }

    /// Moves a message on that has failed and was revived, and answers where it stands then.
    pub(crate) async fn reopen(&self, id: Uuid) -> Result<Option<DeliveryStatus>, StoreError> {
        self.db.restarting_beside(MESSAGE, || self.reopen_locked(id)).await
    }

    /// One transaction that locks the request, so that a cancellation comes before or finds the message.
    async fn reopen_locked(&self, id: Uuid) -> Result<Option<DeliveryStatus>, StoreError> {
        let (sql, args) = (&self.db.sql.notifications, self.db.args().with("id", bytes(id)));
        let transaction = self.db.begin_beside(MESSAGE).await?;
        let request = rows(&transaction, MESSAGE, sql.request_of_message.bind(&args)).await?;
        let request = request.first().map(|row| request_status(&row.text("status")?)).transpose()?;
        let (status, reason) = DeliveryStatus::revived(request);
        let moved = args.with("status", status.name());
        let moved = moved.with("reason", maybe(reason.as_ref().map(Reason::as_str)));
        run(&transaction, MESSAGE, sql.message_reopen.bind(&moved)).await?;
        let mut known = HashMap::new();
        self.statuses(&transaction, &[id], &mut known).await?;
        self.db.commit(MESSAGE, transaction).await?;
        Ok(known.remove(&id))
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

    /// The record of one message.
    pub(crate) async fn one(&self, message: Uuid) -> Result<Option<NotificationRecord>, StoreError> {
        let (db, args) = (&self.db, self.db.args().with("id", bytes(message)));
        let read = || rows(db.callers(), MESSAGE, db.sql.notifications.message_read.bind(&args));
        let found = db.restarting_beside(MESSAGE, read).await?;
        found.first().map(|row| record(row, row.uuid("request_id")?)).transpose()
    }
}

/// Outcomes with the ids of those that read the same, sorted, and those that read like few others, sorted by id. Of two of one
/// message the one counts that overrides the other, otherwise the first.
fn by_likeness(outcomes: &[MessageOutcome]) -> (Vec<(Vec<Uuid>, &MessageOutcome)>, Vec<&MessageOutcome>) {
    /// So many that a statement of their own is worth its while.
    const ALIKE: usize = 16;
    let (mut ends, mut groups) =
        (HashMap::<_, &MessageOutcome>::new(), HashMap::<_, Vec<&MessageOutcome>>::new());
    for outcome in outcomes {
        let end = ends.entry(outcome.id).or_insert(outcome);
        if end.status.after(outcome.status).is_some() {
            *end = outcome;
        }
    }
    for outcome in ends.into_values() {
        let reason = outcome.reason.as_ref().map(Reason::as_str);
        groups.entry((outcome.status, reason, outcome.reference.as_deref())).or_default().push(outcome);
    }
    let (mut alike, mut apart) = (Vec::new(), Vec::new());
    for mut group in groups.into_values() {
        if group.len() < ALIKE {
            apart.extend(group);
            continue;
        }
        group.sort_unstable_by_key(|outcome| outcome.id);
        for part in group.chunks(Records::IDS) {
            alike.push((part.iter().map(|outcome| outcome.id).collect(), part[0]));
        }
    }
    apart.sort_unstable_by_key(|outcome| outcome.id);
    (alike, apart)
}

/// What is written of an outcome, by the names of the arguments.
fn written(outcome: &MessageOutcome) -> [(&'static str, Value); 3] {
    [
        ("status", outcome.status.name().into()),
        ("reason", maybe(outcome.reason.as_ref().map(Reason::as_str))),
        ("reference", maybe(outcome.reference.as_deref().map(|text| cut(text, 255)))),
    ]
}

fn record_row(record: &NotificationRecord) -> Args {
    Args::new()
        .with("id", bytes(record.id))
        .with("request_id", bytes(record.request_id))
        .with("channel", record.channel.name())
        .with("recipient", cut_recipient(&record.recipient))
        .with("status", record.status.name())
        .with("reason", maybe(record.reason.as_ref().map(Reason::as_str)))
}

fn record(row: &Row, request_id: Uuid) -> Result<NotificationRecord, StoreError> {
    let MessageRow { id, channel, recipient, status, reason, reference } = MessageRow::read(row)?;
    let channel: Channel = channel.parse().map_err(|e| corrupt(MESSAGE, e))?;
    Ok(NotificationRecord {
        id,
        request_id,
        channel,
        recipient,
        status: delivery_status(&status)?,
        reason: reason.map(Reason::new),
        reference,
    })
}

/// A recipient's key as a record keeps it.
pub(super) fn cut_recipient(key: &str) -> &str {
    cut(key, 2048)
}

/// The beginning of a text that a column of `max` bytes holds.
fn cut(text: &str, max: usize) -> &str {
    let end = (0..=max.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or_default()]
}

row! {
    struct StateRow of "notifications/message_state" { id: Uuid, status: Option<String>, provider: Option<String> }
}

row! {
    struct StatusRow of "notifications/message_status" { id: Uuid, status: String }
}

row! {
    struct MessageRow of "notifications/message_page", "notifications/message_read" {
        id: Uuid,
        channel: String,
        recipient: String,
        status: String,
        reason: Option<String>,
        reference: Option<String>,
    }
}
