use claimstream_domain::Shard;
use claimstream_ports::{StoreError, StoreErrorKind};

use crate::{
    database::{typed_row::row, unit::rows},
    strategy::{
        shard_lease::{
            claim::claiming::{CLAIM, Claiming},
            shard_key::ShardKey,
            shard_state::{LeaseStatus, Seen},
        },
        shared::shard_walk::Visitor,
    },
};

impl Visitor for Claiming<'_> {
    fn wants_more(&self) -> bool {
        self.wanted() > 0 && (self.collected.taken.is_empty() || !self.time_left().is_zero())
    }

    fn has_some(&self) -> bool {
        !self.collected.taken.is_empty()
    }

    fn visited(&self) -> &[Shard] {
        &self.visited
    }

    /// Looks without locks which shards have due messages and are not leased to another instance.
    async fn look(&self) -> Result<(), StoreError> {
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

    /// Takes from one shard. An error in it alone keeps the claim from no other shard.
    async fn visit(&mut self, shard: Shard) -> Result<(), StoreError> {
        self.visited.push(shard);
        let queue = self.request.queue.clone();
        match self.take_from(ShardKey { queue, shard }).await {
            Err(error) if matches!(error.kind(), StoreErrorKind::Transient | StoreErrorKind::Corrupt) => {
                self.on.rest();
                self.store.known.short(&self.request.queue, shard);
                tracing::debug!(queue = %self.request.queue, shard = shard.number(), %error, "shard skipped");
                self.trouble.get_or_insert(error);
                Ok(())
            }
            done => done,
        }
    }
}

row! {
    /// A shard that has something due, and its lease if there is one: `elsewhere` is another holder's, which has expired.
    struct DueShard of "shard_lease/peek" { shard: u16, fence: Option<i64>, elsewhere: bool }
}
