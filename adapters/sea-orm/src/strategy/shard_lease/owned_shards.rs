use std::{
    collections::HashMap,
    sync::{Arc, PoisonError},
    time::Duration,
};

use claimstream_domain::{QueueName, Settlement, Shard};
use claimstream_ports::{StoreError, StoreErrorKind};
use tokio::{
    sync::{Mutex, OwnedMutexGuard},
    time::{Instant, timeout_at},
};

use crate::{
    database::{classify::classify, coalescer::WriteCoalescer, deadline::in_time, held::Held, retries::Busy},
    strategy::shard_lease::{
        leases::ShardLease,
        shard_state::{Seen, ShardState},
        suspect::SuspectSlot,
    },
};

/// The first place in the lines of some shards: nobody else of this process writes there, until it is dropped.
///
/// Work in a shard takes three things, in this order: the first place in the shard's line, a connection, and the books
/// ([`ShardState`]). A line is waited for with empty hands; the connection by the first in line alone, who is therefore served by
/// the next one that comes free; and the books are open only to somebody who has a connection, so that no lock is held
/// while a connection is waited for. Other looks into the books last for a moment, and wait for nothing meanwhile.
pub(super) struct Turn(#[expect(dead_code, reason = "it is kept, not read")] Vec<OwnedMutexGuard<()>>);

/// A shard of a queue.
pub(super) type ShardKey = (QueueName, Shard);

/// What is done and waits to be ended in one shard, while something else is being ended there; the answer says whether
/// all of a write was still ours.
pub(crate) type Finishing = WriteCoalescer<Settlement, bool>;

/// The lines and books of all shards that one outbox has to do with.
#[derive(Default)]
pub(crate) struct OwnedShards {
    shards: std::sync::Mutex<HashMap<ShardKey, OwnedShard>>,
    pub(super) suspect: SuspectSlot,
}

#[derive(Default)]
struct OwnedShard {
    turn: Arc<Mutex<()>>,
    state: Arc<Mutex<ShardState>>,
    finishing: Arc<Finishing>,
    /// What a look has found while somebody was at work here.
    seen: Option<Seen>,
    /// When the lease row was found locked, the last time, on the monotonic clock; none once it was found free.
    locked: Option<Duration>,
}

impl ShardLease {
    /// How long a call waits for a shard that it can do without for now, or that keeps it from others.
    pub(super) const SOON: Duration = Duration::from_secs(1);

    /// Waits until it is our turn in all of the places, no longer than `patience`, and for a connection; one that `on` has
    /// already is put back before anything is waited for. The places have one order for everybody.
    pub(super) async fn turn(
        &self,
        operation: &'static str,
        places: &[ShardKey],
        on: &Held<'_>,
        patience: Duration,
    ) -> Result<Turn, StoreError> {
        let turn = self.wait_turn(places, on, patience).await;
        let turn = turn.map_err(|busy| StoreError::new(StoreErrorKind::Transient, operation, busy))?;
        in_time(operation, on.connect(), classify).await?;
        Ok(turn)
    }

    /// The turn of somebody who takes what is elsewhere meanwhile; none if others are at work here for longer than `patience`.
    pub(super) async fn turn_soon(
        &self,
        operation: &'static str,
        place: ShardKey,
        on: &Held<'_>,
        patience: Duration,
    ) -> Result<Option<Turn>, StoreError> {
        match self.wait_turn(&[place], on, patience).await {
            Err(busy) => {
                tracing::debug!(%busy, "shard passed over");
                Ok(None)
            }
            Ok(turn) => {
                in_time(operation, on.connect(), classify).await?;
                Ok(Some(turn))
            }
        }
    }

    async fn wait_turn(&self, places: &[ShardKey], on: &Held<'_>, patience: Duration) -> Result<Turn, Busy> {
        match self.owned.turn_now(places) {
            Some(turn) => Ok(turn),
            None => {
                on.rest();
                self.owned.turn(places, patience).await
            }
        }
    }
}

impl OwnedShards {
    const LOCKED_FOR: Duration = Duration::from_secs(10);

    /// The books of a shard; a write of the lease row takes its [`Turn`] too.
    pub(crate) async fn state(&self, queue: &QueueName, shard: Shard) -> OwnedMutexGuard<ShardState> {
        let mut state = self.with(queue, shard, |owned| Arc::clone(&owned.state)).lock_owned().await;
        if let Some(seen) = self.with(queue, shard, |owned| owned.seen.take()) {
            state.note_seen(seen);
        }
        state
    }

    /// Notes what a look has found; while the books are open elsewhere it waits for the next call that opens them.
    pub(crate) fn note_seen(&self, queue: &QueueName, shard: Shard, seen: Seen) {
        self.with(queue, shard, |owned| match owned.state.try_lock() {
            Ok(mut state) => state.note_seen(seen),
            Err(_) => owned.seen = Some(seen),
        });
    }

    pub(crate) fn finishing(&self, queue: &QueueName, shard: Shard) -> Arc<Finishing> {
        self.with(queue, shard, |owned| Arc::clone(&owned.finishing))
    }

    /// Whether somebody was found lately who keeps a lease row locked, and it was not found free since. A call that writes it
    /// then asks first whether it is free: the one that found it has waited, and no other does.
    pub(super) fn was_locked_lately(&self, queue: &QueueName, shard: Shard, now: Duration) -> bool {
        let locked = self.with(queue, shard, |owned| owned.locked);
        locked.is_some_and(|at| now.saturating_sub(at) < Self::LOCKED_FOR)
    }

    pub(super) fn found_locked(&self, queue: &QueueName, shard: Shard, now: Duration) {
        self.with(queue, shard, |owned| owned.locked = Some(now));
    }

    pub(super) fn found_free(&self, queue: &QueueName, shard: Shard) {
        self.with(queue, shard, |owned| owned.locked = None);
    }

    async fn turn(&self, places: &[ShardKey], patience: Duration) -> Result<Turn, Busy> {
        let until = Instant::now() + patience;
        let mut first = Vec::with_capacity(places.len());
        for (queue, shard) in places {
            let place = || format!("shard {} of queue {queue}", shard.number());
            let busy = |_| Busy { place: place(), patience };
            first.push(timeout_at(until, self.turn_of(queue, *shard).lock_owned()).await.map_err(busy)?);
        }
        Ok(Turn(first))
    }

    fn turn_now(&self, places: &[ShardKey]) -> Option<Turn> {
        let at_once = |(queue, shard): &ShardKey| self.turn_of(queue, *shard).try_lock_owned().ok();
        places.iter().map(at_once).collect::<Option<_>>().map(Turn)
    }

    fn turn_of(&self, queue: &QueueName, shard: Shard) -> Arc<Mutex<()>> {
        self.with(queue, shard, |owned| Arc::clone(&owned.turn))
    }

    fn with<T>(&self, queue: &QueueName, shard: Shard, look: impl FnOnce(&mut OwnedShard) -> T) -> T {
        let mut shards = self.shards.lock().unwrap_or_else(PoisonError::into_inner);
        look(shards.entry((queue.clone(), shard)).or_default())
    }
}

#[cfg(all(test, feature = "sqlite"))]
mod tests {
    use claimstream_domain::{
        ByteBudget, ClaimId, ClaimRequest, InstanceId, Lease, MessageId, NewMessage, Owner, Payload,
    };
    use uuid::Uuid;

    use super::*;
    use crate::{
        OpenOptions, Order, SeaOrmOutbox, Strategy, StrategyChoice, strategy::shard_lease::claiming::claim,
    };

    #[tokio::test(flavor = "multi_thread")]
    async fn a_busy_shard_is_named_to_who_waits_for_it_and_passed_over_by_claims() {
        let file = std::env::temp_dir().join(format!("claimstream-lines-{}.db", Uuid::now_v7()));
        let strategy = StrategyChoice::Exactly(Strategy::ShardLease);
        // A claim that waited for as long would not end in the time of this test.
        let options =
            OpenOptions { strategy, acquire_timeout: Duration::from_secs(600), ..OpenOptions::default() };
        let outbox = SeaOrmOutbox::open(&format!("sqlite://{}", file.display()), options).await.unwrap();
        let queue = QueueName::new("orders").unwrap();
        let message = |n: u128| {
            NewMessage::new(MessageId::new(Uuid::from_u128(n << 64)), queue.clone(), Payload::json("{}"))
        };
        outbox.enqueue_now(&(1..=100).map(message).collect::<Vec<_>>()).await.unwrap();
        let (busy, me) = (Shard::from_number(3), InstanceId(1));
        let request = |limit, sequence| ClaimRequest {
            queue: queue.clone(),
            limit,
            lease: Lease::default(),
            claim: ClaimId::new(me, sequence),
            owner: Owner::new(me, "me").unwrap(),
            budget: ByteBudget::default(),
        };
        let rooms = &outbox.rooms;
        let lease = ShardLease::of(
            Arc::clone(&rooms.db),
            Arc::clone(&rooms.enqueueing),
            rooms.failover.clone(),
            Order::None,
        );
        let lease = Arc::new(lease);
        let (at_work, waits) = (Held::new(&rooms.db), Held::new(&rooms.db));
        let (place, patience) = ((queue.clone(), busy), Duration::from_millis(30));
        let turn = lease.turn("settle", std::slice::from_ref(&place), &at_work, patience).await;
        let turn = turn.ok().unwrap();
        let waited = lease.turn("settle", std::slice::from_ref(&place), &waits, patience).await;
        let error = waited.err().unwrap();
        assert_eq!(error.kind(), StoreErrorKind::Transient, "{error}");
        let text = "other calls of this process were at work in shard 3 of queue orders for 30ms";
        assert_eq!(error.to_string(), format!("settle: {}: {text}", error.kind()));
        let claimed = claim(&lease, request(100, 1)).await.unwrap();
        assert!(!claimed.is_empty() && claimed.iter().all(|one| one.receipt.shard != busy));
        drop(turn);
        let rest = claim(&lease, request(100, 2)).await.unwrap();
        assert_eq!(claimed.len() + rest.len(), 100);
        assert!(rest.iter().all(|one| one.receipt.shard == busy));
        drop((at_work, waits));
        drop(outbox);
        let _ = std::fs::remove_file(file);
    }
}
