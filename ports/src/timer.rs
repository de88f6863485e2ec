use std::time::Duration;

use async_trait::async_trait;

/// A runtime's way to wait, and its monotonic clock.
///
/// Implementors owe: [`now`](Self::now) never goes back and counts while the process is paused as well as the system
/// allows; [`sleep`](Self::sleep) ends no earlier than asked, by the same clock, and stops when it is dropped.
#[async_trait]
pub trait Timer: Send + Sync {
    /// Time since some fixed moment before the first call.
    fn now(&self) -> Duration;

    /// Waits.
    async fn sleep(&self, duration: Duration);
}
