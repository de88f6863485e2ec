use claimstream_domain::{Enqueued, NewMessage};
use claimstream_ports::StoreError;
use sea_orm::sqlx;

use super::handle::SeaOrmOutbox;
#[cfg(feature = "mysql")]
use crate::database::sqlx_connection::SqlxMySql;
#[cfg(feature = "sqlite")]
use crate::database::sqlx_connection::SqlxSqlite;

impl SeaOrmOutbox {
    /// Enqueues in a transaction of sqlx on MySQL or MariaDB; a connection that is not in one, or leads elsewhere, is
    /// refused as by [`enqueue_on`](Self::enqueue_on).
    #[cfg(feature = "mysql")]
    pub async fn enqueue_sqlx(
        &self,
        connection: &mut sqlx::MySqlConnection,
        messages: &[NewMessage],
    ) -> Result<Vec<Enqueued>, StoreError> {
        self.enqueue_on(&SqlxMySql::new(connection), messages).await
    }

    /// The same on SQLite. Begin the transaction with `BEGIN IMMEDIATE`: one that reads first may be refused to write.
    #[cfg(feature = "sqlite")]
    pub async fn enqueue_sqlx_sqlite(
        &self,
        connection: &mut sqlx::SqliteConnection,
        messages: &[NewMessage],
    ) -> Result<Vec<Enqueued>, StoreError> {
        self.enqueue_on(&SqlxSqlite::new(connection), messages).await
    }
}
