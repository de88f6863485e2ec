use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
    time::Duration,
};

use claimstream_domain::{DedupKey, Due, Enqueued, MessageId, NewMessage, QueueName, ShardCount};
use claimstream_ports::{Measured, StoreError};
use sea_orm::{ConnectionTrait, Value};
use uuid::Uuid;

use crate::database::{
    Database,
    args::{Args, bytes},
    classify::corrupt,
    clock::micros,
    unit::{maybe, rows, run},
};

const ENQUEUE: &str = "enqueue";

/// How many ids one statement looks up.
const IDS: usize = 500;

/// Puts messages into the outbox.
pub(crate) struct Enqueueing {
    pub(crate) db: Arc<Database>,
    /// Into how many shards queues were cut when the outbox was opened. After a resharding a trigger knows better.
    pub(crate) shards: ShardCount,
}

impl Enqueueing {
    /// Enqueues in a transaction; if it fails, the transaction must be rolled back, at least to where it was before.
    pub(crate) async fn enqueue(
        &self,
        on: &impl ConnectionTrait,
        messages: &[NewMessage],
    ) -> Result<Vec<Enqueued>, StoreError> {
        let rows = self.checked_rows(messages)?;
        let ids: Vec<Uuid> = messages.iter().map(|message| message.id.uuid()).collect();
        let (insert, lookup) = (&self.db.sql.enqueue.message, &self.db.sql.enqueue.known);
        let mut new = self.db.insert_new(on, ENQUEUE, insert, lookup, &ids, &rows).await?;
        self.reserve_keys(on, messages, &mut new).await?;
        let delays = messages.iter().map(|message| delay(message.due));
        let new_rows = delays.zip(rows).zip(&new).filter_map(|(row, new)| new.then_some(row));
        let mut claimable: Vec<(Duration, Args)> = new_rows.collect();
        // Many rows take several statements, each at a later moment of the server than the one before.
        claimable.sort_by_key(|(delay, _)| *delay);
        let claimable: Vec<Args> = claimable.into_iter().map(|(_, row)| row).collect();
        for statement in self.db.inserts(&self.db.sql.enqueue.queue, &claimable) {
            run(on, ENQUEUE, statement).await?;
        }
        self.measure(messages, &new);
        Ok(new.into_iter().map(answer).collect())
    }

    /// Notes how many new messages went into which queue, if anything counts them.
    fn measure(&self, messages: &[NewMessage], new: &[bool]) {
        if self.db.telemetry.is_none() {
            return;
        }
        let mut counts = BTreeMap::<&QueueName, usize>::new();
        for (message, _) in messages.iter().zip(new).filter(|(_, new)| **new) {
            *counts.entry(&message.queue).or_default() += 1;
        }
        for (queue, messages) in counts {
            self.db.measure(Measured::Enqueued { queue, messages });
        }
    }

    /// Enqueues in a transaction of the outbox's own.
    pub(crate) async fn enqueue_now(&self, messages: &[NewMessage]) -> Result<Vec<Enqueued>, StoreError> {
        self.db
            .restarting_beside(ENQUEUE, || async {
                let transaction = self.db.begin_beside(ENQUEUE).await?;
                let enqueued = self.enqueue(&transaction, messages).await?;
                self.db.commit(ENQUEUE, transaction).await?;
                Ok(enqueued)
            })
            .await
    }

    /// The rows of messages, if every one is fit to be sent.
    pub(crate) fn checked_rows(&self, messages: &[NewMessage]) -> Result<Vec<Args>, StoreError> {
        if let Some(invalid) =
            messages.iter().find_map(|message| self.db.limits.payload.check(&message.payload).err())
        {
            return Err(corrupt(ENQUEUE, invalid));
        }
        let rows = messages.iter().map(|message| self.message_row(message)).collect::<Result<Vec<_>, _>>()?;
        self.db.limits.packet.check(ENQUEUE, self.db.sql.enqueue.message.row_bytes(&rows))?;
        Ok(rows)
    }

