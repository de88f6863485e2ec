use std::ops::Range;

use async_trait::async_trait;
use claimstream_domain::{DedupKey, Due, Enqueued, MessageId, NewMessage, QueueName};
use claimstream_ports::{Enqueue, StoreError, StoreErrorKind};
use sea_orm::{ConnectionTrait, DatabaseConnection, DatabaseTransaction, Statement, Value};
use uuid::Uuid;

use crate::{
    args::{Args, bytes},
    classify::corrupt,
    clock::micros,
    dialect::Dialect,
    outbox::SeaOrmOutbox,
    sql::Sql,
    unit::{Store, maybe, rows, run},
};

const ENQUEUE: &str = "enqueue";

/// Rows of one statement. Few lengths, so that few texts are ever prepared on connections that are not ours.
const CHUNKS: [usize; 7] = [500, 100, 50, 20, 5, 2, 1];

#[async_trait]
impl Enqueue<DatabaseTransaction> for SeaOrmOutbox {
    async fn enqueue(
        &self,
        tx: &DatabaseTransaction,
        messages: &[NewMessage],
    ) -> Result<Vec<Enqueued>, StoreError> {
        self.store.enqueue(tx, messages).await
    }
}

/// Without a transaction around it: several messages are several transactions.
#[async_trait]
impl Enqueue<DatabaseConnection> for SeaOrmOutbox {
    async fn enqueue(
        &self,
        db: &DatabaseConnection,
        messages: &[NewMessage],
    ) -> Result<Vec<Enqueued>, StoreError> {
        self.store.enqueue(db, messages).await
    }
}

impl SeaOrmOutbox {
    /// Enqueues on any connection or transaction of the caller.
    ///
    /// The connection must lead to the outbox's own database, or the messages go to another outbox.
    pub async fn enqueue_on<C: ConnectionTrait>(
        &self,
        on: &C,
        messages: &[NewMessage],
    ) -> Result<Vec<Enqueued>, StoreError> {
        let dialect = Dialect::of_backend(on.get_database_backend());
        match dialect {
            Ok(dialect) if dialect == self.store.dialect => self.store.enqueue(on, messages).await,
            Ok(dialect) => Err(StoreError::new(
                StoreErrorKind::Unsupported,
                ENQUEUE,
                format!("the outbox is a {:?} one and the connection a {dialect:?} one", self.store.dialect),
            )),
            Err(why) => Err(StoreError::new(StoreErrorKind::Unsupported, ENQUEUE, why)),
        }
    }

    /// Enqueues in a transaction of the outbox's own, for callers that have no business data to write with it.
    ///
    /// It runs to its end even if the caller is cancelled.
    pub async fn enqueue_now(&self, messages: &[NewMessage]) -> Result<Vec<Enqueued>, StoreError> {
        let (store, messages) = (self.store.clone(), messages.to_vec());
        let work = async move {
            store
                .restarting(|| async {
                    let transaction = store.begin(ENQUEUE).await?;
                    let enqueued = store.enqueue(&transaction, &messages).await?;
                    transaction.commit().await.map_err(|e| crate::classify::classify(ENQUEUE, e))?;
                    Ok(enqueued)
                })
                .await
        };
        self.store.detached(ENQUEUE, work).await
    }

    /// The statements that enqueue messages, for drivers of other kinds: run them in order, in one transaction.
    ///
    /// A dedup key that is taken makes the first statement fail with a duplicate-key error, which is the answer.
    pub fn enqueue_statements(
        &self,
        messages: &[NewMessage],
    ) -> Result<Vec<(String, Vec<Value>)>, StoreError> {
        let store = &self.store;
        store.check(messages)?;
        let unique: Vec<NewMessage> = messages.iter().filter(|m| m.dedup_key.is_some()).cloned().collect();
        let mut statements = Vec::new();
        for rows in store.dedup_rows(&unique).chunks(CHUNKS[0]) {
            statements.push(without_upsert(store.sql.enqueue_dedup.bind_rows(&store.args(), rows)));
        }
        statements.extend(store.message_statements(messages));
        Ok(statements.into_iter().map(|s| (s.sql, s.values.map(|v| v.0).unwrap_or_default())).collect())
    }
}

impl Store {
    /// What a row takes beside its payload: keys and headers.
    const ROW_MARGIN: usize = 1024;

