use async_trait::async_trait;
use claimstream_domain::Lease;

use crate::{StoreError, StoreErrorKind};

/// A lock between processes that lapses by itself.
///
/// It saves work and never decides anything: a holder may be paused past its lease, so whatever it protects must check
/// the fence, or something better. Implementors owe: a fence that is larger than that of every earlier holder of the key,
/// as long as their memory lasts; release and renewal only by the holder of that fence; keys compared byte by byte, of at
/// most [`LockGuard::MAX_KEY_BYTES`], longer ones refused; times by their own clock; an end
/// in bounded time, an error if it must be.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait DistributedLock: Send + Sync {
    /// Takes the lock, or answers `None` at once if it is held.
    async fn try_acquire(&self, key: &str, lease: Lease) -> Result<Option<LockGuard>, StoreError>;

    /// Extends the lock, counted from now; `false` if it was lost.
    async fn renew(&self, guard: &LockGuard, lease: Lease) -> Result<bool, StoreError>;

    /// Gives the lock back; `false` if it was lost.
    async fn release(&self, guard: LockGuard) -> Result<bool, StoreError>;
}

/// The proof that a lock is held, for the handle that took it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LockGuard {
    /// The key of the lock.
    pub key: String,
    /// Grows with every holder.
    pub fence: u64,
}

impl LockGuard {
    /// The longest key, in bytes.
    pub const MAX_KEY_BYTES: usize = 255;

    /// Refuses a key that is too long.
    pub fn check_key(key: &str) -> Result<(), StoreError> {
        match key.len() {
            0..=Self::MAX_KEY_BYTES => Ok(()),
            bytes => Err(StoreError::new(
                StoreErrorKind::Unsupported,
                "lock",
                format!("the key has {bytes} bytes; a lock's key has at most {}", Self::MAX_KEY_BYTES),
            )),
        }
    }
}
