use std::time::Duration;

use claimstream_ports::{StoreError, StoreErrorKind};
use sea_orm::{ConnectOptions, Database};

#[cfg(feature = "mysql")]
use crate::database::connection_cache::ConnectionCache;
use crate::database::{
    brief::Brief,
    caller_pool::CallerPool,
    classify::classify,
    clock::FrozenClock,
    connecting,
    dialect::Dialect,
    given_pool::GivenPool,
    health::Health,
    pool::{HardenedPool, LockWaits},
    relay_pool::RelayPool,
    store_timer::StoreTimer,
};

const OPEN: &str = "open";

/// The connections of one outbox.
pub(crate) struct Pools {
    /// For its own work, so that callers never keep it waiting.
    pub(crate) relay: RelayPool,
    pub(crate) callers: CallerPool,
}

/// How the connections of one outbox are opened.
pub(crate) struct PoolSettings {
    pub(crate) relay_connections: u32,
    pub(crate) max_connections: u32,
    pub(crate) acquire_timeout: Duration,
    /// How long a server may be silent when the first connection is opened, if that is less.
    pub(crate) answer_within: Option<Duration>,
    pub(crate) frozen_clock: Option<FrozenClock>,
    /// How long the outbox's own statements wait for a locked row.
    pub(crate) lock_waits: LockWaits,
}

impl PoolSettings {
    /// Refuses fewer connections than an outbox can work with.
    pub(crate) fn check(&self, dialect: Dialect) -> Result<(), String> {
        let (least, needed) = match dialect {
            Dialect::MySql => (2, "2 or more, to read back what became of a broken one"),
            Dialect::Sqlite => (1, "1 or more"),
        };
        let given =
            [("max_connections", self.max_connections), ("relay_connections", self.relay_connections)];
        match given.into_iter().find(|(_, given)| *given < least) {
            Some((what, _)) => Err(format!("{what} must be {needed}")),
            None => Ok(()),
        }
    }

    fn hardened(&self, max_connections: u32) -> HardenedPool {
        let (acquire_timeout, frozen_clock) = (self.acquire_timeout, self.frozen_clock.clone());
        HardenedPool { max_connections, acquire_timeout, frozen_clock }
    }

    /// A clock that stands still is shown to connections when they are acquired.
    #[cfg(feature = "mysql")]
    fn cache(&self, max_connections: u32, timer: &StoreTimer) -> ConnectionCache {
        match self.frozen_clock {
            None => ConnectionCache::for_pool_of(max_connections, timer.clone()),
            Some(_) => ConnectionCache::closed(timer.clone()),
        }
    }
}

impl Pools {
    /// Connects for the outbox's own work; callers' connections are made when they are asked for.
    pub(crate) async fn open(
        url: &str,
        given: Option<&GivenPool>,
        dialect: Dialect,
        settings: &PoolSettings,
        health: &Health,
    ) -> Result<Self, StoreError> {
        let timer = &health.timer;
        let own = settings.hardened(settings.relay_connections);
        let own = readable(own.options_with(url, given, health.clone(), settings.lock_waits))?;
        let connected = Database::connect(own);
        let connected =
            connecting::unless_unreachable(url, given, dialect, timer, settings.answer_within, connected)
                .await?;
        let own = match connected {
            Ok(own) => own,
            Err(error) => {
                return Err(match given {
                    Some(given) => connecting::explained(&given.db, timer, classify(OPEN, error)).await,
                    None => connecting::refused(url, dialect, timer, settings.acquire_timeout, error).await,
                });
            }
        };
        let brief = |pool| Brief::on(pool, dialect, health, settings.acquire_timeout);
        let callers = match given {
            Some(given) => given.for_callers(timer),
            None => {
                let lazy = settings.hardened(settings.max_connections);
                let mut lazy = readable(lazy.options_with(url, given, health.clone(), LockWaits::OfSession))?;
                lazy.connect_lazy(true);
                CallerPool {
                    connections: brief(Database::connect(lazy).await.map_err(|e| classify(OPEN, e))?),
                    most: settings.max_connections,
                    timeout: settings.acquire_timeout,
                    #[cfg(feature = "mysql")]
                    are_given: false,
                    #[cfg(feature = "mysql")]
                    cache: settings.cache(settings.max_connections, timer),
                }
            }
        };
        let relay = RelayPool {
            connections: brief(own),
            #[cfg(feature = "mysql")]
            cache: settings.cache(settings.relay_connections, timer),
        };
        Ok(Self { relay, callers })
    }
}

fn readable(made: Result<ConnectOptions, String>) -> Result<ConnectOptions, StoreError> {
    made.map_err(|why| StoreError::new(StoreErrorKind::Misconfigured, OPEN, why))
}
