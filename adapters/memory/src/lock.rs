use std::collections::HashMap;

use async_trait::async_trait;
use claimstream_domain::{Lease, Timestamp, is_due};
use claimstream_ports::{DistributedLock, LockGuard, StoreError};

use crate::{clock::after, store::MemoryStore};

/// Who holds what, and the last fence of every key that was ever held.
#[derive(Debug, Default)]
pub(crate) struct Locks(HashMap<String, Lock>);

#[derive(Debug)]
struct Lock {
    fence: u64,
    /// When the lock lapses; nothing if it has been given back.
    until: Option<Timestamp>,
}

#[async_trait]
impl DistributedLock for MemoryStore {
    async fn try_acquire(&self, key: &str, lease: Lease) -> Result<Option<LockGuard>, StoreError> {
        LockGuard::check_key(key)?;
        let now = self.database.now();
        Ok(self.database.tables().locks.try_acquire(key, lease, now))
    }

    async fn renew(&self, guard: &LockGuard, lease: Lease) -> Result<bool, StoreError> {
        let now = self.database.now();
        let mut tables = self.database.tables();
        let Some(lock) = tables.locks.held(guard, now) else { return Ok(false) };
        lock.until = Some(after(now, lease.duration()));
        Ok(true)
    }

    async fn release(&self, guard: LockGuard) -> Result<bool, StoreError> {
        let now = self.database.now();
        let mut tables = self.database.tables();
        let Some(lock) = tables.locks.held(&guard, now) else { return Ok(false) };
        lock.until = None;
        Ok(true)
    }
}

impl Locks {
    fn try_acquire(&mut self, key: &str, lease: Lease, now: Timestamp) -> Option<LockGuard> {
        let lock = self.0.entry(key.to_owned()).or_insert(Lock { fence: 0, until: None });
        if lock.is_held(now) {
            return None;
        }
        lock.fence += 1;
        lock.until = Some(after(now, lease.duration()));
        Some(LockGuard { key: key.to_owned(), fence: lock.fence })
    }

    /// The lock, if this guard still holds it.
    fn held(&mut self, guard: &LockGuard, now: Timestamp) -> Option<&mut Lock> {
        self.0.get_mut(&guard.key).filter(|lock| lock.fence == guard.fence && lock.is_held(now))
    }
}

impl Lock {
    fn is_held(&self, now: Timestamp) -> bool {
        self.until.is_some_and(|until| !is_due(until, now))
    }
}
