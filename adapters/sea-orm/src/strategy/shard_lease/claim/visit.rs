use std::time::Duration;

use claimstream_domain::Shard;
use claimstream_ports::{StoreError, StoreErrorKind};
use tokio::sync::OwnedMutexGuard;

use crate::strategy::shard_lease::{
    claim::{
        claiming::{CLAIM, Claiming},
        due::Due,
    },
    shard_key::ShardKey,
    shard_state::{LeaseStatus, ShardState},
    turn::Turn,
    watermark::{Start, Watermark},
};

/// A claim's visit to one shard.
pub(crate) struct Visit {
    pub(crate) key: ShardKey,
    /// The watermark after the newest read, where keys are in order.
    pub(crate) watermark: Option<Watermark>,
    /// The newest due time that was taken.
    pub(crate) newest: Option<i64>,
    /// The messages read before the call gave up its turn to other calls.
    pub(crate) unfinished: Option<Box<Due>>,
}

impl Visit {
    pub(super) fn of(key: ShardKey) -> Self {
        Self { key, watermark: None, newest: None, unfinished: None }
    }
}

impl Claiming<'_> {
    /// Takes from one shard. An error in it alone keeps the claim from no other shard.
    pub(super) async fn visit(&mut self, shard: Shard) -> Result<(), StoreError> {
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

    /// Takes from a shard, in as many turns as it takes to read so far that something is free.
    async fn take_from(&mut self, key: ShardKey) -> Result<(), StoreError> {
        let mut visit = Visit::of(key);
        loop {
            self.take_in_turn(&mut visit).await?;
            if visit.unfinished.is_none() {
                return Ok(());
            }
            if self.time_left().is_zero() {
                // Another claim comes back to the shard, and may have nothing in hand then.
                self.store.known.full(&visit.key.queue, visit.key.shard);
                return Ok(());
            }
            // Without a connection, so that the calls that wait for the shard or for a connection come first.
            self.on.rest();
        }
    }

    async fn take_in_turn(&mut self, visit: &mut Visit) -> Result<(), StoreError> {
        let store = self.store;
        let turn = self.next_turn(visit).await?;
        let Some(_turn) = turn else {
            visit.unfinished = None;
            store.known.full(&visit.key.queue, visit.key.shard);
            return Ok(());
        };
        let mut state = store.owned.state(&visit.key).await;
        if !store.ensure_lease(&self.on, &mut state, &visit.key).await? {
            visit.unfinished = None;
            store.known.short(&visit.key.queue, visit.key.shard);
            return Ok(());
        }
        let wanted = self.wanted();
        let count = self.take_under_lease(visit, &mut state).await?;
        if visit.unfinished.is_some() {
            return Ok(());
        }
        let ShardKey { queue, shard } = &visit.key;
        let is_full = count == wanted || self.collected.is_cut_short;
        match is_full {
            true => store.known.full(queue, *shard),
            false => store.known.short(queue, *shard),
        }
        if store.order.is_per_key() {
            state.watermark = visit.watermark.filter(|_| is_full);
        } else if let Some(low) = visit.newest {
            store.known.raise(queue, *shard, low, store.db.clock.elapsed());
        }
        Ok(())
    }

    /// Waits for the turn in a shard. A claim that reads on there would lose what it has read, so each turn may be waited for again,
    /// unless it has messages already, whose leases are running.
    async fn next_turn(&mut self, visit: &Visit) -> Result<Option<Turn>, StoreError> {
        let max_wait = match (self.collected.taken.is_empty(), visit.unfinished.is_some()) {
            (true, true) => Self::max_wait(self.store),
            (true, false) => self.max_wait,
            (false, true) => self.max_wait.min(self.time_left()),
            (false, false) => Duration::ZERO,
        };
        let waited = self.store.db.timer().stopwatch();
        let turn = self.store.turn_soon(CLAIM, &visit.key, &self.on, max_wait).await?;
        self.max_wait = self.max_wait.saturating_sub(waited.elapsed());
        Ok(turn)
    }

    /// Takes from the watermark on, and from the beginning of time if that was not enough.
    async fn take_under_lease(
        &mut self,
        visit: &mut Visit,
        state: &mut OwnedMutexGuard<ShardState>,
    ) -> Result<usize, StoreError> {
        let (store, wanted) = (self.store, self.wanted());
        let queue = visit.key.queue.clone();
        let start = match &visit.unfinished {
            Some(due) => due.extent.start,
            None => self.start(&visit.key, state),
        };
        let reach = if store.order.is_per_key() {
            wanted
        } else {
            store.read_ahead.reach(&queue, wanted, self.request.lease)
        };
        let mut count = Box::pin(self.take(visit, state, start, reach)).await?;
        let is_over =
            self.collected.is_cut_short || visit.unfinished.is_some() || state.status == LeaseStatus::Unknown;
        if count < wanted && start.low > 0 && !is_over {
            let wanted = self.wanted();
            let beginning = Start::at(0, store.db.clock.elapsed());
            count += Box::pin(self.take(visit, state, beginning, wanted)).await?;
        }
        Ok(count)
    }

    /// Where the first read of a visit begins.
    fn start(&self, key: &ShardKey, state: &ShardState) -> Start {
        let (store, now) = (self.store, self.store.db.clock.elapsed());
        if !store.order.is_per_key() {
            return Start::at(store.known.low(&key.queue, key.shard, now), now);
        }
        let fresh = state.watermark.filter(|watermark| watermark.is_fresh(now));
        fresh.map_or(Start::at(0, now), Start::from)
    }
}
