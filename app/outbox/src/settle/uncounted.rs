use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use claimstream_domain::{ClaimEnd, MessageId};

/// How often the leases of messages ran out because the store did not answer a renewal in time.
#[derive(Default)]
pub(crate) struct UncountedExpiries(Mutex<HashMap<MessageId, u32>>);

impl UncountedExpiries {
    /// Of so many messages the number of such ends is known.
    const MOST: usize = 10_000;

    /// Notes another such end of a claim; true if it does not count as an attempt.
    pub(crate) fn note(&self, message: MessageId) -> bool {
        let mut messages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if messages.len() >= Self::MOST {
            messages.clear();
        }
        let excused = messages.entry(message).or_default();
        let end = ClaimEnd::Unanswered { excused: *excused };
        *excused += 1;
        !end.counts()
    }
}
