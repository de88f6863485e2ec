use std::{
    collections::{BTreeMap, HashMap, HashSet},
    time::Duration,
};

use claimstream_domain::{Invalid, MessageId, QueueName, QueueStatus, ShardCount};
use claimstream_ports::StoreError;

use crate::{
    database::{
        Database,
        capability::{Capability, rows_of},
        typed_row::row,
        unit::rows,
    },
    strategy::shard_lease::in_flight_list,
};

const OBSERVE: &str = "observe";

/// How much lies in each queue, and what lies where no queue can be.
pub(crate) struct Observed {
    pub(crate) queues: Vec<QueueStatus>,
    pub(crate) misnamed: Vec<Misnamed>,
    /// How many entries of a queue no claim can read, where there are such; they count as stray too.
    pub(crate) unreadable: BTreeMap<QueueName, u64>,
}

/// Rows under a name that no queue can have: a program in another language has written them, and no relay reads them.
pub(crate) struct Misnamed {
    name: Vec<u8>,
    pub(crate) depth: u64,
    /// How many of its rows are dead letters.
    pub(crate) dead: u64,
    /// Why no queue can have the name.
    pub(crate) why: Invalid,
}

impl Misnamed {
    /// The name as it can be shown: what is not visible ASCII is escaped.
    pub(crate) fn name(&self) -> String {
        self.name.escape_ascii().to_string()
    }
}

/// Counts what lies in each queue.
pub(crate) async fn observe(db: &Database, shards: ShardCount) -> Result<Observed, StoreError> {
    let mut queues: BTreeMap<QueueName, QueueStatus> = BTreeMap::new();
    let mut misnamed: BTreeMap<Vec<u8>, Misnamed> = BTreeMap::new();
    let mut unreadable: BTreeMap<QueueName, u64> = BTreeMap::new();
    let held = held(db).await?;
    let ask = || rows(db.relay(), OBSERVE, db.sql.observe.live.bind(&db.args()));
    for row in &db.restarting(ask).await? {
        let row = ShardRow::read(row)?;
        let queue = match QueueName::from_bytes(&row.queue) {
            Ok(queue) => queue,
            Err(why) => {
                misnamed_of(&mut misnamed, row.queue, why).depth += row.depth;
                continue;
            }
        };
        let (shard, mut status) = shard_status(&row, queue.clone(), shards);
        if shard.is_some() && row.unreadable > 0 {
            *unreadable.entry(queue.clone()).or_default() += row.unreadable;
        }
        if let Some(shard) = shard
            && let Some(flights) = held.get(&(queue.clone(), shard))
        {
            set_apart(db, shard, flights, &mut status).await?;
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
        match QueueName::from_bytes(&row.queue) {
            Ok(queue) => {
                queues.entry(queue.clone()).or_insert_with(|| QueueStatus::empty(queue)).dead += row.dead;
            }
            Err(why) => misnamed_of(&mut misnamed, row.queue, why).dead += row.dead,
        }
    }
    let (queues, misnamed) = (queues.into_values().collect(), misnamed.into_values().collect());
    Ok(Observed { queues, misnamed, unreadable })
}

/// The messages in flight under shard leases that have not expired, by queue and shard.
async fn held(db: &Database) -> Result<HashMap<(QueueName, u16), HashSet<MessageId>>, StoreError> {
    let ask = || {
        rows_of(db.relay(), OBSERVE, db.sql, Capability::ShardLease, db.sql.shard_lease.held.bind(&db.args()))
    };
    let mut held = HashMap::new();
    for row in &db.restarting(ask).await? {
        let row = HeldRow::read(row)?;
        // No relay has the lease of a name that no queue can have.
        let Ok(queue) = QueueName::from_bytes(&row.queue) else { continue };
        held.insert((queue, row.shard), in_flight_list::ids(&row.flights.unwrap_or_default()));
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

/// How a shard stands, and its number if the queue has such a shard.
fn shard_status(row: &ShardRow, queue: QueueName, shards: ShardCount) -> (Option<u16>, QueueStatus) {
    let (depth, due, retrying, stray) = (row.depth, row.due, row.retrying, row.unreadable);
    let Some(shard) = u16::try_from(row.shard).ok().filter(|shard| *shard < shards.get()) else {
        return (None, QueueStatus { depth, stray: depth, ..QueueStatus::empty(queue) });
    };
    // Only a shard with due messages has one that has waited; the oldest of all is then a due one.
    let oldest = if due == 0 { None } else { row.oldest.map(age) };
    let status =
        QueueStatus { depth, due, leased: row.leased, retrying, oldest, stray, ..QueueStatus::empty(queue) };
    (Some(shard), status)
}

fn age(micros: i64) -> Duration {
    Duration::from_micros(u64::try_from(micros).unwrap_or_default())
}

fn misnamed_of(misnamed: &mut BTreeMap<Vec<u8>, Misnamed>, name: Vec<u8>, why: Invalid) -> &mut Misnamed {
    let none = Misnamed { name: name.clone(), depth: 0, dead: 0, why };
    misnamed.entry(name).or_insert(none)
}

row! {
    struct ShardRow of "observe/live" {
        queue: Vec<u8>,
        shard: i64,
        depth: u64,
        due: u64,
        leased: u64,
        retrying: u64,
        oldest: Option<i64>,
        unreadable: u64,
    }
}

row! {
    struct DeadRow of "observe/dead" { queue: Vec<u8>, dead: u64 }
}

row! {
    /// The messages in flight under the lease of a shard.
    struct HeldRow of "shard_lease/held" { queue: Vec<u8>, shard: u16, flights: Option<Vec<u8>> }
}

row! {
    /// A due message, and for how long it has been due.
    struct DueRow of "shard_lease/oldest" { id: uuid::Uuid, age: i64 }
}
