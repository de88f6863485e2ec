use std::sync::{Arc, Mutex, PoisonError};

use claimstream_domain::MessageId;
use tokio::sync::OwnedMutexGuard;

use super::hold::Hold;

/// The one suspect that this outbox has in flight, whatever its shard and queue.
///
/// A process that ends takes everything along that it has in flight, in all of its shards. A suspect beside the one that
/// ends processes would lose an attempt each time, until it is buried for nothing.
#[derive(Default)]
pub(crate) struct Lone(Mutex<Option<Suspect>>);

struct Suspect {
    hold: Arc<tokio::sync::Mutex<Hold>>,
    message: MessageId,
}

impl Lone {
    /// Whether a suspect of this hold may be handed out.
    pub(crate) fn is_free(&self, hold: &OwnedMutexGuard<Hold>, now: i64) -> bool {
        let suspect = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        suspect.as_ref().is_none_or(|suspect| !suspect.flies(hold, now))
    }

    /// Makes a suspect of this hold the one; false if there is one already.
    pub(crate) fn take(&self, hold: &OwnedMutexGuard<Hold>, message: MessageId, now: i64) -> bool {
        let mut suspect = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if suspect.as_ref().is_some_and(|suspect| suspect.flies(hold, now)) {
            return false;
        }
        *suspect = Some(Suspect { hold: OwnedMutexGuard::mutex(hold).clone(), message });
        true
    }
}

impl Suspect {
    /// Whether it is in flight; a hold that somebody works on is not waited for.
    fn flies(&self, ours: &OwnedMutexGuard<Hold>, now: i64) -> bool {
        if Arc::ptr_eq(&self.hold, OwnedMutexGuard::mutex(ours)) {
            return ours.has_aloft(self.message, now);
        }
        self.hold.try_lock().map_or(true, |hold| hold.has_aloft(self.message, now))
    }
}
