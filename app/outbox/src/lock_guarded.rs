use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use claimstream_domain::{ClaimRequest, Claimed, Lease, QueueName};
use claimstream_ports::{DistributedLock, LockGuard, LockingStrategy, StoreError};

/// Any strategy behind a lock: of all instances, one at a time asks the store for a queue's messages.
///
/// The lock saves work and decides nothing. What a claim takes is decided by the strategy and its claim id, so a lock that
/// was lost in the middle of a claim, that two hold at a time, or that has forgotten everything costs a query and never a
/// message. While the lock's server does not answer, claims are made without it: a warning says so once, and so does a
/// note when it is back.
///
/// A relay that finds the lock held claims nothing and looks again after its idle wait.
pub struct LockGuarded {
    strategy: Arc<dyn LockingStrategy>,
    lock: Arc<dyn DistributedLock>,
    lease: Lease,
    /// Of which database the queues are; empty if the lock is of one alone.
    database: String,
    /// The last call of the lock failed.
    unguarded: AtomicBool,
}

impl LockGuarded {
    /// How long a holder that died keeps the others from claiming by default; a claim takes far less.
    pub const LEASE: Duration = Duration::from_secs(2);

    /// Guards `strategy` by `lock`, which all relays on the same tables should share.
    pub fn new(strategy: Arc<dyn LockingStrategy>, lock: Arc<dyn DistributedLock>) -> Self {
        let lease = Lease::new(Self::LEASE).unwrap_or_default();
        Self { strategy, lock, lease, database: String::new(), unguarded: AtomicBool::default() }
    }

    /// Lets a lock that is not given back lapse after another time than [`LEASE`](Self::LEASE).
    pub fn with_lease(self, lease: Lease) -> Self {
        Self { lease, ..self }
    }

    /// Shares the lock with those relays alone that say the same name of a database: several databases may use one Redis, and their queues
    /// may have the same names.
    pub fn of_database(self, name: &str) -> Self {
        Self { database: name.to_owned(), ..self }
    }

    /// The key under which a queue is locked.
    pub fn key(&self, queue: &QueueName) -> String {
        match self.database.as_str() {
            "" => format!("claim/{queue}"),
            database => format!("claim/{database}/{queue}"),
        }
    }

    async fn enter(&self, queue: &QueueName) -> Entry {
        match self.lock.try_acquire(&self.key(queue), self.lease).await {
            Ok(guard) => {
                if self.unguarded.swap(false, Ordering::Relaxed) {
                    tracing::info!(%queue, "the lock answers again");
                }
                guard.map_or(Entry::Busy, |guard| Entry::Open(Some(guard)))
            }
            Err(error) => {
                if !self.unguarded.swap(true, Ordering::Relaxed) {
                    tracing::warn!(%queue, %error, "the lock does not answer; claims continue without it");
                }
                Entry::Open(None)
            }
        }
    }

    /// A lock that cannot be given back lapses by itself.
    async fn leave(&self, guard: LockGuard) {
        match self.lock.release(guard).await {
            Ok(true) => {}
            Ok(false) => tracing::debug!("a claim took longer than its lock"),
            Err(error) => tracing::debug!(%error, "a lock could not be given back"),
        }
    }
}

/// Whether a claim may begin.
enum Entry {
    /// With the lock, or without it because its holder is unknown.
    Open(Option<LockGuard>),
    /// Another instance is claiming.
    Busy,
}

#[async_trait]
impl LockingStrategy for LockGuarded {
    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<Claimed>, StoreError> {
        let Entry::Open(guard) = self.enter(&request.queue).await else { return Ok(Vec::new()) };
        let claimed = self.strategy.claim(request).await;
        if let Some(guard) = guard {
            self.leave(guard).await;
        }
        claimed
    }

    async fn release_read_ahead(&self, queue: &QueueName) -> Result<(), StoreError> {
        self.strategy.release_read_ahead(queue).await
    }
}

