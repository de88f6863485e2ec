use std::{collections::HashMap, sync::Arc, time::Duration};

use claimstream_domain::{ClaimRequest, Claimed, Shard};
use claimstream_ports::StoreError;

use crate::{
    database::{dialect::Dialect, held::Held},
    strategy::{
        shard_lease::{claim::collected::Collected, give_back::give_back, leases::ShardLease},
        shared::shard_walk::{ShardWalk, WalkProgress, WalkStep},
    },
};

/// The operation that errors of claims name.
pub(crate) const CLAIM: &str = "claim";

/// One claim call under way.
pub(crate) struct Claiming<'a> {
    pub(crate) store: &'a Arc<ShardLease>,
    pub(crate) on: Held<'a>,
    pub(crate) request: ClaimRequest,
    pub(crate) walk: ShardWalk<'a>,
    pub(crate) collected: Collected,
    /// The first error in a shard that was skipped for it.
    pub(crate) trouble: Option<StoreError>,
    /// Whether shards that were claimed from together have more, or an error kept their messages back.
    pub(crate) has_left_some: bool,
    /// How long it may still wait for shards in which other calls are at work.
    pub(crate) max_wait: Duration,
    /// When it began, on the monotonic clock. Its caller counts the lease from there.
    begun: Duration,
}

impl<'a> Claiming<'a> {
    pub(crate) fn of(store: &'a Arc<ShardLease>, request: ClaimRequest) -> Self {
        let limit = request.limit.min(ClaimRequest::MOST);
        Self {
            store,
            on: Held::new(&store.db),
            walk: ShardWalk::of(&store.known, request.queue.clone()),
            request: ClaimRequest { limit, ..request },
            collected: Collected::default(),
            trouble: None,
            has_left_some: false,
            max_wait: Self::max_wait(store),
            begun: store.db.clock.elapsed(),
        }
    }

    /// How long a claim waits at most for shards in which other calls are at work.
    pub(super) fn max_wait(store: &ShardLease) -> Duration {
        ShardLease::SOON.min(store.db.limits.acquire_timeout)
    }

    /// How long it may still look for more: with messages in hand as long as the caller need not renew them, without any as long
    /// as the caller waits for the answer.
    pub(super) fn time_left(&self) -> Duration {
        let lease = self.request.lease;
        let most = if self.collected.taken.is_empty() { lease.duration() } else { lease.renew_after() };
        most.saturating_sub(self.store.db.clock.elapsed().saturating_sub(self.begun))
    }

    pub(crate) async fn run(&mut self) -> Result<(), StoreError> {
        self.take_read_ahead().await;
        if self.wanted() == 0 {
            return Ok(());
        }
        let (store, queue, asked) = (self.store, self.request.queue.clone(), self.wanted());
        let ahead = self.collected.taken.len();
        let visited = match self.may_take_thinly() {
            true => self.take_thinly().await,
            false => self.walk_shards().await,
        };
        let is_all = self.wants_more() && !self.has_left_some;
        store.thin_load.claimed(&queue, asked, most_of_a_shard(&self.collected.taken[ahead..]), is_all);
        visited
    }

    /// Visits shards one by one, until it has enough or no time is left for more.
    pub(super) async fn walk_shards(&mut self) -> Result<(), StoreError> {
        loop {
            let progress = match self.collected.taken.is_empty() {
                _ if !self.wants_more() => WalkProgress::Enough,
                true => WalkProgress::Nothing,
                false => WalkProgress::Some,
            };
            match self.walk.next(progress, self.store.db.clock.elapsed()) {
                WalkStep::Look => self.look().await?,
                WalkStep::Visit(shard) => self.visit(shard).await?,
                WalkStep::Done => return Ok(()),
            }
        }
    }

    /// Whether it takes more: its limit is not reached, and the leases of what it has in hand leave time for it.
    fn wants_more(&self) -> bool {
        self.wanted() > 0 && (self.collected.taken.is_empty() || !self.time_left().is_zero())
    }

    /// Whether shards are claimed from together. On SQLite a statement is no round trip, and in order by key runs are read further
    /// than a page.
    fn may_take_thinly(&self) -> bool {
        let store = self.store;
        store.db.dialect == Dialect::MySql
            && !store.order.is_per_key()
            && store.thin_load.is_expected(&self.request.queue)
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
            let _ = store.db.timer().timeout(ShardLease::SOON, given_back).await;
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

/// The most of some messages that lie in one shard.
fn most_of_a_shard(claimed: &[Claimed]) -> usize {
    let mut counts: HashMap<Shard, usize> = HashMap::new();
    claimed.iter().for_each(|one| *counts.entry(one.message.shard).or_default() += 1);
    counts.into_values().max().unwrap_or_default()
}
