use async_trait::async_trait;
use claimstream_domain::{Lease, LockListed};
use claimstream_ports::{DistributedLock, ListLocks, LockGuard, StoreError};

use crate::store::MemoryStore;

#[async_trait]
impl DistributedLock for MemoryStore {
    async fn try_acquire(&self, key: &str, lease: Lease) -> Result<Option<LockGuard>, StoreError> {
        LockGuard::check_key(key)?;
        let now = self.database.now();
        Ok(self.database.tables().locks.try_acquire(key, lease, now))
    }

    async fn renew(&self, guard: &LockGuard, lease: Lease) -> Result<bool, StoreError> {
        let now = self.database.now();
        Ok(self.database.tables().locks.extend(guard, lease, now))
    }

    async fn release(&self, guard: LockGuard) -> Result<bool, StoreError> {
        let now = self.database.now();
        Ok(self.database.tables().locks.release(&guard, now))
    }
}

#[async_trait]
impl ListLocks for MemoryStore {
    async fn locks(&self, after: Option<String>, limit: u32) -> Result<Vec<LockListed>, StoreError> {
        Ok(self.database.tables().locks.list(after.as_deref(), limit, self.database.now()))
    }
}
