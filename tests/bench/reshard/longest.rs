use std::{
    collections::HashMap,
    fmt,
    time::{Duration, Instant},
};

use sea_orm::{ConnectOptions, ConnectionTrait, Database, DatabaseConnection, DbBackend, DbErr, Statement};
use tokio::{sync::watch, task::JoinHandle};

use crate::Failure;

/// The longest transaction and the longest statement of a database, as far as a look every twenty milliseconds sees them.
pub(crate) struct Longest {
    stop: watch::Sender<bool>,
    looking: JoinHandle<Result<Seen, DbErr>>,
}

#[derive(Default)]
pub(crate) struct Seen {
    transaction: Duration,
    statement: Duration,
    text: String,
}

const LOOK: Duration = Duration::from_millis(20);

impl Longest {
    pub(crate) async fn watch(url: &str) -> Result<Self, Failure> {
        let mut options = ConnectOptions::new(url);
        options.max_connections(1).sqlx_logging(false);
        let db = Database::connect(options).await?;
        let (stop, stopped) = watch::channel(false);
        let looking = tokio::spawn(look(db, stopped));
        Ok(Self { stop, looking })
    }

    pub(crate) async fn end(self) -> Result<Seen, Failure> {
        let _ = self.stop.send(true);
        Ok(self.looking.await??)
    }
}

async fn look(db: DatabaseConnection, stopped: watch::Receiver<bool>) -> Result<Seen, DbErr> {
    let asked = |sql: &str| Statement::from_string(DbBackend::MySql, sql);
    let version = db.query_one_raw(asked("SELECT VERSION() AS version")).await?;
    let version: String = version.map_or(Ok(String::new()), |row| row.try_get("", "version"))?;
    let is_mariadb = version.contains("MariaDB");
    let (transactions, statements) =
        if is_mariadb { (TRANSACTIONS, OF_MARIADB) } else { (TRANSACTIONS_OF_MYSQL, OF_MYSQL) };
    let (mut seen, mut begun) = (Seen::default(), HashMap::<String, Instant>::new());
    while !*stopped.borrow() {
        let mut open = HashMap::new();
        for row in db.query_all_raw(asked(transactions)).await? {
            let transaction: String = row.try_get("", "trx")?;
            let since = begun.get(&transaction).copied().unwrap_or_else(Instant::now);
            seen.transaction = seen.transaction.max(since.elapsed());
            open.insert(transaction, since);
        }
        begun = open;
        for row in db.query_all_raw(asked(statements)).await? {
            let took =
                Duration::from_micros(row.try_get::<i64>("", "micros")?.try_into().unwrap_or_default());
            if took > seen.statement {
                (seen.statement, seen.text) = (took, row.try_get("", "text")?);
            }
        }
        tokio::time::sleep(LOOK).await;
    }
    Ok(seen)
}

/// A transaction is known by its number and the second in which it began.
const TRANSACTIONS: &str = "SELECT CONCAT(t.trx_id, ' ', t.trx_started) AS trx
  FROM information_schema.innodb_trx t JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id
 WHERE p.db = DATABASE() AND p.id <> CONNECTION_ID()";

/// The other view shows statements as text, which those with bytes are not.
const TRANSACTIONS_OF_MYSQL: &str = "SELECT CONCAT(e.thread_id, ' ', e.event_id) AS trx
  FROM performance_schema.events_transactions_current e JOIN performance_schema.threads t ON t.thread_id = e.thread_id
 WHERE t.processlist_db = DATABASE() AND t.processlist_id <> CONNECTION_ID() AND e.state = 'ACTIVE'";

const OF_MARIADB: &str =
    "SELECT CAST(time_ms * 1000 AS SIGNED) AS micros, CAST(LEFT(info, 120) AS CHAR) AS text
  FROM information_schema.processlist
 WHERE db = DATABASE() AND id <> CONNECTION_ID() AND command IN ('Query', 'Execute') AND info IS NOT NULL
 ORDER BY time_ms DESC LIMIT 1";

const OF_MYSQL: &str =
    "SELECT CAST(timer_wait DIV 1000000 AS SIGNED) AS micros, LEFT(digest_text, 120) AS text
  FROM performance_schema.events_statements_current
 WHERE current_schema = DATABASE() AND digest_text IS NOT NULL
   AND thread_id <> (SELECT thread_id FROM performance_schema.threads WHERE processlist_id = CONNECTION_ID())
 ORDER BY timer_wait DESC LIMIT 1";

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the longest transaction took {:.2} s, the longest statement {:.2} s: {} ...",
            self.transaction.as_secs_f64(),
            self.statement.as_secs_f64(),
            self.text
        )
    }
}
