use std::{
    collections::{BTreeMap, HashMap, HashSet},
    time::Duration,
};

use claimstream_domain::{MessageId, QueueName, QueueStatus, ShardCount};
use claimstream_ports::StoreError;

use crate::{
    database::{Database, classify::corrupt, typed_row::row, unit::rows},
    strategy::shard_lease::in_flight_list,
};

const OBSERVE: &str = "observe";

/// How much lies in each queue.
pub(crate) async fn observe(db: &Database, shards: ShardCount) -> Result<Vec<QueueStatus>, StoreError> {
    let mut queues: BTreeMap<QueueName, QueueStatus> = BTreeMap::new();
    let held = held(db).await?;
    let ask = || rows(db.relay(), OBSERVE, db.sql.observe.live.bind(&db.args()));
    for row in &db.restarting(ask).await? {
        let row = ShardRow::read(row)?;
        let (queue, mut status) = (queue(&row.queue)?, shard_status(&row, shards)?);
        if let Some(flights) = held.get(&(queue.clone(), row.shard)) {
            set_apart(db, row.shard, flights, &mut status).await?;
        }
        let all = queues.entry(queue.clone()).or_insert_with(|| QueueStatus::empty(queue));
        all.depth += status.depth;
        all.due += status.due;
        all.leased += status.leased;
        all.retrying += status.retrying;
        all.oldest = all.oldest.max(status.oldest);
        all.stray += status.stray;
    }
    let ask = || rows(db.relay(), OBSERVE, db.sql.observe.dead.bind(&db.args()));
    for row in &db.restarting(ask).await? {
        let row = DeadRow::read(row)?;
        let queue = queue(&row.queue)?;
        queues.entry(queue.clone()).or_insert_with(|| QueueStatus::empty(queue)).dead = row.dead;
    }
    Ok(queues.into_values().collect())
}

/// The messages in flight under shard leases that have not expired, by queue and shard.
async fn held(db: &Database) -> Result<HashMap<(QueueName, u16), HashSet<MessageId>>, StoreError> {
    let ask = || rows(db.relay(), OBSERVE, db.sql.shard_lease.held.bind(&db.args()));
    let mut held = HashMap::new();
    for row in &db.restarting(ask).await? {
        let row = HeldRow::read(row)?;
        let flights = in_flight_list::ids(&row.flights.unwrap_or_default());
        held.insert((queue(&row.queue)?, row.shard), flights);
    }
    Ok(held)
}

/// Counts messages in flight under a shard lease as leased; their rows look as if they were due.
async fn set_apart(
    db: &Database,
    shard: u16,
    flights: &HashSet<MessageId>,
    status: &mut QueueStatus,
) -> Result<(), StoreError> {
    let args = db.args().with("queue", status.queue.as_str()).with("shard", shard);
    let args = args.with("limit", flights.len() as i64 + 1);
    let oldest = db.restarting(|| rows(db.relay(), OBSERVE, db.sql.shard_lease.oldest.bind(&args))).await?;
    let (mut aloft, mut waited) = (0, None);
    for row in &oldest {
        let row = DueRow::read(row)?;
        match flights.contains(&MessageId::new(row.id)) {
            true => aloft += 1,
            false => waited = waited.or(Some(age(row.age))),
        }
    }
    status.due = status.due.saturating_sub(aloft);
    status.leased += aloft;
    status.oldest = waited;
    Ok(())
}

fn shard_status(row: &ShardRow, shards: ShardCount) -> Result<QueueStatus, StoreError> {
    let (queue, depth, due, retrying) = (queue(&row.queue)?, row.depth, row.due, row.retrying);
    if row.shard >= shards.get() {
        return Ok(QueueStatus { depth, stray: depth, ..QueueStatus::empty(queue) });
    }
    // Only a shard with due messages has one that has waited; the oldest of all is then a due one.
    let oldest = if due == 0 { None } else { row.oldest.map(age) };
    Ok(QueueStatus { depth, due, leased: row.leased, retrying, oldest, ..QueueStatus::empty(queue) })
}

fn age(micros: i64) -> Duration {
    Duration::from_micros(u64::try_from(micros).unwrap_or_default())
}

fn queue(name: &str) -> Result<QueueName, StoreError> {
    QueueName::new(name).map_err(|e| corrupt(OBSERVE, e))
}

row! {
    struct ShardRow of "observe/live" {
        queue: String,
        shard: u16,
        depth: u64,
        due: u64,
        leased: u64,
        retrying: u64,
        oldest: Option<i64>,
    }
}

row! {
    struct DeadRow of "observe/dead" { queue: String, dead: u64 }
}

row! {
    /// The messages in flight under the lease of a shard.
    struct HeldRow of "shard_lease/held" { queue: String, shard: u16, flights: Option<Vec<u8>> }
}

row! {
    /// A due message, and for how long it has been due.
    struct DueRow of "shard_lease/oldest" { id: uuid::Uuid, age: i64 }
}
