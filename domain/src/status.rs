use std::time::Duration;

use crate::QueueName;

/// How one queue stands at one moment of the store's clock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QueueStatus {
    /// The queue.
    pub queue: QueueName,
    /// Messages that are neither done nor dead: due, leased and later ones.
    pub depth: u64,
    /// Messages that could be claimed now.
    pub due: u64,
    /// Messages under a live lease.
    pub leased: u64,
    /// How long the longest-waiting due message has been due.
    pub oldest: Option<Duration>,
    /// Dead letters.
    pub dead: u64,
}
