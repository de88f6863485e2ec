use async_trait::async_trait;
use claimstream_domain::{DedupKey, Due, Enqueued, MessageId, NewMessage, QueueName};
use claimstream_ports::{Enqueue, StoreError, StoreErrorKind};
use sea_orm::{ConnectionTrait, DatabaseConnection, DatabaseTransaction, Statement, Value};

use crate::{
    args::{Args, bytes},
    classify::corrupt,
    clock::micros,
    dialect::Dialect,
    outbox::SeaOrmOutbox,
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
    pub(crate) async fn enqueue(
        &self,
        on: &impl ConnectionTrait,
        messages: &[NewMessage],
    ) -> Result<Vec<Enqueued>, StoreError> {
        self.check(messages)?;
        let enqueued = self.reserve(on, messages).await?;
        let fresh: Vec<NewMessage> = messages
            .iter()
            .zip(&enqueued)
            .filter(|(_, enqueued)| **enqueued == Enqueued::New)
            .map(|(message, _)| message.clone())
            .collect();
        for statement in self.message_statements(&fresh) {
            run(on, ENQUEUE, statement).await?;
        }
        Ok(enqueued)
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
        let mut statements = Vec::new();
        let mut rest = rows.as_slice();
        for part in self.parts_that_fit(messages) {
            let (part, others) = rest.split_at(part);
            let common = self.args();
            statements.extend(chunks(part).map(|rows| self.sql.enqueue_message.bind_rows(&common, rows)));
            rest = others;
        }
        let common = self.args();
        statements.extend(chunks(&rows).map(|rows| self.sql.enqueue_queue.bind_rows(&common, rows)));
        statements
    }

    /// How many messages in a row fit together into a packet, again and again.
    fn parts_that_fit(&self, messages: &[NewMessage]) -> Vec<usize> {
        let mut parts = Vec::new();
        let (mut count, mut bytes) = (0, 0);
        for message in messages {
            let size = message.payload.bytes().len() + 1024;
            if count > 0 && bytes + size > self.limit.bytes() {
                parts.push(count);
                (count, bytes) = (0, 0);
            }
            (count, bytes) = (count + 1, bytes + size);
        }
        parts.push(count);
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
pub(crate) fn chunks(rows: &[Args]) -> impl Iterator<Item = &[Args]> {
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
