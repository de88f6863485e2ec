use claimstream_ports::StoreError;
use sea_orm::DatabaseConnection;

use super::{handle::SeaOrmOutbox, options::OpenOptions};
use crate::database::given_pool::{GivenPool, refused};

impl SeaOrmOutbox {
    /// Opens an outbox on the database of a pool that the service has: of sea-orm, or a `MySqlPool` or `SqlitePool` of sqlx.
    ///
    /// The pool becomes the one of callers: [`begin`](Self::begin), [`connection`](Self::connection),
    /// [`enqueue_now`](Self::enqueue_now) and the like take their connections from it, so its size stands for
    /// [`max_connections`](OpenOptions::max_connections). For its own work the outbox opens
    /// [`relay_connections`](OpenOptions::relay_connections) more with the pool's connect options.
    ///
    /// The pool is left as it is, and refused as `Misconfigured`, with what would work, if messages could be lost on it:
    ///
    /// * It rolls back an open transaction on a connection that comes back, as a cancelled caller leaves it. A pool of sqlx does so
    ///   with an `after_release` that sends `ROLLBACK`; one that was made with
    ///   [`HardenedPool::options`](crate::HardenedPool::options) does.
    /// * On a server it has at least 2 connections, and the server takes them and the outbox's own; autocommit is on,
    ///   `completion_type` is `NO_CHAIN`, the `sql_mode` strict, and the character set utf8mb4.
    /// * Its connections lead to the database that its connect options name, in a file if it is SQLite.
    pub async fn from_pool(
        pool: impl Into<DatabaseConnection>,
        options: OpenOptions,
    ) -> Result<Self, StoreError> {
        let pool = GivenPool::of(pool.into())?;
        if options.frozen_clock.is_some() {
            return Err(refused(
                "a clock that stands still needs connections that the outbox opens; use open",
            ));
        }
        let options = OpenOptions { max_connections: pool.most, ..options };
        Self::open_with(pool.url.to_owned(), Some(pool), options).await
    }
}