    /// Reserves the dedup keys of new messages; those whose keys are taken are new no more and leave no trace.
    ///
    /// Bodies come first, so that a message that was known reserves nothing.
    async fn reserve_keys(
        &self,
        on: &impl ConnectionTrait,
        messages: &[NewMessage],
        new: &mut [bool],
    ) -> Result<(), StoreError> {
        let wanting = |n: &usize| new[*n] && messages[*n].dedup_key.is_some();
        let keyed: Vec<usize> = (0..messages.len()).filter(wanting).collect();
        if keyed.is_empty() {
            return Ok(());
        }
        let of_keyed: Vec<&NewMessage> = keyed.iter().map(|n| &messages[*n]).collect();
        for statement in self.db.inserts(&self.db.sql.enqueue.dedup, &self.dedup_rows(&of_keyed)) {
            run(on, ENQUEUE, statement).await?;
        }
        let owners = self.owners(on, &of_keyed).await?;
        let losers: Vec<usize> = keyed.into_iter().filter(|n| !owners.contains(&messages[*n].id)).collect();
        losers.iter().for_each(|n| new[*n] = false);
        self.discard(on, losers.into_iter().map(|n| messages[n].id)).await
    }

    /// Which messages own the dedup keys of these messages.
    async fn owners(
        &self,
        on: &impl ConnectionTrait,
        keyed: &[&NewMessage],
    ) -> Result<HashSet<MessageId>, StoreError> {
        let mut owners = HashSet::new();
        for (queue, keys) in keys_by_queue(keyed) {
            // A list is filled up to the next power of two.
            let sizes = keys.iter().map(|key| 2 * (8 + key.as_str().len()));
            for part in self.db.limits.packet.cut(sizes) {
                let keys = keys[part].iter().map(|key| Value::from(key.as_str()));
                let args = self.db.args().with("queue", queue.as_str()).with_list("keys", keys);
                for row in rows(on, ENQUEUE, self.db.sql.enqueue.dedup_read.bind(&args)).await? {
                    owners.insert(MessageId::new(row.uuid("message_id")?));
                }
            }
        }
        Ok(owners)
    }

    /// Takes bodies back.
    async fn discard(
        &self,
        on: &impl ConnectionTrait,
        ids: impl Iterator<Item = MessageId>,
    ) -> Result<(), StoreError> {
        let ids: Vec<Value> = ids.map(|id| bytes(id.uuid())).collect();
        for ids in ids.chunks(IDS) {
            let args = self.db.args().with_list("ids", ids.iter().cloned());
            run(on, ENQUEUE, self.db.sql.enqueue.discard.bind(&args)).await?;
        }
        Ok(())
    }

    /// Rows of dedup keys, in the order of the keys: two calls that reserve the same ones in orders of their own would wait for
    /// each other.
    pub(crate) fn dedup_rows(&self, keyed: &[&NewMessage]) -> Vec<Args> {
        let mut keyed = keyed.to_vec();
        keyed.sort_by(|one, other| key_of(one).cmp(&key_of(other)));
        let row = |message: &&NewMessage| {
            self.db
                .args()
                .with("queue", message.queue.as_str())
                .with("dedup_key", maybe(message.dedup_key.as_ref().map(DedupKey::as_str)))
                .with("id", bytes(message.id.uuid()))
        };
        keyed.iter().map(row).collect()
    }

    fn message_row(&self, message: &NewMessage) -> Result<Args, StoreError> {
        let shard = self.shards.shard_of(message.id, message.ordering_key.as_ref());
        let headers = match message.headers.is_empty() {
            true => None,
            false => Some(serde_json::to_vec(&message.headers).map_err(|e| corrupt(ENQUEUE, e))?),
        };
        let (at, after) = match message.due {
            Due::Now => (None, 0),
            Due::After(delay) => (None, micros(delay)),
            Due::At(at) => (Some(at.as_micros()), 0),
        };
        Ok(Args::new()
            .with("id", bytes(message.id.uuid()))
            .with("queue", message.queue.as_str())
            .with("shard", shard.number())
            .with("ordering_key", maybe(message.ordering_key.as_ref().map(|key| key.as_str())))
            .with("headers", Value::Bytes(headers))
            .with("content_type", message.payload.content_type())
            .with("payload", message.payload.bytes().to_vec())
            .with("at", Value::BigInt(at))
            .with("after", after))
    }
}

/// How much later than the statement a message is due.
fn delay(due: Due) -> Duration {
    match due {
        Due::Now | Due::At(_) => Duration::ZERO,
        Due::After(delay) => delay,
    }
}

fn key_of(message: &NewMessage) -> (&str, Option<&str>) {
    (message.queue.as_str(), message.dedup_key.as_ref().map(DedupKey::as_str))
}

pub(crate) fn answer(new: bool) -> Enqueued {
    if new { Enqueued::New } else { Enqueued::Duplicate }
}

fn keys_by_queue<'a>(keyed: &[&'a NewMessage]) -> Vec<(&'a QueueName, Vec<&'a DedupKey>)> {
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
