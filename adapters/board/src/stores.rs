use std::{fmt, sync::Arc};

use claimstream_ports::{DeadLetters, Observe};

/// The stores that a board shows.
///
/// A board has the pages that its stores can fill: [`of`](Self::of) takes a store that can fill all of them, [`new`](Self::new) takes
/// what the pages of queues and dead letters need.
#[derive(Clone)]
pub struct BoardStores {
    pub(crate) observe: Arc<dyn Observe>,
    pub(crate) dead_letters: Arc<dyn DeadLetters>,
}

impl BoardStores {
    /// Every page, on one store.
    pub fn of<S: Observe + DeadLetters + 'static>(store: Arc<S>) -> Self {
        Self::new(store.clone(), store)
    }

    /// The pages of queues and of dead letters: `observe` counts the messages of queues, and `dead_letters` lists, revives and purges
    /// what was given up.
    pub fn new(observe: Arc<dyn Observe>, dead_letters: Arc<dyn DeadLetters>) -> Self {
        Self { observe, dead_letters }
    }
}

impl fmt::Debug for BoardStores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoardStores").finish_non_exhaustive()
    }
}
