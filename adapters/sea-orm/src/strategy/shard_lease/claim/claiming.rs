use std::{sync::Arc, time::Duration};

use claimstream_domain::{ClaimRequest, Shard};
use claimstream_ports::StoreError;

use crate::{
    claim::visits::visit_shards,
    database::held::Held,
    strategy::shard_lease::{claim::collected::Collected, give_back::give_back, leases::ShardLease},
};

/// The operation that errors of claims name.
pub(crate) const CLAIM: &str = "claim";

/// One claim call under way.
pub(crate) struct Claiming<'a> {
    pub(crate) store: &'a Arc<ShardLease>,
    pub(crate) on: Held<'a>,
    pub(crate) request: ClaimRequest,
    pub(crate) visited: Vec<Shard>,
    pub(crate) collected: Collected,
    /// The first error in a shard that was skipped for it.
    pub(crate) trouble: Option<StoreError>,
    /// How long it may still wait for shards in which other calls are at work.
    pub(crate) patience: Duration,
}

impl<'a> Claiming<'a> {
    pub(crate) fn of(store: &'a Arc<ShardLease>, request: ClaimRequest) -> Self {
        let limit = request.limit.min(ClaimRequest::MOST);
        Self {
            store,
            on: Held::new(&store.db),
            request: ClaimRequest { limit, ..request },
            visited: Vec::new(),
            collected: Collected::default(),
            trouble: None,
            patience: ShardLease::SOON.min(store.db.limits.acquire_timeout),
        }
    }

    pub(crate) async fn run(&mut self) -> Result<(), StoreError> {
        self.take_read_ahead().await;
        if self.wanted() == 0 {
            return Ok(());
        }
        let (store, queue) = (self.store, self.request.queue.clone());
        visit_shards(&store.known, &queue, &store.db.clock, self).await
    }

    /// Takes messages that an earlier claim has read ahead, and gives back those that have waited too long.
    async fn take_read_ahead(&mut self) {
        let (store, queue) = (self.store, &self.request.queue);
        let stale = store.read_ahead.stale(queue, store.db.clock.elapsed());
        if !stale.is_empty() {
            let back = Arc::clone(store);
            let given_back = store.db.runtime.spawn(async move {
                let _on_its_way = back.read_ahead.begin_giving_back().await;
                let _ = back.db.detached(CLAIM, give_back(Arc::clone(&back), stale)).await;
            });
            // It continues without this claim, whose own messages may be in other shards.
            let _ = tokio::time::timeout(ShardLease::SOON, given_back).await;
        }
        let (wanted, budget, lease) = (self.wanted(), self.request.budget, self.request.lease);
        self.collected.taken = store.read_ahead.next(queue, wanted, budget, lease, store.db.clock.elapsed());
    }

    /// How many more; none if the budget is spent.
    pub(crate) fn wanted(&self) -> usize {
        if self.collected.is_cut_short {
            return 0;
        }
        (self.request.limit as usize).saturating_sub(self.collected.taken.len())
    }
}
