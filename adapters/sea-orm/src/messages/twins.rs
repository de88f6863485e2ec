use std::collections::HashSet;

use claimstream_domain::{QueueName, Shard};
use claimstream_ports::StoreError;
use sea_orm::Value;
use uuid::Uuid;

use crate::database::{
    Database,
    args::bytes,
    typed_row::row,
    unit::{rows, run},
};

const TWINS: &str = "unite entries";

/// How many messages one transaction unites.
const CHUNK: i64 = 200;

/// Leaves one entry, the oldest, of each message that has several due ones in a shard, and says how many it took away.
///
/// A message has one entry. Two of them came to be where an id was used again next to its dead letter, which was possible
/// once, and the letter was revived: they share one body, and a claim cannot mark both. One that is claimed stays.
pub(crate) async fn unite(db: &Database, queue: &QueueName, shard: Shard) -> Result<u64, StoreError> {
    let united = db.restarting(|| unite_some(db, queue, shard)).await?;
    if united > 0 {
        let shard = shard.number();
        tracing::warn!(%queue, shard, united, "messages had two queue entries each; the younger ones were deleted");
    }
    Ok(united)
}

async fn unite_some(db: &Database, queue: &QueueName, shard: Shard) -> Result<u64, StoreError> {
    let place = db.args().with("queue", queue.as_str()).with("shard", shard.number());
    let find = db.sql.twins.find.bind(&place.clone().with("limit", CHUNK));
    let found = rows(db.relay(), TWINS, find).await?;
    let ids = found.iter().map(|row| row.uuid("id").map(bytes)).collect::<Result<Vec<Value>, _>>()?;
    if ids.is_empty() {
        return Ok(0);
    }
    let transaction = db.begin(TWINS).await?;
    let lock = db.sql.twins.lock.bind(&place.clone().with_list("ids", ids));
    let (mut first, mut united) = (HashSet::<Uuid>::new(), 0);
    for row in rows(&transaction, TWINS, lock).await? {
        let Entry { id, due_at } = Entry::read(&row)?;
        if !first.insert(id) {
            let twin = place.clone().with("id", bytes(id)).with("due_at", due_at);
            united += run(&transaction, TWINS, db.sql.twins.end.bind(&twin)).await?;
        }
    }
    db.commit(TWINS, transaction).await?;
    Ok(united)
}

row! {
    /// A queue entry of a message.
    struct Entry of "twins/lock" { id: Uuid, due_at: i64 }
}
