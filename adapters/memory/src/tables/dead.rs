use claimstream_domain::{
    DeadLetter, DeadLetterFilter, DeadLetterListed, DeadLetterPlace, Doubt, Message, MessageStanding,
    MessageState, Reason, Timestamp,
};

use super::row::Row;
use crate::clock::between;

/// A message that is not tried any more.
#[derive(Debug)]
pub(super) struct Dead {
    pub(super) message: Message,
    pub(super) attempts: u32,
    pub(super) reason: Reason,
    pub(super) died_at: Timestamp,
    /// When it was stored first.
    pub(super) first_at: Timestamp,
}

impl Dead {
    pub(super) fn matches(&self, filter: &DeadLetterFilter, now: Timestamp) -> bool {
        let DeadLetterFilter { queue, ids, dead_for, reason } = filter;
        queue.as_ref().is_none_or(|queue| *queue == self.message.queue)
            && (ids.is_empty() || ids.contains(&self.message.id))
            && reason.as_ref().is_none_or(|reason| *reason == self.reason)
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

    pub(super) fn listed(&self, now: Timestamp) -> DeadLetterListed {
        DeadLetterListed {
            id: self.message.id,
            queue: self.message.queue.clone(),
            attempts: self.attempts,
            reason: self.reason.clone(),
            dead_for: between(self.died_at, now),
        }
    }

    pub(super) fn place(&self) -> DeadLetterPlace {
        DeadLetterPlace::new(self.died_at.as_micros(), self.message.id)
    }

    pub(super) fn standing(&self, now: Timestamp) -> MessageStanding {
        MessageStanding {
            id: self.message.id,
            queue: self.message.queue.clone(),
            attempts: self.attempts,
            last_error: Some(self.reason.clone()),
            state: MessageState::Dead { since: between(self.died_at, now) },
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
            last_error: Doubt::kept(&self.reason),
            stored_at: now,
            first_at: Some(self.first_at),
        }
    }
}
