use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use sea_orm::sqlx::{Executor, MySqlConnection, Row, query};
use tokio::task::JoinHandle;

/// How long transactions of one user of a server are seen to be open, looked at a few times a second.
///
/// The server tells one transaction of a connection from the next by its begin, to the second, so two of the same second count as one:
/// what is seen may be too long, by less than a second, and is never too short.
pub(crate) struct Snapshots {
    longest: Arc<Mutex<Longest>>,
    watching: JoinHandle<()>,
}

impl Snapshots {
    /// InnoDB answers from a copy while it is asked again within 100 ms; a shorter time would see the same transactions for ever.
    const EVERY: Duration = Duration::from_millis(150);

    /// Watches until this value is dropped.
    pub(crate) fn watch(connection: MySqlConnection, user: &'static str) -> Self {
        let longest = Arc::<Mutex<Longest>>::default();
        let watching = tokio::spawn(watch(connection, user, Arc::clone(&longest)));
        Self { longest, watching }
    }

    /// The longest that was seen.
    pub(crate) fn longest(&self) -> Longest {
        self.longest.lock().expect("no panic").clone()
    }
}

/// A transaction that was open for a time.
#[derive(Clone, Default)]
pub(crate) struct Longest {
    pub(crate) lasted: Duration,
    /// The statement that it ran when it was seen last; empty between statements.
    pub(crate) statement: String,
}

impl Drop for Snapshots {
    fn drop(&mut self) {
        self.watching.abort();
    }
}

async fn watch(mut connection: MySqlConnection, user: &str, longest: Arc<Mutex<Longest>>) {
    const OPEN: &str = "SELECT CAST(trx_started AS CHAR), CAST(trx_mysql_thread_id AS CHAR), trx_query FROM information_schema.innodb_trx \
        WHERE trx_mysql_thread_id IN (SELECT id FROM information_schema.processlist WHERE user = ?)";
    let mut first_seen: HashMap<(String, String), Instant> = HashMap::new();
    loop {
        let Ok(rows) = connection.fetch_all(query(OPEN).bind(user)).await else { return };
        let named =
            |column: usize, row: &sea_orm::sqlx::mysql::MySqlRow| row.try_get(column).unwrap_or_default();
        let mut open: HashMap<(String, String), String> =
            rows.iter().map(|row| ((named(0, row), named(1, row)), named(2, row))).collect();
        first_seen.retain(|transaction, _| open.contains_key(transaction));
        for (transaction, statement) in open.drain() {
            let lasted = first_seen.entry(transaction).or_insert_with(Instant::now).elapsed();
            let mut longest = longest.lock().expect("no panic");
            if lasted > longest.lasted {
                *longest = Longest { lasted, statement };
            }
        }
        tokio::time::sleep(Snapshots::EVERY).await;
    }
}
