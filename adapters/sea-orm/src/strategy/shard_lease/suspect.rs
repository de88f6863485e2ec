use std::sync::{Arc, Mutex, PoisonError};

use claimstream_domain::MessageId;
use tokio::sync::OwnedMutexGuard;

use crate::strategy::shard_lease::shard_state::ShardState;

/// The one suspect that this outbox has in flight, in any shard and queue.
///
/// A process that ends loses all that it has in flight, in all of its shards. A suspect next to the one that ends processes
/// would lose an attempt each time, until it is buried for nothing.
#[derive(Default)]
pub(crate) struct SuspectSlot(Mutex<Option<Suspect>>);

struct Suspect {
    state: Arc<tokio::sync::Mutex<ShardState>>,
    message: MessageId,
}

/// Whether a suspect may be handed out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Suspects {
    /// No other shard has one in flight.
    Allowed,
    /// Another shard has one in flight; until it is settled the messages behind a suspect overtake it.
    Deferred,
}

impl SuspectSlot {
    /// Whether a suspect of this shard may be handed out.
    pub(crate) fn suspects(&self, state: &OwnedMutexGuard<ShardState>, now: i64) -> Suspects {
        let suspect = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match suspect.as_ref().is_none_or(|suspect| !suspect.is_in_flight(state, now)) {
            true => Suspects::Allowed,
            false => Suspects::Deferred,
        }
    }

    /// Makes a message of this shard the one suspect; false if there is one already.
    pub(crate) fn take(&self, state: &OwnedMutexGuard<ShardState>, message: MessageId, now: i64) -> bool {
        let mut suspect = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if suspect.as_ref().is_some_and(|suspect| suspect.is_in_flight(state, now)) {
            return false;
        }
        *suspect = Some(Suspect { state: OwnedMutexGuard::mutex(state).clone(), message });
        true
    }
}

impl Suspect {
    /// Whether it is in flight; if a call has its shard's state locked, it counts as in flight.
    fn is_in_flight(&self, ours: &OwnedMutexGuard<ShardState>, now: i64) -> bool {
        if Arc::ptr_eq(&self.state, OwnedMutexGuard::mutex(ours)) {
            return ours.has_unexpired(self.message, now);
        }
        self.state.try_lock().map_or(true, |state| state.has_unexpired(self.message, now))
    }
}
