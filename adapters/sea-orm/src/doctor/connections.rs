use claimstream_ports::StoreError;

#[cfg(feature = "mysql")]
use crate::database::sqlx_connection::SqlxMySql;
use crate::{
    database::{
        args::Args, classify::classify, probe::SkipLockedProof,
        separate_connection::rows_on_separate_connection, unit::rows,
    },
    doctor::{
        examination::Examination,
        finding::{Finding, failure, good, warning},
    },
};

const DOCTOR: &str = "doctor";

impl Examination<'_> {
    /// A connection that comes back inside a transaction is rolled back: its locks are free and no later call inherits it.
    #[cfg(feature = "mysql")]
    pub(super) async fn examine_release(&self) -> Result<Finding, StoreError> {
        use sea_orm::{DbErr, RuntimeErr};
        let failed = |e: sea_orm::sqlx::Error| classify(DOCTOR, DbErr::Conn(RuntimeErr::SqlxError(e.into())));
        let pool = self.db.callers().get_mysql_connection_pool();
        let mut leaking = match self.db.waiting(pool.acquire()).await {
            Ok(leaking) => leaking,
            Err(sea_orm::sqlx::Error::PoolTimedOut) => {
                return Ok(warning("release", "not looked at: callers have all their connections in use"));
            }
            Err(error) => return Err(failed(error)),
        };
        let on = SqlxMySql::new(&mut leaking);
        sea_orm::ConnectionTrait::execute_unprepared(&on, "BEGIN").await.map_err(|e| classify(DOCTOR, e))?;
        rows(&on, DOCTOR, self.db.sql.probe.lock.bind(&Args::new())).await?;
        drop(leaking);
        // On a connection outside of the pool, which cannot be the one that leaked, and for which no call has to wait.
        Ok(
            match rows_on_separate_connection(self.db, DOCTOR, self.db.sql.probe.lock.bind(&Args::new()))
                .await
            {
                Ok(_) => {
                    good("release", "a transaction left open is rolled back when its connection is released")
                }
                Err(error) => {
                    failure("release", format!("a transaction left open survived its release: {error}"))
                }
            },
        )
    }

    #[cfg(not(feature = "mysql"))]
    pub(super) async fn examine_release(&self) -> Result<Finding, StoreError> {
        Ok(good("release", "not looked at"))
    }

    /// Whether the server lets this process have all the connections that it may want.
    #[cfg(feature = "mysql")]
    pub(super) fn examine_connections(&self, allowed: &str) -> Finding {
        let own = self.db.relay().get_mysql_connection_pool().options().get_max_connections();
        let (callers, allowed) = (self.db.callers.most, allowed.parse::<u32>().unwrap_or(u32::MAX));
        let says = format!("up to {callers} for callers and {own} for leases; the server takes {allowed}");
        match own + callers < allowed {
            true => good("connections", says),
            false => warning("connections", format!("{says}; lower max_connections, or raise the server's")),
        }
    }

    #[cfg(not(feature = "mysql"))]
    pub(super) fn examine_connections(&self, _: &str) -> Finding {
        good("connections", "not looked at")
    }

    pub(super) async fn examine_skip_locked(&self) -> Result<Finding, StoreError> {
        let proof = SkipLockedProof::probe(self.db.relay(), self.db.sql, self.db.timer()).await?;
        let says = format!("strategy {}; {proof}", self.strategy);
        Ok(match proof {
            SkipLockedProof::Ignored(_) => warning("locking", says),
            _ => good("locking", says),
        })
    }
}
