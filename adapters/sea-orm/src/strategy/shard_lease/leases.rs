use std::sync::Arc;

use sea_orm::Value;

use crate::{
    database::Database,
    enqueue::rows::Enqueueing,
    failover::Failover,
    strategy::{
        order::Order,
        shard_lease::{owned_shards::OwnedShards, read_ahead::ReadAhead, thin_load::ThinLoad},
        shared::known_shards::KnownShards,
    },
};

/// The state of the strategy `shard_lease`.
pub(crate) struct ShardLease {
    pub(crate) db: Arc<Database>,
    pub(super) enqueueing: Arc<Enqueueing>,
    pub(super) failover: Failover,
    pub(super) order: Order,
    /// The name under which this outbox holds leases, as long as it is open.
    pub(super) holder: Value,
    pub(super) known: KnownShards,
    pub(super) owned: OwnedShards,
    pub(super) read_ahead: ReadAhead,
    pub(super) thin_load: ThinLoad,
}

impl ShardLease {
    pub(crate) fn of(
        db: Arc<Database>,
        enqueueing: Arc<Enqueueing>,
        failover: Failover,
        order: Order,
    ) -> Self {
        Self {
            known: KnownShards::new(enqueueing.shards),
            db,
            enqueueing,
            failover,
            order,
            holder: holder(),
            owned: OwnedShards::default(),
            read_ahead: ReadAhead::default(),
            thin_load: ThinLoad::default(),
        }
    }
}

/// Eight random bytes, so that an outbox is never taken for one that was open before it.
fn holder() -> Value {
    let random = uuid::Uuid::now_v7().as_u64_pair().1;
    Value::Bytes(Some(random.to_be_bytes().to_vec()))
}
