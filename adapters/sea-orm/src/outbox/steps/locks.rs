use async_trait::async_trait;
use claimstream_domain::{Lease, LockListed};
use claimstream_ports::{DistributedLock, ListLocks, LockGuard, StoreError};

use crate::{
    locks::{
        list::{find_lock, list_locks},
        rows::{release_lock, renew_lock, take_lock},
    },
    outbox::handle::SeaOrmOutbox,
};

const LOCK: &str = "lock";

/// A lock is a row; the database's clock decides when it lapses.
#[async_trait]
impl DistributedLock for SeaOrmOutbox {
    async fn try_acquire(&self, key: &str, lease: Lease) -> Result<Option<LockGuard>, StoreError> {
        LockGuard::check_key(key)?;
        let key = key.to_owned();
        self.detached(LOCK, move |state| async move { take_lock(&state.db, &key, lease).await }).await
    }

    async fn renew(&self, guard: &LockGuard, lease: Lease) -> Result<bool, StoreError> {
        let guard = guard.clone();
        self.detached(LOCK, move |state| async move { renew_lock(&state.db, &guard, lease).await }).await
    }

    async fn release(&self, guard: LockGuard) -> Result<bool, StoreError> {
        self.detached(LOCK, move |state| async move { release_lock(&state.db, &guard).await }).await
    }
}

impl SeaOrmOutbox {
    /// The lock with this key, also one that has lapsed, until it is swept; `None` if there is none.
    pub async fn lock_listed(&self, key: &str) -> Result<Option<LockListed>, StoreError> {
        let key = key.to_owned();
        self.detached(LOCK, move |state| async move { find_lock(&state.db, &key).await }).await
    }
}

#[async_trait]
impl ListLocks for SeaOrmOutbox {
    async fn locks(&self, after: Option<String>, limit: u32) -> Result<Vec<LockListed>, StoreError> {
        self.detached(LOCK, move |state| async move { list_locks(&state.db, after, limit).await }).await
    }
}
