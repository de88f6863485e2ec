use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use sea_orm::sqlx::{Executor, MySqlConnection, Row};
use tokio::task::JoinHandle;

/// How long transactions of a server are seen to be open, looked at a few times a second.
///
/// The server tells one transaction of a connection from the next by its begin, to the second, so two of the same second count as one:
/// what is seen may be too long, by less than a second, and is never too short.
pub(crate) struct Snapshots {
    longest: Arc<Mutex<Duration>>,
    watching: JoinHandle<()>,
}

impl Snapshots {
    const EVERY: Duration = Duration::from_millis(50);

    /// Watches until this value is dropped.
    pub(crate) fn watch(connection: MySqlConnection) -> Self {
        let longest = Arc::new(Mutex::new(Duration::ZERO));
        let watching = tokio::spawn(watch(connection, Arc::clone(&longest)));
        Self { longest, watching }
    }

    /// The longest that was seen.
    pub(crate) fn longest(&self) -> Duration {
        *self.longest.lock().expect("no panic")
    }
}

impl Drop for Snapshots {
    fn drop(&mut self) {
        self.watching.abort();
    }
}

async fn watch(mut connection: MySqlConnection, longest: Arc<Mutex<Duration>>) {
    const OPEN: &str = "SELECT CAST(trx_started AS CHAR), CAST(trx_mysql_thread_id AS CHAR) FROM information_schema.innodb_trx \
        WHERE trx_mysql_thread_id <> CONNECTION_ID()";
    let mut first_seen: HashMap<(String, String), Instant> = HashMap::new();
    loop {
        let Ok(rows) = connection.fetch_all(OPEN).await else { return };
        let named =
            |column: usize, row: &sea_orm::sqlx::mysql::MySqlRow| row.try_get(column).unwrap_or_default();
        let open: Vec<(String, String)> = rows.iter().map(|row| (named(0, row), named(1, row))).collect();
        first_seen.retain(|transaction, _| open.contains(transaction));
        for transaction in open {
            let since = first_seen.entry(transaction).or_insert_with(Instant::now).elapsed();
            let mut longest = longest.lock().expect("no panic");
            *longest = since.max(*longest);
        }
        tokio::time::sleep(Snapshots::EVERY).await;
    }
}
