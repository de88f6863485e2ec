use claimstream_domain::{DeadLetter, DeadLetterFilter, Message, Reason, Timestamp};

use super::row::Row;
use crate::clock::between;

/// A message that is not tried any more.
#[derive(Debug)]
pub(super) struct Dead {
    pub(super) message: Message,
    pub(super) attempts: u32,
    pub(super) reason: Reason,
    pub(super) died_at: Timestamp,
}

impl Dead {
    pub(super) fn matches(&self, filter: &DeadLetterFilter, now: Timestamp) -> bool {
        let DeadLetterFilter { queue, ids, dead_for } = filter;
        queue.as_ref().is_none_or(|queue| *queue == self.message.queue)
            && (ids.is_empty() || ids.contains(&self.message.id))
            && dead_for.is_none_or(|least| between(self.died_at, now) >= least)
    }

    pub(super) fn letter(&self, now: Timestamp) -> DeadLetter {
        DeadLetter {
            message: self.message.clone(),
            attempts: self.attempts,
            reason: self.reason.clone(),
            dead_for: between(self.died_at, now),
        }
    }

    pub(super) fn revived(self, now: Timestamp) -> Row {
        Row {
            message: self.message,
            dedup_key: None,
            available_at: now,
            claimed_from: now,
            claim: None,
            attempts: 0,
            last_error: None,
        }
    }
}
