//! The floor of the adapter: one database, its connections, clock and statements. It knows nothing of queues, shards or
//! messages.

pub(crate) mod args;
#[cfg(feature = "mysql")]
pub(crate) mod at_home;
pub(crate) mod brief;
pub(crate) mod caller_pool;
pub(crate) mod capability;
pub(crate) mod classify;
pub(crate) mod clock;
pub(crate) mod coalescer;
pub(crate) mod commits;
pub(crate) mod connecting;
#[cfg(feature = "mysql")]
pub(crate) mod connection_cache;
pub(crate) mod deadline;
pub(crate) mod dialect;
pub(crate) mod fragments;
pub(crate) mod given_pool;
pub(crate) mod health;
pub(crate) mod held;
pub(crate) mod identity;
pub(crate) mod insert;
#[cfg(feature = "mysql")]
pub(crate) mod lent;
pub(crate) mod link;
pub(crate) mod moves;
#[cfg(feature = "mysql")]
pub(crate) mod mysql_errors;
#[cfg(feature = "mysql")]
pub(crate) mod nodes;
pub(crate) mod outage;
pub(crate) mod packet;
pub(crate) mod pool;
pub(crate) mod pools;
pub(crate) mod probe;
pub(crate) mod reached;
pub(crate) mod relay_pool;
pub(crate) mod retries;
pub(crate) mod separate_connection;
pub(crate) mod server;
pub(crate) mod servers;
pub(crate) mod session_setting;
pub(crate) mod spare;
pub(crate) mod sql;
pub(crate) mod sqlite_errors;
#[cfg(any(feature = "mysql", feature = "sqlite"))]
pub(crate) mod sqlx_connection;
pub(crate) mod statements;
pub(crate) mod store_timer;
pub(crate) mod time;
pub(crate) mod topology;
pub(crate) mod transaction;
pub(crate) mod typed_row;
pub(crate) mod unit;
pub(crate) mod work;

use std::{sync::Arc, time::Duration};

use claimstream_domain::PayloadLimit;
use claimstream_ports::{Measured, Telemetry};

use self::{
    args::Args, brief::Brief, caller_pool::CallerPool, clock::ServerClock, dialect::Dialect, health::Health,
    identity::Identity, packet::Packet, relay_pool::RelayPool, statements::Statements,
    store_timer::StoreTimer,
};

/// One database: its connections, statements, clock, health and limits. Every room works on it; all handles of an outbox share
/// it.
pub(crate) struct Database {
    /// For the outbox's own work: claims, renewals, settlements, locks, sweeps and questions of operators.
    pub(crate) relay: RelayPool,
    /// For transactions and calls of the application.
    pub(crate) callers: CallerPool,
    pub(crate) dialect: Dialect,
    /// Identifies the outbox's own database.
    pub(crate) identity: Identity,
    pub(crate) sql: &'static Statements,
    pub(crate) clock: ServerClock,
    pub(crate) health: Health,
    pub(crate) limits: Limits,
    /// What counts and times the work, if anything does.
    pub(crate) telemetry: Option<Arc<dyn Telemetry>>,
    /// Where units of work run.
    pub(crate) runtime: tokio::runtime::Handle,
    /// Asks the server that is written to, where there are several.
    #[cfg(feature = "mysql")]
    pub(crate) _watch: Option<nodes::watch::Watch>,
}

/// What the database and its settings allow.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) packet: Packet,
    pub(crate) payload: PayloadLimit,
    /// How long to wait for a connection, or for one's turn to wait for one.
    pub(crate) acquire_timeout: Duration,
}

impl Database {
    /// What it waits and measures by.
    pub(crate) fn timer(&self) -> &StoreTimer {
        &self.health.timer
    }

    /// The connections for the outbox's own work.
    pub(crate) fn relay(&self) -> &Brief {
        &self.relay.connections
    }

    /// The connections for callers.
    pub(crate) fn callers(&self) -> &Brief {
        &self.callers.connections
    }

    /// Has connections made from now on log in with this password; a pool that was handed in keeps its own.
    #[cfg(feature = "mysql")]
    pub(crate) fn use_password(&self, password: &str) {
        if self.dialect != Dialect::MySql {
            return;
        }
        if let Some(nodes) = &self.health.nodes {
            nodes.use_password(password);
        }
        let _changing = self.health.nodes.as_ref().map(nodes::known::Nodes::changing_pools);
        let callers = (!self.callers.are_given).then_some(&*self.callers.connections);
        for pool in [Some(&**self.relay()), callers].into_iter().flatten() {
            let pool = pool.get_mysql_connection_pool();
            pool.set_connect_options((*pool.connect_options()).clone().password(password));
        }
    }

    /// Notes what happened, if anything counts it.
    pub(crate) fn measure(&self, measured: Measured<'_>) {
        if let Some(telemetry) = &self.telemetry {
            telemetry.record(measured);
        }
    }

    /// Arguments to start from: they hold the time for SQLite; a server knows it.
    pub(crate) fn args(&self) -> Args {
        Args::at(self.dialect, &self.clock)
    }
}

#[cfg(feature = "mysql")]
impl Drop for Database {
    /// The pool takes connections back by tasks, wherever the outbox is dropped.
    fn drop(&mut self) {
        let _entered = self.runtime.enter();
        self.relay.cache.clear();
        self.callers.cache.clear();
    }
}
