use std::{collections::BTreeMap, pin::pin, time::Duration};

use claimstream_testbed::ServerProcess;
use sea_orm::sqlx::{AssertSqlSafe, Executor, MySqlConnection, Row};
use tokio::time::timeout;

use crate::Failure;

/// A user of the server for the board alone, so that its work can be measured apart from all other work.
///
/// These servers have one thread for each connection, and give it to another connection when that ends.
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

    /// Does something, and answers the processor time that the server has spent meanwhile for the connections of this user, in seconds. It looks
    /// every second, so the last moment of a connection that ends and the first of one that begins are left out.
    pub(crate) async fn watch<T>(
        &mut self,
        work: impl Future<Output = Result<T, Failure>>,
    ) -> Result<(T, f64), Failure> {
        let mut work = pin!(work);
        let (mut spent, mut before) = (0.0, self.threads().await?);
        loop {
            let done = timeout(Duration::from_secs(1), &mut work).await;
            let now = self.threads().await?;
            let of_both = now.iter().filter_map(|(thread, seconds)| Some(seconds - before.get(thread)?));
            spent += of_both.sum::<f64>();
            before = now;
            if let Ok(done) = done {
                return Ok((done?, spent));
            }
        }
    }

    /// The threads of its connections, with the processor time of each so far, in seconds.
    async fn threads(&mut self) -> Result<BTreeMap<u64, f64>, Failure> {
        let asked = self.threads.replacen('@', Self::NAME, 1);
        let rows = self.connection.fetch_all(AssertSqlSafe(asked)).await?;
        let threads = rows.iter().map(|row| row.try_get::<u64, _>(0)).collect::<Result<Vec<_>, _>>()?;
        Ok(threads.into_iter().map(|thread| (thread, self.process.thread_seconds(thread))).collect())
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
