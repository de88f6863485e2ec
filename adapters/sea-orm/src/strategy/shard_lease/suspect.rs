use std::sync::{Arc, Mutex, PoisonError};

use claimstream_domain::MessageId;
use tokio::sync::OwnedMutexGuard;

use super::shard_state::ShardState;

/// The one suspect that this outbox has in flight, whatever its shard and queue.
///
/// A process that ends takes everything along that it has in flight, in all of its shards. A suspect beside the one that
/// ends processes would lose an attempt each time, until it is buried for nothing.
#[derive(Default)]
pub(crate) struct SuspectSlot(Mutex<Option<Suspect>>);

struct Suspect {
    state: Arc<tokio::sync::Mutex<ShardState>>,
    message: MessageId,
}

impl SuspectSlot {
    /// Whether a suspect of this state may be handed out.
    pub(crate) fn is_free(&self, state: &OwnedMutexGuard<ShardState>, now: i64) -> bool {
        let suspect = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        suspect.as_ref().is_none_or(|suspect| !suspect.is_in_flight(state, now))
    }

    /// Makes a suspect of this state the one; false if there is one already.
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
    /// Whether it is in flight; a state that somebody works on is not waited for.
    fn is_in_flight(&self, ours: &OwnedMutexGuard<ShardState>, now: i64) -> bool {
        if Arc::ptr_eq(&self.state, OwnedMutexGuard::mutex(ours)) {
            return ours.has_unexpired(self.message, now);
        }
        self.state.try_lock().map_or(true, |state| state.has_unexpired(self.message, now))
    }
}