    pub(crate) async fn enqueue(
        &self,
        on: &impl ConnectionTrait,
        messages: &[NewMessage],
    ) -> Result<Vec<Enqueued>, StoreError> {
        self.check(messages)?;
        let mut enqueued = self.reserve(on, messages).await?;
        let mut claimable = Vec::new();
        for part in self.parts_that_fit(messages) {
            let fresh: Vec<usize> = part.filter(|n| enqueued[*n] == Enqueued::New).collect();
            let rows: Vec<(Uuid, Args)> =
                fresh.iter().map(|n| (messages[*n].id.uuid(), self.message_row(&messages[*n]))).collect();
            let known = self
                .insert_new(on, ENQUEUE, &self.sql.enqueue_message, &self.sql.enqueue_known, &rows)
                .await?;
            for (n, (id, row)) in fresh.into_iter().zip(rows) {
                match known.contains(&id) {
                    true => enqueued[n] = Enqueued::Duplicate,
                    false => claimable.push(row),
                }
            }
        }
        for chunk in chunks(&claimable) {
            run(on, ENQUEUE, self.sql.enqueue_queue.bind_rows(&self.args(), chunk)).await?;
        }
        Ok(enqueued)
    }

    /// Inserts rows by id; answers which of them were there before, and inserts the others.
    ///
    /// Ids are hardly ever known, so that is looked up only when the insert has met one: the insert decides, not a read
    /// before it. The failed statement leaves the caller's transaction as it was.
    pub(crate) async fn insert_new(
        &self,
        on: &impl ConnectionTrait,
        operation: &'static str,
        insert: &Sql,
        lookup: &Sql,
        rows_by_id: &[(Uuid, Args)],
    ) -> Result<Vec<Uuid>, StoreError> {
        let mut all_known = Vec::new();
        for part in chunks(rows_by_id) {
            let all: Vec<Args> = part.iter().map(|(_, row)| row.clone()).collect();
            match run(on, operation, insert.bind_rows(&self.args(), &all)).await {
                Ok(_) => continue,
                Err(error) if error.kind() != StoreErrorKind::Conflict => return Err(error),
                Err(_) => {}
            }
            let args = self.args().with_list("ids", part.iter().map(|(id, _)| bytes(*id)));
            let known = rows(on, operation, lookup.bind(&args)).await?;
            let known = known.iter().map(|row| row.uuid(0)).collect::<Result<Vec<_>, _>>()?;
            let fresh: Vec<Args> =
                part.iter().filter(|(id, _)| !known.contains(id)).map(|(_, row)| row.clone()).collect();
            for chunk in chunks(&fresh) {
                run(on, operation, insert.bind_rows(&self.args(), chunk)).await?;
            }
            all_known.extend(known);
        }
        Ok(all_known)
    }

    fn check(&self, messages: &[NewMessage]) -> Result<(), StoreError> {
        let refused = messages.iter().find_map(|message| self.limit.check(&message.payload).err());
        refused.map_or(Ok(()), |invalid| Err(corrupt(ENQUEUE, invalid)))
    }

    /// Reserves dedup keys and tells which messages own theirs; messages without a key need none.
    async fn reserve(
        &self,
        on: &impl ConnectionTrait,
        messages: &[NewMessage],
    ) -> Result<Vec<Enqueued>, StoreError> {
        let keyed: Vec<NewMessage> = messages.iter().filter(|m| m.dedup_key.is_some()).cloned().collect();
        if keyed.is_empty() {
            return Ok(vec![Enqueued::New; messages.len()]);
        }
        for chunk in chunks(&self.dedup_rows(&keyed)) {
            run(on, ENQUEUE, self.sql.enqueue_dedup.bind_rows(&self.args(), chunk)).await?;
        }
        let owners = self.owners(on, &keyed).await?;
        let owns = |message: &NewMessage| message.dedup_key.is_none() || owners.contains(&message.id);
        let answer = |message| if owns(message) { Enqueued::New } else { Enqueued::Duplicate };
        Ok(messages.iter().map(answer).collect())
    }

    /// Which messages own the dedup keys of these messages.
    async fn owners(
        &self,
        on: &impl ConnectionTrait,
        keyed: &[NewMessage],
    ) -> Result<Vec<MessageId>, StoreError> {
        let mut owners = Vec::new();
        for (queue, keys) in keys_by_queue(keyed) {
            for keys in keys.chunks(CHUNKS[0]) {
                let keys = keys.iter().map(|key| Value::from(key.as_str()));
                let args = self.args().with("queue", queue.as_str()).with_list("keys", keys);
                for row in rows(on, ENQUEUE, self.sql.enqueue_dedup_read.bind(&args)).await? {
                    owners.push(MessageId::new(row.uuid(0)?));
                }
            }
        }
        Ok(owners)
    }

