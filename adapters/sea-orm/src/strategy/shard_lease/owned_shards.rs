use std::{
    collections::HashMap,
    sync::{Arc, PoisonError},
    time::Duration,
};

use claimstream_domain::{Receipt, Settlement};
use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::{
    database::{coalescer::WriteCoalescer, retries::Busy, store_timer::StoreTimer},
    strategy::shard_lease::{
        shard_key::ShardKey,
        shard_state::{Seen, ShardState},
        suspect::SuspectSlot,
        turn::Turn,
    },
};

/// Turns and states of all shards that one outbox has worked in.
#[derive(Default)]
pub(crate) struct OwnedShards {
    shards: std::sync::Mutex<HashMap<ShardKey, OwnedShard>>,
    pub(crate) suspect: SuspectSlot,
}

/// Settlements of one shard that only finish messages and share a transaction; the answer says whether all of them were
/// current.
pub(crate) type SharedSettlements = WriteCoalescer<Settlement, bool>;

#[derive(Default)]
struct OwnedShard {
    turn: Arc<Mutex<()>>,
    state: Arc<Mutex<ShardState>>,
    settlements: Arc<SharedSettlements>,
    /// The finding of a look that came while a call had the state locked.
    seen: Option<Seen>,
    /// When the lease row was found locked, the last time, on the monotonic clock; none once it was found free.
    locked: Option<Duration>,
}

impl OwnedShards {
    /// For how long a lease row that was found locked is asked for before it is written.
    const LOCKED_FOR: Duration = Duration::from_secs(10);

    /// Locks the state of a shard; a call that writes the lease row takes its [`Turn`] too.
    pub(crate) async fn state(&self, key: &ShardKey) -> OwnedMutexGuard<ShardState> {
        let mut state = self.with(key, |shard| Arc::clone(&shard.state)).lock_owned().await;
        if let Some(seen) = self.with(key, |shard| shard.seen.take()) {
            state.note_seen(seen);
        }
        state
    }

    /// Notes what a look has found; while a call has the state locked, the next call to lock it finds the note.
    pub(crate) fn note_seen(&self, key: &ShardKey, seen: Seen) {
        self.with(key, |shard| match shard.state.try_lock() {
            Ok(mut state) => state.note_seen(seen),
            Err(_) => shard.seen = Some(seen),
        });
    }

    /// Forgets a lost claim; the lease row follows with the next write.
    pub(crate) async fn forget(&self, receipt: &Receipt) {
        self.state(&ShardKey::of(receipt)).await.forget(receipt);
    }

    pub(crate) fn settlements(&self, key: &ShardKey) -> Arc<SharedSettlements> {
        self.with(key, |shard| Arc::clone(&shard.settlements))
    }

    /// Whether the lease row was found locked lately, and was not found free since. A call that writes it then asks first
    /// whether it is free: the call that found it locked has waited, and no other does.
    pub(crate) fn was_locked_lately(&self, key: &ShardKey, now: Duration) -> bool {
        let locked = self.with(key, |shard| shard.locked);
        locked.is_some_and(|at| now.saturating_sub(at) < Self::LOCKED_FOR)
    }

    pub(crate) fn found_locked(&self, key: &ShardKey, now: Duration) {
        self.with(key, |shard| shard.locked = Some(now));
    }

    pub(crate) fn found_free(&self, key: &ShardKey) {
        self.with(key, |shard| shard.locked = None);
    }

    /// Waits for the turn in all of the shards, no longer than `timeout`. Every call names its shards in one order.
    pub(crate) async fn turn(
        &self,
        timer: &StoreTimer,
        keys: &[ShardKey],
        timeout: Duration,
    ) -> Result<Turn, Busy> {
        let waited = timer.stopwatch();
        let mut guards = Vec::with_capacity(keys.len());
        for key in keys {
            let left = timeout.saturating_sub(waited.elapsed());
            let turn = timer.timeout(left, self.turn_in(key).lock_owned()).await;
            guards.push(turn.ok_or_else(|| Busy { place: key.to_string(), timeout })?);
        }
        Ok(Turn::of(guards))
    }

    /// The turn in all of the shards, if no other call has one of them.
    pub(crate) fn turn_now(&self, keys: &[ShardKey]) -> Option<Turn> {
        let now = |key: &ShardKey| self.turn_in(key).try_lock_owned().ok();
        keys.iter().map(now).collect::<Option<_>>().map(Turn::of)
    }

    fn turn_in(&self, key: &ShardKey) -> Arc<Mutex<()>> {
        self.with(key, |shard| Arc::clone(&shard.turn))
    }

    fn with<T>(&self, key: &ShardKey, look: impl FnOnce(&mut OwnedShard) -> T) -> T {
        let mut shards = self.shards.lock().unwrap_or_else(PoisonError::into_inner);
        look(shards.entry(key.clone()).or_default())
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use claimstream_domain::{QueueName, Shard};
    use futures::FutureExt;

    use super::*;

    #[tokio::test]
    async fn a_call_that_is_dropped_while_it_waits_frees_the_turns_that_it_has() {
        let (owned, (timer, hand)) = (OwnedShards::default(), StoreTimer::by_hand());
        let queue = QueueName::new("orders").expect("a name");
        let key = |n| ShardKey { queue: queue.clone(), shard: Shard::from_number(n) };
        let [both, free, busy] = [vec![key(3), key(5)], vec![key(3)], vec![key(5)]];
        let turn = owned.turn_now(&busy).expect("no call has it");
        let waiting = owned.turn(&timer, &both, Duration::from_secs(600));
        assert!(waiting.now_or_never().is_none(), "it waits");
        assert!(owned.turn_now(&free).is_some());
        let mut waiting = pin!(owned.turn(&timer, &both, Duration::from_secs(600)));
        assert!(waiting.as_mut().now_or_never().is_none(), "it waits");
        hand.advance(Duration::from_secs(600));
        assert!(waiting.await.is_err(), "its time is over");
        assert!(owned.turn_now(&free).is_some());
        drop(turn);
        assert!(owned.turn_now(&both).is_some());
    }
}
