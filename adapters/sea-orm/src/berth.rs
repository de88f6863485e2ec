use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::{Duration, Instant},
};

use sea_orm::sqlx::{MySql, pool::PoolConnection};
use tokio::runtime::Handle;

use crate::outage::Outage;

/// Connections that claims and settlements keep at hand: every return to the pool costs two round trips.
///
/// Only one whose statements were all answered well, and that is in no transaction, is kept. One that nobody has asked for
/// in the last seconds goes back to the pool, as does one from before an outage.
#[derive(Default)]
pub(crate) struct Berth(Arc<Quay>);

#[derive(Default)]
struct Quay(Mutex<Moorings>);

#[derive(Default)]
struct Moorings {
    moored: Vec<Moored>,
    /// Whether a task looks after what is moored.
    tended: bool,
}

struct Moored {
    connection: PoolConnection<MySql>,
    since: Instant,
}

impl Berth {
    /// One for claims and one for settlements.
    const MOST: usize = 2;
    /// Below this many connections the pool has none to spare.
    pub(crate) const LEAST_POOL: u32 = 4;
    const FRESH_FOR: Duration = Duration::from_secs(2);

    /// The newest connection at hand.
    pub(crate) fn leave(&self, outage: &Outage) -> Option<PoolConnection<MySql>> {
        let newest = self.0.moorings().moored.pop()?;
        outage.trusts(newest.since.elapsed()).then_some(newest.connection)
    }

    /// Keeps a connection; if there are enough already it goes back to the pool.
    pub(crate) fn moor(&self, connection: PoolConnection<MySql>, runtime: &Handle) {
        let mut moorings = self.0.moorings();
        if moorings.moored.len() == Self::MOST {
            return;
        }
        moorings.moored.push(Moored { connection, since: Instant::now() });
        if !std::mem::replace(&mut moorings.tended, true) {
            runtime.spawn(tend(Arc::downgrade(&self.0)));
        }
    }

    /// Returns all to the pool.
    pub(crate) fn clear(&self) {
        self.0.moorings().moored.clear();
    }
}

impl Quay {
    fn moorings(&self) -> MutexGuard<'_, Moorings> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns what nobody has asked for to the pool, as long as there is something.
async fn tend(quay: Weak<Quay>) {
    loop {
        tokio::time::sleep(Berth::FRESH_FOR / 2).await;
        let Some(quay) = quay.upgrade() else { return };
        let mut moorings = quay.moorings();
        moorings.moored.retain(|moored| moored.since.elapsed() < Berth::FRESH_FOR);
        if moorings.moored.is_empty() {
            moorings.tended = false;
            return;
        }
    }
}
