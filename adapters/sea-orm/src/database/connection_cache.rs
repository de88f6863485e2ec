use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::runtime::Handle;

use crate::database::{commits::Commits, lent::Lent, outage::Outage, store_timer::StoreTimer};

/// Connections that claims and settlements keep at hand: every return to the pool costs two round trips.
///
/// It keeps a connection only if all its statements were answered well and it is in no transaction. A connection goes back to
/// the pool if no call has asked for it in the last seconds, or if it is from before an outage. No caller waits at the pool for
/// long: while a caller that the cache knows of waits, all connections go back; as long as the pool has none left, one goes
/// back now and then for callers that the cache does not see.
pub(crate) struct ConnectionCache {
    shelf: Arc<Shelf>,
    most: usize,
    /// How many callers are known to wait for a connection of the pool; meanwhile nothing is kept.
    wanted: AtomicUsize,
}

/// What the pool could give to the next caller.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reserve {
    /// It has an idle connection, or may open one.
    Left,
    /// All its connections are in use.
    UsedUp,
}

/// A caller waits for a connection of the pool.
pub(crate) struct Wanted<'a>(&'a ConnectionCache);

impl Drop for Wanted<'_> {
    fn drop(&mut self) {
        self.0.wanted.fetch_sub(1, Ordering::Relaxed);
    }
}

struct Shelf {
    timer: StoreTimer,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    connections: Vec<Connection>,
    /// When a connection last went back because the pool had none left.
    spared: Option<Duration>,
    /// Whether a task returns connections that no call asks for.
    watched: bool,
}

struct Connection {
    connection: Lent,
    commits: Commits,
    since: Duration,
}

impl ConnectionCache {
    /// Below this many connections the pool has none to spare.
    const LEAST_POOL: u32 = 4;
    const FRESH_FOR: Duration = Duration::from_secs(2);
    /// How long a caller that the cache does not see may wait at most.
    const SPARES_EVERY: Duration = Duration::from_millis(50);

    /// Keeps no more than half of a pool's connections.
    pub(crate) fn for_pool_of(max_connections: u32, timer: StoreTimer) -> Self {
        let most = if max_connections < Self::LEAST_POOL { 0 } else { max_connections as usize / 2 };
        Self::of(most, timer)
    }

    /// For an outbox whose connections have to pass through the pool each time.
    pub(crate) fn closed(timer: StoreTimer) -> Self {
        Self::of(0, timer)
    }

    fn of(most: usize, timer: StoreTimer) -> Self {
        let shelf = Arc::new(Shelf { timer, kept: Mutex::default() });
        Self { shelf, most, wanted: AtomicUsize::default() }
    }

    /// To be held while a caller waits for a connection of the pool.
    pub(crate) fn wanted(&self) -> Wanted<'_> {
        self.wanted.fetch_add(1, Ordering::Relaxed);
        Wanted(self)
    }

    /// The newest connection at hand, rather one that commits so, and how it does commit.
    pub(crate) fn take(&self, commits: Commits, outage: &Outage) -> Option<(Lent, Commits)> {
        let mut kept = self.shelf.kept();
        let newest = kept.connections.iter().rposition(|kept| kept.commits == commits);
        let newest = newest.or(kept.connections.len().checked_sub(1))?;
        let newest = kept.connections.remove(newest);
        outage.trusts(self.shelf.age(newest.since)).then_some((newest.connection, newest.commits))
    }

    /// Keeps a connection. It goes back to the pool if there are enough already, or if a caller waits for one.
    pub(crate) fn keep(&self, connection: Lent, commits: Commits, pool: Reserve, runtime: &Handle) {
        let mut kept = self.shelf.kept();
        if kept.connections.len() >= self.most || self.wanted.load(Ordering::Relaxed) > 0 {
            return give_back(connection, commits);
        }
        if pool == Reserve::UsedUp && kept.spared.is_none_or(|at| self.shelf.age(at) >= Self::SPARES_EVERY) {
            kept.spared = Some(self.shelf.timer.now());
            return give_back(connection, commits);
        }
        kept.connections.push(Connection { connection, commits, since: self.shelf.timer.now() });
        if !std::mem::replace(&mut kept.watched, true) {
            runtime.spawn(expire(self.shelf.timer.clone(), Arc::downgrade(&self.shelf)));
        }
    }

    /// Returns all to the pool.
    pub(crate) fn clear(&self) {
        for Connection { connection, commits, .. } in self.shelf.kept().connections.drain(..) {
            give_back(connection, commits);
        }
    }
}

impl Shelf {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn age(&self, since: Duration) -> Duration {
        self.timer.now().saturating_sub(since)
    }
}

/// Returns a connection to the pool. All its statements were answered well and it is in no transaction, or it would not have
/// been kept: so the pool need not roll it back, unless it has to commit by itself again.
fn give_back(connection: Lent, commits: Commits) {
    match commits {
        Commits::Itself => connection.return_clean(),
        Commits::Explicitly => drop(connection),
    }
}

/// Returns connections that no call has asked for to the pool, as long as there are any.
async fn expire(timer: StoreTimer, shelf: Weak<Shelf>) {
    loop {
        timer.sleep(ConnectionCache::FRESH_FOR / 2).await;
        let Some(shelf) = shelf.upgrade() else { return };
        let mut kept = shelf.kept();
        let old = |kept: &mut Connection| shelf.age(kept.since) >= ConnectionCache::FRESH_FOR;
        for old in kept.connections.extract_if(.., old) {
            give_back(old.connection, old.commits);
        }
        if kept.connections.is_empty() {
            kept.watched = false;
            return;
        }
    }
}
