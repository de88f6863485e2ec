use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use super::{outage::Outage, topology::place::Place};

/// Which servers connections have led to, and how often another one has taken over. Clones share it.
///
/// A server that takes over by asynchronous replication may lack the last commits of the one before it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Servers {
    outage: Outage,
    met: Arc<Mutex<Met>>,
    /// A node of Galera was among them.
    of_galera: Arc<AtomicBool>,
    /// A member of a group was among them.
    of_group: Arc<AtomicBool>,
}

/// What may end or undo a transaction of a server from outside, as far as its other servers go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Peers {
    /// Nothing does.
    Apart,
    /// The commit of another node of Galera, between any two statements, also of one packet.
    Galera,
    /// The commit of another member of a group, and the next savepoint hides it.
    Group,
}

#[derive(Debug, Default)]
struct Met {
    /// The server that was connected to last.
    last: Option<i64>,
    /// When each server was last connected to.
    times: HashMap<i64, Duration>,
    takeovers: u64,
}

impl Servers {
    /// Judges by the connections that `outage` has seen break.
    pub(crate) fn after(outage: Outage) -> Self {
        Self { outage, ..Self::default() }
    }

    /// Notes that a connection has been made to a server, by what it says of itself.
    #[cfg_attr(not(feature = "mysql"), allow(dead_code, reason = "a file is not replaced"))]
    pub(crate) fn connected(&self, place: &Place) -> Result<(), String> {
        let id = place.setting("server_id");
        let id = id.parse().map_err(|_| format!("the server's server_id, {id:?}, is no number"))?;
        if place.is_of_galera() {
            self.of_galera.store(true, Relaxed);
        }
        // One with a single member that takes writes may be set at any time to have several.
        if place.group().is_some() {
            self.of_group.store(true, Relaxed);
        }
        self.met(id);
        Ok(())
    }

    /// What may end or undo a transaction from outside; once any of them was met, all are treated alike.
    pub(crate) fn peers(&self) -> Peers {
        match (self.of_galera.load(Relaxed), self.of_group.load(Relaxed)) {
            (true, _) => Peers::Galera,
            (false, true) => Peers::Group,
            (false, false) => Peers::Apart,
        }
    }

    /// Notes that a connection has been made to a server, by its `server_id`.
    ///
    /// A server that is met for the first time has taken over from the one before it. One that is known has if connections
    /// have broken since the one before it was met last; otherwise they take turns, as behind a balancer.
    #[cfg_attr(not(feature = "mysql"), allow(dead_code, reason = "a file is not replaced"))]
    pub(crate) fn met(&self, server: i64) {
        let (mut met, now) = (self.lock(), self.outage.now());
        let is_known = met.times.insert(server, now).is_some();
        let before = met.last.replace(server).filter(|before| *before != server);
        let is_sound = |before: &i64| {
            met.times.get(before).is_some_and(|at| self.outage.trusts(now.saturating_sub(*at)))
        };
        if let Some(before) = before.filter(|before| !is_known || !is_sound(before)) {
            met.takeovers += 1;
            tracing::warn!(
                before,
                server,
                "another server has taken over; messages in flight are handled again"
            );
        }
    }

    /// How often another server has taken over so far.
    pub(crate) fn takeovers(&self) -> u64 {
        self.lock().takeovers
    }

    fn lock(&self) -> MutexGuard<'_, Met> {
        self.met.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
