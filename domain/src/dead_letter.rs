use std::time::Duration;

use crate::{Message, MessageId, QueueName, Reason};

/// A message that was given up, with everything needed to judge and revive it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeadLetter {
    /// The message as it was.
    pub message: Message,
    /// How often it had been claimed.
    pub attempts: u32,
    /// Why it was given up.
    pub reason: Reason,
    /// How long ago, by the store's clock.
    pub dead_for: Duration,
}

/// Which dead letters to list, revive or purge: those that match every field; all of them by default.
///
/// ```
/// use std::time::Duration;
///
/// use claimstream_domain::{DeadLetterFilter, QueueName};
///
/// let week = Duration::from_secs(7 * 86_400);
/// let old =
///     DeadLetterFilter { queue: Some(QueueName::new("orders")?), dead_for: Some(week), ..DeadLetterFilter::default() };
/// # assert!(old.ids.is_empty());
/// # Ok::<(), claimstream_domain::Invalid>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DeadLetterFilter {
    /// Only this queue.
    pub queue: Option<QueueName>,
    /// Only these messages; all if empty.
    pub ids: Vec<MessageId>,
    /// Only those that have been dead for at least this long.
    pub dead_for: Option<Duration>,
    /// Only those that were given up for exactly this reason.
    pub reason: Option<Reason>,
}
