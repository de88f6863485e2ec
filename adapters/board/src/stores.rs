use std::{fmt, sync::Arc};

use claimstream_ports::{DeadLetters, Observe};

/// The stores that a board shows.
#[derive(Clone)]
pub struct BoardStores {
    /// Counts the messages of queues.
    pub observe: Arc<dyn Observe>,
    /// Lists, revives and purges what was given up.
    pub dead_letters: Arc<dyn DeadLetters>,
}

impl fmt::Debug for BoardStores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoardStores").finish_non_exhaustive()
    }
}
