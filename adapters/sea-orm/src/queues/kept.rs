use std::time::Duration;

use claimstream_domain::{
    DedupKey, DedupKeyTaken, Headers, MessageCarried, MessageId, MessageKept, OrderingKey, QueueName, Shard,
};
use claimstream_ports::StoreError;
use uuid::Uuid;

use crate::{
    database::{Database, args::bytes, classify::corrupt, typed_row::row, unit::rows},
    messages::body::{Body, bodies},
};

const FIND: &str = "find";

/// What is kept of a message, without its payload. What cannot be read of its headers and its key is left out.
pub(crate) async fn kept(db: &Database, id: MessageId) -> Result<Option<MessageKept>, StoreError> {
    let args = db.args().with("id", bytes(id.uuid()));
    let found = db.restarting(|| rows(db.relay(), FIND, db.sql.observe.kept.bind(&args))).await?;
    let Some(row) = found.first() else { return Ok(None) };
    let KeptRow { queue, shard, ordering_key, headers, content_type, bytes, age, first_age } =
        KeptRow::read(row)?;
    let headers = headers.and_then(|json| serde_json::from_slice::<Headers>(&json).ok()).unwrap_or_default();
    Ok(Some(MessageKept {
        id,
        queue: QueueName::new(&queue).map_err(|e| corrupt(FIND, e))?,
        shard: Shard::from_number(shard),
        ordering_key: ordering_key.and_then(|key| OrderingKey::new(&key).ok()),
        content_type,
        bytes,
        stored: span(age),
        first_stored: first_age.map(span),
        traceparent: headers.get("traceparent").map(str::to_owned),
    }))
}

/// What a message carries.
pub(crate) async fn carried(db: &Database, id: MessageId) -> Result<Option<MessageCarried>, StoreError> {
    let ids = [id];
    let found = db.restarting(|| bodies(db, db.relay(), FIND, &ids, None)).await?;
    let Some(body) = found.get(&id) else { return Ok(None) };
    let Body { headers, payload, .. } = Body::salvage(&body.row, &body.at)?;
    Ok(Some(MessageCarried { headers, payload }))
}

/// The message that has taken a dedup key.
pub(crate) async fn keyed(
    db: &Database,
    queue: &QueueName,
    key: &DedupKey,
) -> Result<Option<DedupKeyTaken>, StoreError> {
    let args = db.args().with("queue", queue.as_str()).with("dedup_key", key.as_str());
    let found = db.restarting(|| rows(db.relay(), FIND, db.sql.observe.keyed.bind(&args))).await?;
    let Some(row) = found.first() else { return Ok(None) };
    let KeyedRow { message_id, taken } = KeyedRow::read(row)?;
    Ok(Some(DedupKeyTaken { by: MessageId::new(message_id), ago: span(taken) }))
}

fn span(micros: i64) -> Duration {
    Duration::from_micros(micros.max(0).unsigned_abs())
}

row! {
    struct KeptRow of "observe/kept" {
        queue: String,
        shard: u16,
        ordering_key: Option<String>,
        headers: Option<Vec<u8>>,
        content_type: String,
        bytes: u64,
        age: i64,
        first_age: Option<i64>,
    }
}

row! {
    struct KeyedRow of "observe/keyed" { message_id: Uuid, taken: i64 }
}
