use async_trait::async_trait;
use claimstream_domain::Lease;

use crate::StoreError;

/// A lock between processes that lapses by itself.
///
/// It saves work and never decides anything: a holder may be paused past its lease, so whatever it protects must check
/// the fence. Implementors owe: a fence that is larger than that of every earlier holder of the key; release and renewal
/// only by the holder of that fence.
#[async_trait]
pub trait DistributedLock: Send + Sync {
    /// Takes the lock, or answers `None` at once if somebody holds it.
    async fn try_acquire(&self, key: &str, lease: Lease) -> Result<Option<LockGuard>, StoreError>;

    /// Extends the lock; `false` if it was lost.
    async fn renew(&self, guard: &LockGuard, lease: Lease) -> Result<bool, StoreError>;

    /// Gives the lock back; `false` if it was lost.
    async fn release(&self, guard: LockGuard) -> Result<bool, StoreError>;
}

/// The proof that a lock is held.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LockGuard {
    /// What is locked.
    pub key: String,
    /// Grows with every holder.
    pub fence: u64,
}
