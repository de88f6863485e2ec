use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::runtime::Handle;

use crate::database::{commits::Commits, lent::Lent, outage::Outage};

/// Connections that claims and settlements keep at hand: every return to the pool costs two round trips.
///
/// It keeps a connection only if all its statements were answered well and it is in no transaction. A connection goes back to
/// the pool if nobody has asked for it in the last seconds, or if it is from before an outage. No caller waits at the pool for
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

#[derive(Default)]
struct Shelf(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    connections: Vec<Connection>,
    /// When a connection last went back because the pool had none left.
    spared: Option<Instant>,
    /// Whether a task returns connections that nobody asks for.
    watched: bool,
}

struct Connection {
    connection: Lent,
    commits: Commits,
    since: Instant,
}

impl ConnectionCache {
    /// Below this many connections the pool has none to spare.
    const LEAST_POOL: u32 = 4;
    const FRESH_FOR: Duration = Duration::from_secs(2);
    /// How long a caller that the cache does not see may wait at most.
    const SPARES_EVERY: Duration = Duration::from_millis(50);

    /// Keeps no more than half of a pool's connections.
    pub(crate) fn beside_pool_of(max_connections: u32) -> Self {
        let most = if max_connections < Self::LEAST_POOL { 0 } else { max_connections as usize / 2 };
        Self { shelf: Arc::default(), most, wanted: AtomicUsize::default() }
    }

    /// For an outbox whose connections have to pass through the pool each time.
    pub(crate) fn closed() -> Self {
        Self { shelf: Arc::default(), most: 0, wanted: AtomicUsize::default() }
    }

    /// To be held while somebody waits for a connection of the pool.
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
        outage.trusts(newest.since.elapsed()).then_some((newest.connection, newest.commits))
    }

    /// Keeps a connection. It goes back to the pool if there are enough already, or if somebody waits for one.
    pub(crate) fn keep(&self, connection: Lent, commits: Commits, pool: Reserve, runtime: &Handle) {
        let mut kept = self.shelf.kept();
        if kept.connections.len() >= self.most || self.wanted.load(Ordering::Relaxed) > 0 {
            return give_back(connection, commits);
        }
        if pool == Reserve::UsedUp && kept.spared.is_none_or(|at| at.elapsed() >= Self::SPARES_EVERY) {
            kept.spared = Some(Instant::now());
            return give_back(connection, commits);
        }
        kept.connections.push(Connection { connection, commits, since: Instant::now() });
        if !std::mem::replace(&mut kept.watched, true) {
            runtime.spawn(expire(Arc::downgrade(&self.shelf)));
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
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns a connection to the pool. All its statements were answered well and it is in no transaction, or it would not have
/// been kept: so the pool need not roll it back, unless it has to commit by itself again.
fn give_back(connection: Lent, commits: Commits) {
    match commits {
        Commits::Itself => connection.return_clean(),
        Commits::WhenTold => drop(connection),
    }
}

/// Returns what nobody has asked for to the pool, as long as there is something.
async fn expire(shelf: Weak<Shelf>) {
    loop {
        tokio::time::sleep(ConnectionCache::FRESH_FOR / 2).await;
        let Some(shelf) = shelf.upgrade() else { return };
        let mut kept = shelf.kept();
        let old = |kept: &mut Connection| kept.since.elapsed() >= ConnectionCache::FRESH_FOR;
        for old in kept.connections.extract_if(.., old) {
            give_back(old.connection, old.commits);
        }
        if kept.connections.is_empty() {
            kept.watched = false;
            return;
        }
    }
}
