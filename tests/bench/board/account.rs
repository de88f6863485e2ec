use claimstream_testbed::ServerProcess;
use sea_orm::sqlx::{AssertSqlSafe, Executor, MySqlConnection, Row};

use crate::Failure;

/// A user of the server for the board alone, so that the work for it can be told from all other work.
///
/// These servers have one thread for each connection. The time of a connection that ends is lost; those of a board end after
/// ten idle minutes.
pub(crate) struct Account {
    process: ServerProcess,
    connection: MySqlConnection,
    threads: &'static str,
}

impl Account {
    /// The user.
    pub(crate) const NAME: &str = "claimstream_board_bench";

    /// Makes the user, and answers the address under which it connects.
    pub(crate) async fn create(
        mut connection: MySqlConnection,
        url: &str,
    ) -> Result<(Self, String), Failure> {
        let (scheme, rest) = url.split_once("://").ok_or("no address of a server")?;
        let (_, place) = rest.rsplit_once('@').ok_or("an address without a user")?;
        for sql in ["CREATE USER IF NOT EXISTS '@'@'%'", "GRANT ALL ON *.* TO '@'@'%'"] {
            connection.execute(AssertSqlSafe(sql.replacen('@', Self::NAME, 1))).await?;
        }
        let version: String = connection.fetch_one("SELECT VERSION()").await?.try_get(0)?;
        let threads = if version.contains("MariaDB") {
            "SELECT CAST(tid AS UNSIGNED) FROM information_schema.processlist WHERE user = '@'"
        } else {
            "SELECT CAST(thread_os_id AS UNSIGNED) FROM performance_schema.threads WHERE processlist_user = '@'"
        };
        let process = ServerProcess::of(&mut connection).await?;
        Ok((Self { process, connection, threads }, format!("{scheme}://{}@{place}", Self::NAME)))
    }

    /// The processor time that the server has spent so far for the connections of this user, in seconds.
    pub(crate) async fn cpu_seconds(&mut self) -> Result<f64, Failure> {
        let asked = self.threads.replacen('@', Self::NAME, 1);
        let rows = self.connection.fetch_all(AssertSqlSafe(asked)).await?;
        let threads = rows.iter().map(|row| row.try_get::<u64, _>(0)).collect::<Result<Vec<_>, _>>()?;
        Ok(threads.into_iter().map(|thread| self.process.thread_seconds(thread)).sum())
    }

    /// The server.
    pub(crate) fn process(&self) -> &ServerProcess {
        &self.process
    }

    /// Removes the user.
    pub(crate) async fn drop(mut self) -> Result<(), Failure> {
        let sql = format!("DROP USER '{}'@'%'", Self::NAME);
        self.connection.execute(AssertSqlSafe(sql)).await?;
        Ok(())
    }
}
