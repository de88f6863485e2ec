use std::time::Duration;

use crate::QueueName;

/// How one queue stands at one moment of the store's clock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QueueStatus {
    /// The queue.
    pub queue: QueueName,
    /// Messages that are neither done nor dead: due, leased and later ones.
    pub depth: u64,
    /// Messages whose time has come and that no claim holds. Under an order by key one may still wait behind another of its key;
    /// one that waits for its own retry is not due.
    pub due: u64,
    /// Messages under a live lease.
    pub leased: u64,
    /// Messages of which an attempt has failed and whose next one has not come.
    pub retrying: u64,
    /// How long the longest-waiting due message has been due.
    pub oldest: Option<Duration>,
    /// Dead letters.
    pub dead: u64,
    /// Messages that cannot be claimed, because they lie in shards that the store does not have or are written wrong. They count as
    /// depth alone.
    pub stray: u64,
}

impl QueueStatus {
    /// After so long it is time to ask whether a relay reads a queue: leases and poll intervals are shorter by far.
    pub const UNREAD_AFTER: Duration = Duration::from_secs(5 * 60);

    /// A queue that holds nothing.
    pub fn empty(queue: QueueName) -> Self {
        Self { queue, depth: 0, due: 0, leased: 0, retrying: 0, oldest: None, dead: 0, stray: 0 }
    }

    /// Messages whose time has not come, and of which no attempt is counted.
    pub fn scheduled(&self) -> u64 {
        self.depth.saturating_sub(self.due + self.leased + self.retrying + self.stray)
    }

    /// Messages whose time has not come, whether an attempt has failed or none is counted.
    pub fn waiting(&self) -> u64 {
        self.scheduled() + self.retrying
    }

    /// Whether no relay seems to read the queue: something has been due for long, and nothing is in hand.
    pub fn seems_unread(&self) -> bool {
        self.leased == 0 && self.oldest.is_some_and(|oldest| oldest >= Self::UNREAD_AFTER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scheduled_messages_are_those_that_nothing_else_counts() {
        let queue = QueueName::new("orders").unwrap();
        let status =
            QueueStatus { queue, depth: 20, due: 3, leased: 4, retrying: 5, oldest: None, dead: 9, stray: 1 };
        assert_eq!(status.scheduled(), 7);
    }

    #[test]
    fn a_queue_seems_unread_if_something_waits_for_long_and_nothing_is_in_hand() {
        let queue = QueueName::new("orders").unwrap();
        let status = |leased, oldest| QueueStatus {
            depth: 9,
            due: 3,
            leased,
            oldest,
            ..QueueStatus::empty(queue.clone())
        };
        let (long, short) = (QueueStatus::UNREAD_AFTER, QueueStatus::UNREAD_AFTER - Duration::from_secs(1));
        assert!(status(0, Some(long)).seems_unread());
        assert!(
            ![status(1, Some(long)), status(0, Some(short)), status(0, None)]
                .iter()
                .any(QueueStatus::seems_unread)
        );
    }
}