    fn dedup_rows(&self, keyed: &[NewMessage]) -> Vec<Args> {
        let row = |message: &NewMessage| {
            self.args()
                .with("queue", message.queue.as_str())
                .with("dedup_key", maybe(message.dedup_key.as_ref().map(DedupKey::as_str)))
                .with("id", bytes(message.id.uuid()))
        };
        keyed.iter().map(row).collect()
    }

    /// The inserts of bodies and of queue entries, each of several rows.
    fn message_statements(&self, messages: &[NewMessage]) -> Vec<Statement> {
        let rows: Vec<Args> = messages.iter().map(|message| self.message_row(message)).collect();
        let common = self.args();
        let parts = self.parts_that_fit(messages);
        let bodies = parts.into_iter().flat_map(|part| chunks(&rows[part]).collect::<Vec<_>>());
        let mut statements: Vec<Statement> =
            bodies.map(|rows| self.sql.enqueue_message.bind_rows(&common, rows)).collect();
        statements.extend(chunks(&rows).map(|rows| self.sql.enqueue_queue.bind_rows(&common, rows)));
        statements
    }

    /// Messages cut into runs that fit together into a packet.
    fn parts_that_fit(&self, messages: &[NewMessage]) -> Vec<Range<usize>> {
        let mut parts = Vec::new();
        let (mut start, mut bytes) = (0, 0);
        for (n, message) in messages.iter().enumerate() {
            let size = message.payload.bytes().len() + Self::ROW_MARGIN;
            if n > start && bytes + size > self.limit.bytes() {
                parts.push(start..n);
                (start, bytes) = (n, 0);
            }
            bytes += size;
        }
        parts.push(start..messages.len());
        parts
    }

    fn message_row(&self, message: &NewMessage) -> Args {
        let shard = self.shards.shard_of(message.id, message.ordering_key.as_ref());
        let headers = match message.headers.is_empty() {
            true => None,
            false => serde_json::to_vec(&message.headers).ok(),
        };
        let (at, after) = match message.due {
            Due::Now => (None, 0),
            Due::After(delay) => (None, micros(delay)),
            Due::At(at) => (Some(at.as_micros()), 0),
        };
        Args::new()
            .with("id", bytes(message.id.uuid()))
            .with("queue", message.queue.as_str())
            .with("shard", shard.number())
            .with("ordering_key", maybe(message.ordering_key.as_ref().map(|key| key.as_str())))
            .with("headers", Value::Bytes(headers))
            .with("content_type", message.payload.content_type())
            .with("payload", message.payload.bytes().to_vec())
            .with("at", Value::BigInt(at))
            .with("after", after)
    }
}

fn keys_by_queue(keyed: &[NewMessage]) -> Vec<(&QueueName, Vec<&DedupKey>)> {
    let mut by_queue: Vec<(&QueueName, Vec<&DedupKey>)> = Vec::new();
    for message in keyed {
        let Some(key) = &message.dedup_key else { continue };
        match by_queue.iter_mut().find(|(queue, _)| *queue == &message.queue) {
            Some((_, keys)) => keys.push(key),
            None => by_queue.push((&message.queue, vec![key])),
        }
    }
    by_queue
}

/// Rows cut into the few lengths that are ever prepared, longest first.
pub(crate) fn chunks<T>(rows: &[T]) -> impl Iterator<Item = &[T]> {
    let mut rest = rows;
    std::iter::from_fn(move || {
        let length = CHUNKS.into_iter().find(|length| *length <= rest.len())?;
        let (chunk, others) = rest.split_at(length);
        rest = others;
        Some(chunk)
    })
}

/// The plain insert, which fails on a duplicate key.
fn without_upsert(mut statement: Statement) -> Statement {
    if let Some(at) = statement.sql.find(" ON ") {
        statement.sql.truncate(at);
    }
    statement
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_cover_everything_once() {
        for n in [0, 1, 4, 99, 100, 737] {
            let rows = vec![Args::new(); n];
            let lengths: Vec<usize> = chunks(&rows).map(<[Args]>::len).collect();
            assert_eq!(lengths.iter().sum::<usize>(), n);
            assert!(lengths.iter().all(|length| CHUNKS.contains(length)));
        }
    }
}
