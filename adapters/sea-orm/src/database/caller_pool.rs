use std::time::Duration;

use claimstream_ports::{StoreError, StoreErrorKind};
use sea_orm::{Database, DatabaseConnection, DbErr};

use crate::{
    database::{
        args::Args,
        classify::{classify, is_pool_timeout},
        connecting,
        dialect::Dialect,
        outage::Outage,
        pool::HardenedPool,
        unit::{Store, rows},
    },
    doctor::checks::{Finding, good},
    failover::Failover,
    outbox::{given_pool::GivenPool, handle::OpenOptions},
    strategy::choice::{Strategy, StrategyChoice},
};

#[cfg(feature = "mysql")]
use crate::doctor::checks::warning;

const OPEN: &str = "open";

/// The connections that callers have in hand, and keep for as long as they like: their transactions, and what handlers ask
/// the outbox for.
///
/// Claims, renewals, settlements, locks and sweeps have others, so that no number of handlers keeps a lease from being
/// renewed.
pub(crate) struct Callers {
    pub(crate) db: DatabaseConnection,
    pub(crate) most: u32,
    /// They were handed in: nobody but their owner changes their sessions or keeps them at hand.
    #[cfg(feature = "mysql")]
    pub(crate) are_given: bool,
    /// How long a caller waits for one of them.
    pub(crate) patience: Duration,
    #[cfg(feature = "mysql")]
    pub(crate) berth: crate::database::connection_cache::Berth,
}

/// The connections of one outbox.
pub(crate) struct Pools {
    /// For its own work, so that callers never keep it waiting.
    pub(crate) own: DatabaseConnection,
    #[cfg(feature = "mysql")]
    pub(crate) berth: crate::database::connection_cache::Berth,
    pub(crate) callers: Callers,
}

impl Pools {
    /// Connects for the outbox's own work; callers' connections are made when they are asked for.
    pub(crate) async fn open(
        url: &str,
        given: Option<&GivenPool>,
        dialect: Dialect,
        options: &OpenOptions,
        (outage, failover): (Outage, Failover),
    ) -> Result<Self, StoreError> {
        let pool_of = |max_connections, impatient| {
            let (acquire_timeout, frozen_clock) = (options.acquire_timeout, options.frozen_clock.clone());
            let pool = HardenedPool { max_connections, acquire_timeout, frozen_clock };
            let made = pool.options_with(url, given, outage.clone(), failover.clone(), impatient);
            made.map_err(|why| StoreError::new(StoreErrorKind::Misconfigured, OPEN, why))
        };
        // A clock that stands still is shown to connections when they are acquired.
        #[cfg(feature = "mysql")]
        let berth_of = |max_connections| match options.frozen_clock {
            None => crate::database::connection_cache::Berth::beside_pool_of(max_connections),
            Some(_) => crate::database::connection_cache::Berth::closed(),
        };
        let leases_shards = options.strategy == StrategyChoice::Exactly(Strategy::ShardLease);
        let own = pool_of(options.relay_connections, leases_shards)?;
        let own = match Database::connect(own).await {
            Ok(own) => own,
            Err(error) => {
                return Err(match given {
                    Some(given) => connecting::explained(&given.db, classify(OPEN, error)).await,
                    None => connecting::refused(url, dialect, options.acquire_timeout, error).await,
                });
            }
        };
        let callers = match given {
            Some(given) => Callers {
                db: given.db.clone(),
                most: given.most,
                patience: given.patience,
                #[cfg(feature = "mysql")]
                are_given: true,
                #[cfg(feature = "mysql")]
                berth: crate::database::connection_cache::Berth::closed(),
            },
            None => {
                let mut lazy = pool_of(options.max_connections, false)?;
                lazy.connect_lazy(true);
                Callers {
                    db: Database::connect(lazy).await.map_err(|e| classify(OPEN, e))?,
                    most: options.max_connections,
                    patience: options.acquire_timeout,
                    #[cfg(feature = "mysql")]
                    are_given: false,
                    #[cfg(feature = "mysql")]
                    berth: berth_of(options.max_connections),
                }
            }
        };
        Ok(Self {
            own,
            #[cfg(feature = "mysql")]
            berth: berth_of(options.relay_connections),
            callers,
        })
    }
}

impl OpenOptions {
    /// Refuses fewer connections than an outbox can work with.
    pub(crate) fn check_connections(&self, dialect: Dialect) -> Result<(), String> {
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
}

impl Callers {
    /// To be held while somebody waits for a connection in order to keep it: what is at hand goes back if none is free.
    #[cfg(feature = "mysql")]
    pub(crate) fn wanted(&self) -> crate::database::connection_cache::Wanted<'_> {
        let wanted = self.berth.wanted();
        let pool = self.db.get_mysql_connection_pool();
        if pool.num_idle() == 0 && pool.size() >= self.most {
            self.berth.clear();
        }
        wanted
    }
}

impl Store {
    /// The error of a caller who waited for a connection in vain. If the database answers on the outbox's own ones, it is not
    /// away: others have all of them in hand.
    pub(crate) async fn none_to_spare(&self, operation: &'static str, error: StoreError) -> StoreError {
        if !waited_in_vain(&error) || !self.is_reached(operation).await {
            return error;
        }
        let Callers { most, patience, .. } = self.callers;
        let why = format!(
            "all {most} connections for callers were in use for {patience:?}; raise max_connections, or have fewer handlers \
             run at once or hold a transaction for less long"
        );
        StoreError::new(StoreErrorKind::Transient, operation, why)
    }

    /// Whether the server lets this process have all the connections that it may want.
    #[cfg(feature = "mysql")]
    pub(crate) fn examine_connections(&self, allowed: &str) -> Finding {
        let own = self.db.get_mysql_connection_pool().options().get_max_connections();
        let (callers, allowed) = (self.callers.most, allowed.parse::<u32>().unwrap_or(u32::MAX));
        let says = format!("up to {callers} for callers and {own} for leases; the server takes {allowed}");
        match own + callers < allowed {
            true => good("connections", says),
            false => warning("connections", format!("{says}; lower max_connections, or raise the server's")),
        }
    }

    #[cfg(not(feature = "mysql"))]
    pub(crate) fn examine_connections(&self, _: &str) -> Finding {
        good("connections", "not looked at")
    }

    async fn is_reached(&self, operation: &'static str) -> bool {
        match self.dialect {
            // A file does not go away.
            Dialect::Sqlite => true,
            Dialect::MySql => rows(&self.db, operation, self.sql.now.bind(&Args::new())).await.is_ok(),
        }
    }
}

fn waited_in_vain(error: &StoreError) -> bool {
    error.get_ref().downcast_ref::<DbErr>().is_some_and(is_pool_timeout)
}
