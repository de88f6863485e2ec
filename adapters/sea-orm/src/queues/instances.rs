use std::time::Duration;

use claimstream_domain::{InstanceId, InstanceListed, LeaseListed, LeaseShown, QueueName, Shard};
use claimstream_ports::StoreError;
use sea_orm::Value;

use crate::{
    database::{
        Database,
        capability::{Capability, rows_of},
        classify::corrupt,
        typed_row::row,
        unit::{Row, rows},
    },
    strategy::shard_lease::in_flight_list,
};

const LIST: &str = "instances";

/// The instances that follow `after`, by id.
pub(crate) async fn instances(
    db: &Database,
    after: Option<InstanceId>,
    limit: u32,
) -> Result<Vec<InstanceListed>, StoreError> {
    // Nothing is before an empty key.
    let after = after.map(|InstanceId(id)| id.to_be_bytes().to_vec()).unwrap_or_default();
    let args = db.args().with("after", Value::Bytes(Some(after))).with("limit", i64::from(limit));
    let found = db.restarting(|| rows(db.relay(), LIST, db.sql.observe.instances.bind(&args))).await?;
    let listed = found.iter().map(|row| {
        let InstanceRow { instance, label, seen } = InstanceRow::read(row)?;
        let id = instance.try_into().map_err(|_| row.corrupt("an instance has eight bytes"))?;
        let (id, seen) = (InstanceId(u64::from_be_bytes(id)), length(seen));
        Ok(InstanceListed { id, label, seen })
    });
    listed.collect()
}

/// The leases that follow `after`, by queue and shard.
pub(crate) async fn leases(
    db: &Database,
    after: Option<(QueueName, Shard)>,
    limit: u32,
) -> Result<Vec<LeaseListed>, StoreError> {
    let (queue, shard) = match &after {
        Some((queue, shard)) => (queue.as_str(), i64::from(shard.number())),
        None => ("", -1),
    };
    let args = db.args().with("queue", queue).with("shard", shard).with("limit", i64::from(limit));
    let found = db
        .restarting(|| {
            rows_of(db.relay(), LIST, db.sql, Capability::ShardLease, db.sql.observe.leases.bind(&args))
        })
        .await?;
    found.iter().map(listed).collect()
}

/// The leases of one queue's shards.
pub(crate) async fn leases_of(db: &Database, queue: &QueueName) -> Result<Vec<LeaseListed>, StoreError> {
    let args = db.args().with("queue", queue.as_str());
    let found = db
        .restarting(|| {
            rows_of(db.relay(), LIST, db.sql, Capability::ShardLease, db.sql.observe.leases_of.bind(&args))
        })
        .await?;
    found.iter().map(listed).collect()
}

/// One lease, and for how long the oldest message in flight under it has been due.
pub(crate) async fn lease(
    db: &Database,
    queue: &QueueName,
    shard: Shard,
) -> Result<Option<LeaseShown>, StoreError> {
    let args = db.args().with("queue", queue.as_str()).with("shard", shard.number());
    let found = db
        .restarting(|| {
            rows_of(db.relay(), LIST, db.sql, Capability::ShardLease, db.sql.observe.lease.bind(&args))
        })
        .await?;
    let Some(row) = found.first() else { return Ok(None) };
    let FlightsRow { flights, now } = FlightsRow::read(row)?;
    let due = in_flight_list::decode(&flights.unwrap_or_default()).into_iter().map(|(due, _)| due).min();
    let oldest = due.map(|due| length(now.saturating_sub(due)));
    Ok(Some(LeaseShown { lease: listed(row)?, oldest }))
}

fn listed(row: &Row) -> Result<LeaseListed, StoreError> {
    let LeaseRow { queue, shard, label, fence, ends_in, in_flight } = LeaseRow::read(row)?;
    Ok(LeaseListed {
        queue: QueueName::new(&queue).map_err(|e| corrupt(LIST, e))?,
        shard: Shard::from_number(shard),
        holder: label,
        fence,
        ends_in: (ends_in > 0).then(|| length(ends_in)),
        in_flight,
    })
}

fn length(micros: i64) -> Duration {
    Duration::from_micros(micros.max(0).unsigned_abs())
}

row! {
    struct InstanceRow of "observe/instances" { instance: Vec<u8>, label: String, seen: i64 }
}

row! {
    struct LeaseRow of "observe/leases", "observe/leases_of", "observe/lease" {
        queue: String,
        shard: u16,
        label: Option<String>,
        fence: i64,
        ends_in: i64,
        in_flight: u32,
    }
}

row! {
    /// What is in flight under a lease, and the moment.
    struct FlightsRow of "observe/lease" { flights: Option<Vec<u8>>, now: i64 }
}