impl fmt::Debug for LockGuarded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LockGuarded").field("lease", &self.lease).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use claimstream_domain::{ClaimId, InstanceId, Owner};
    use claimstream_ports::{
        StoreErrorKind,
        mock::{MockDistributedLock, MockLockingStrategy},
    };
    use futures::executor::block_on;

    use super::*;

    fn request() -> ClaimRequest {
        ClaimRequest {
            budget: Default::default(),
            queue: QueueName::new("orders").unwrap(),
            limit: 7,
            lease: Lease::default(),
            claim: ClaimId::new(InstanceId(1), 2),
            owner: Owner::new(InstanceId(1), "a").unwrap(),
            runs: None,
        }
    }

    fn away() -> StoreError {
        StoreError::new(StoreErrorKind::Unavailable, "lock", "no answer")
    }

    fn guarded(strategy: MockLockingStrategy, lock: MockDistributedLock) -> LockGuarded {
        LockGuarded::new(Arc::new(strategy), Arc::new(lock))
    }

    fn asked(times: usize) -> MockLockingStrategy {
        let mut strategy = MockLockingStrategy::new();
        strategy.expect_claim().times(times).returning(|_| Ok(Vec::new()));
        strategy
    }

    /// Guard: the holder releases the lock | no `leave`
    #[test]
    fn the_holder_asks_the_store_and_gives_the_lock_back() {
        let mut lock = MockDistributedLock::new();
        lock.expect_try_acquire()
            .withf(|key, lease| key == "claim/orders" && lease.duration() == LockGuarded::LEASE)
            .times(1)
            .returning(|key, _| Ok(Some(LockGuard { key: key.into(), fence: 9 })));
        lock.expect_release().withf(|guard| guard.fence == 9).times(1).returning(|_| Ok(true));
        block_on(guarded(asked(1), lock).claim(&request())).unwrap();
    }

    /// Guard: relays of several databases do not wait for each other | `key`: without the database
    #[test]
    fn queues_of_several_databases_have_locks_of_their_own() {
        let of = |name: &str| guarded(asked(0), MockDistributedLock::new()).of_database(name);
        let queue = request().queue;
        let keys = ["", "shop", "books"].map(|name| of(name).key(&queue));
        assert_eq!(keys, ["claim/orders", "claim/shop/orders", "claim/books/orders"]);
    }

    /// Guard: the store is left alone while another holds the lock | `held` is `open`
    #[test]
    fn whoever_finds_the_lock_held_leaves_the_store_alone() {
        let mut lock = MockDistributedLock::new();
        lock.expect_try_acquire().times(1).returning(|_, _| Ok(None));
        assert_eq!(block_on(guarded(asked(0), lock).claim(&request())).unwrap(), []);
    }

    /// Guard: claims continue without the lock while it does not answer | an error is `Busy`
    #[test]
    fn claims_go_on_while_the_lock_does_not_answer() {
        let mut lock = MockDistributedLock::new();
        lock.expect_try_acquire().times(2).returning(|_, _| Err(away()));
        let guarded = guarded(asked(2), lock);
        for _ in 0..2 {
            block_on(guarded.claim(&request())).unwrap();
        }
    }

    /// Guard: the lock is released after the store failed | returns before `leave`
    #[test]
    fn the_lock_is_given_back_when_the_store_fails_and_its_own_failure_is_nobodys() {
        let mut strategy = MockLockingStrategy::new();
        strategy.expect_claim().times(1).returning(|_| Err(away()));
        let mut lock = MockDistributedLock::new();
        lock.expect_try_acquire()
            .times(1)
            .returning(|key, _| Ok(Some(LockGuard { key: key.into(), fence: 9 })));
        lock.expect_release().times(1).returning(|_| Err(away()));
        let error = block_on(guarded(strategy, lock).claim(&request())).unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Unavailable);
    }
}
