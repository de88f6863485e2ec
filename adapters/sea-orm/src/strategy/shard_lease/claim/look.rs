use claimstream_domain::Shard;
use claimstream_ports::StoreError;

use crate::{
    database::{typed_row::row, unit::rows},
    strategy::shard_lease::{
        claim::claiming::{CLAIM, Claiming},
        shard_key::ShardKey,
        shard_state::{LeaseStatus, Seen},
    },
};

impl Claiming<'_> {
    /// Looks without locks which shards have due messages and are not leased to another instance.
    pub(super) async fn look(&self) -> Result<(), StoreError> {
        let (store, queue) = (self.store, &self.request.queue);
        let args = store.db.args().with("queue", queue.as_str()).with("holder", store.holder.clone());
        let looked = store.db.clock.elapsed();
        let found = rows(&self.on, CLAIM, store.db.sql.shard_lease.peek.bind(&args)).await?;
        let mut due = Vec::with_capacity(found.len());
        for row in &found {
            let DueShard { shard, fence, elsewhere } = DueShard::read(row)?;
            let shard = Shard::from_number(shard);
            let (status, fence) = match (fence, elsewhere) {
                (None, _) => (LeaseStatus::Missing, 0),
                (Some(fence), false) => (LeaseStatus::Usable, fence),
                (Some(fence), true) => (LeaseStatus::Expired, fence),
            };
            let key = ShardKey { queue: queue.clone(), shard };
            store.owned.note_seen(&key, Seen { status, fence, looked });
            due.push(shard);
        }
        store.known.heat(queue, &due, self.request.owner.instance().0, store.db.clock.elapsed());
        Ok(())
    }
}

row! {
    /// A shard that has something due, and its lease if there is one: `elsewhere` is another holder's, which has expired.
    struct DueShard of "shard_lease/peek" { shard: u16, fence: Option<i64>, elsewhere: bool }
}
