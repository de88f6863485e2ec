use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    task::Waker,
};

use claimstream_domain::{FairShares, GrantedPlace, Invalid};

/// One limit for all handlers of a process that relays from several databases; clones share it.
///
/// Each database takes a [`share`](Self::share) of it, and hands that to its relays by [`Relay::with_share`](crate::relay::Relay::with_share).
/// While places are free, whichever pipeline has a message gets one. Once they are not, each that comes back goes to the next
/// database in turn that has messages waiting. Half of its equal share is kept free for each database, so that one that is
/// away, and whose handlers hang, does not hold the places of the others.
///
/// ```
/// use claimstream::SharedConcurrency;
///
/// let limit = SharedConcurrency::new(64)?;
/// let (orders, billing) = (limit.share(), limit.share());
/// // Relay::new(orders_store, timer, config).with_share(orders) ...
/// # Ok::<(), claimstream::Invalid>(())
/// ```
#[derive(Clone)]
pub struct SharedConcurrency(Arc<Mutex<State>>);

/// What one database has of a [`SharedConcurrency`]; clones are the same share, which is given up with the last of them.
#[derive(Clone)]
pub struct ConcurrencyShare(Arc<Party>);

struct State {
    shares: FairShares,
    /// Of the askers that wait.
    wakers: HashMap<u64, Waker>,
    /// Places that were given to askers that waited, and that these have not taken yet.
    granted: HashMap<u64, u32>,
}

struct Party {
    limit: SharedConcurrency,
    number: u64,
}

impl SharedConcurrency {
    /// At most so many messages in the hands of handlers at the same time; refuses none at all.
    ///
    /// Messages count, not batches: a handler of batches takes a place for each message of its batch that has no verdict yet.
    pub fn new(messages: u32) -> Result<Self, Invalid> {
        let shares = FairShares::new(messages)?;
        Ok(Self(Arc::new(Mutex::new(State { shares, wakers: HashMap::new(), granted: HashMap::new() }))))
    }

    /// A share for the relays of one more database.
    pub fn share(&self) -> ConcurrencyShare {
        let mut state = self.state();
        let (number, granted) = state.shares.join();
        state.hand_out(granted);
        drop(state);
        ConcurrencyShare(Arc::new(Party { limit: self.clone(), number }))
    }

    /// How many messages are in the hands of handlers, those included that are about to be handed over.
    pub fn in_use(&self) -> u32 {
        self.state().shares.held()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Wakes those that have a place now.
    fn hand_out(&mut self, granted: Vec<GrantedPlace>) {
        for (_, asker) in granted {
            *self.granted.entry(asker).or_default() += 1;
            if let Some(waker) = self.wakers.remove(&asker) {
                waker.wake();
            }
        }
    }
}

impl ConcurrencyShare {
    /// A number that no other pipeline of the process asks by.
    pub(crate) fn fresh_asker() -> u64 {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        NEXT.fetch_add(1, Ordering::Relaxed)
    }

    /// Takes up to `wanted` places; if there is none, the asker waits for one and is woken.
    pub(crate) fn take(&self, asker: u64, wanted: u32, waker: &Waker) -> u32 {
        let (mut state, party) = (self.0.limit.state(), self.0.number);
        let granted = state.granted.remove(&asker).unwrap_or_default();
        let taken = granted + state.shares.take(party, wanted.saturating_sub(granted));
        match taken {
            0 => {
                state.shares.wait(party, asker);
                state.wakers.insert(asker, waker.clone());
            }
            _ => {
                state.shares.withdraw(party, asker);
                state.wakers.remove(&asker);
            }
        }
        taken
    }

    /// Gives places back.
    pub(crate) fn give_back(&self, places: u32) {
        if places > 0 {
            let mut state = self.0.limit.state();
            let granted = state.shares.give_back(self.0.number, places);
            state.hand_out(granted);
        }
    }

    /// Waits no longer, and gives back what was given meanwhile.
    pub(crate) fn withdraw(&self, asker: u64) {
        let mut state = self.0.limit.state();
        state.shares.withdraw(self.0.number, asker);
        state.wakers.remove(&asker);
        let unused = state.granted.remove(&asker).unwrap_or_default();
        let granted = state.shares.give_back(self.0.number, unused);
        state.hand_out(granted);
    }
}

impl Drop for Party {
    fn drop(&mut self) {
        let mut state = self.limit.state();
        let granted = state.shares.leave(self.number);
        state.hand_out(granted);
    }
}

impl fmt::Debug for SharedConcurrency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("SharedConcurrency")
            .field("messages", &state.shares.most())
            .field("in_use", &state.shares.held())
            .finish()
    }
}

impl fmt::Debug for ConcurrencyShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConcurrencyShare").field("of", &self.0.limit).finish()
    }
}
