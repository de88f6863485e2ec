use std::time::{Duration, Instant};

use claimstream_domain::Shard;
use claimstream_sea_orm::{OpenOptions, Strategy};
use sea_orm::{
    ConnectionTrait, DatabaseConnection, DatabaseTransaction, DbBackend, IsolationLevel, QueryResult,
    Statement, TransactionTrait,
    sqlx::{Executor, Row, mysql::MySqlRow},
};

use crate::Stage;

/// A stage on a real server, alone in its database, with connections beside it through which the outbox's own are made
/// to wait or to break.
pub struct ServerStage {
    /// The outbox.
    pub outbox: Stage,
    /// The strategy in use, after `auto` has chosen.
    pub strategy: Strategy,
    /// Connections to its database that the outbox knows nothing of.
    pub beside: DatabaseConnection,
    /// Where another database is, in which there is nothing yet.
    pub empty: String,
    /// How the venue opens outboxes, but for what it does for stages.
    pub options: OpenOptions,
}

/// A lock that keeps messages from being moved beyond a moment: who tries waits in the middle of its transaction.
pub struct Barrier(DatabaseTransaction);

impl ServerStage {
    /// A lease that ends on this side of a barrier; the usual one ends beyond it.
    pub const SHORT: Duration = Duration::from_secs(5);
    const BARRED: Duration = Duration::from_secs(10);
    const PATIENCE: Duration = Duration::from_secs(4);

    /// Sets up a barrier ten seconds from now in the shard of [`Stage::message`].
    pub async fn bar(&self) -> Barrier {
        let milestone = self.outbox.message().deliver_after(Self::BARRED);
        let shard = self.outbox.facts.shards.shard_of(milestone.id, milestone.ordering_key.as_ref());
        self.outbox.store.enqueue(&[milestone]).await;
        let level = Some(IsolationLevel::RepeatableRead);
        let tx = self.beside.begin_with_config(level, None).await.expect("begin");
        let locked = tx.query_all_raw(self.beyond_the_milestone(shard)).await.expect("a lock");
        assert_eq!(locked.len(), 0, "something lies beyond the barrier");
        Barrier(tx)
    }

    /// At this level of isolation it locks the gap behind the milestone, where nothing can be inserted any more.
    fn beyond_the_milestone(&self, shard: Shard) -> Statement {
        let sql = "SELECT id FROM claimstream_queue FORCE INDEX (PRIMARY) WHERE queue = ? AND shard = ? AND \
                   available_at > TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ? MICROSECOND FOR UPDATE";
        let milestone = self.outbox.moment(Self::BARRED.as_micros() as i64).as_micros();
        let queue = self.outbox.queue().as_str().as_bytes().to_vec();
        let values = [queue.into(), shard.number().into(), milestone.into()];
        Statement::from_sql_and_values(DbBackend::MySql, sql, values)
    }

    /// The connections of this database on which a statement does not come to its end, when there are as many as these.
    ///
    /// In a database of our own only a lock can hold one up for that long.
    pub async fn waiting(&self, count: usize) -> Vec<u64> {
        let (begun, mut before) = (Instant::now(), Vec::new());
        while begun.elapsed() < Self::PATIENCE {
            let others = self.others().await.into_iter();
            let busy: Vec<u64> = others.filter(|(_, command)| command != "Sleep").map(|(id, _)| id).collect();
            if busy.len() == count && busy == before {
                return busy;
            }
            before = busy;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("{before:?} wait, and not {count}");
    }

    /// Breaks a connection, whatever it is doing; when it is gone, what it was doing has been undone.
    pub async fn kill(&self, connection: u64) {
        self.beside.execute_unprepared(&format!("KILL CONNECTION {connection}")).await.expect("kill");
        let begun = Instant::now();
        while self.others().await.iter().any(|(id, _)| *id == connection) {
            assert!(begun.elapsed() < Self::PATIENCE, "connection {connection} stays");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Every other connection to this database and what it does.
    ///
    /// MySQL's tables of connections and transactions cannot be read while any statement has binary values.
    async fn others(&self) -> Vec<(u64, String)> {
        let mut connection = self.beside.get_mysql_connection_pool().acquire().await.expect("a connection");
        let own = connection.fetch_one("SELECT DATABASE(), CAST(CONNECTION_ID() AS UNSIGNED)").await;
        let own = own.expect("a row");
        let (database, own): (String, u64) = (own.get(0), own.get(1));
        let all = connection.fetch_all("SHOW PROCESSLIST").await.expect("a list");
        let here = all.iter().filter(|row| row.get::<Option<String>, _>("db").as_ref() == Some(&database));
        let found = here.map(|row| (number(row, "Id"), row.get("Command")));
        found.filter(|(id, _)| *id != own).collect()
    }

    /// All that may be claimed or is claimed, as it stands in the database.
    pub async fn rows(&self) -> Vec<(Vec<u8>, i64, u32, Option<Vec<u8>>)> {
        let sql = "SELECT id, TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', available_at), attempts, \
                   claim_id FROM claimstream_queue ORDER BY queue, shard, available_at, id";
        let found = self.beside.query_all_raw(Statement::from_string(DbBackend::MySql, sql)).await;
        let row = |row: QueryResult| row.try_get_many_by_index().expect("a row");
        found.expect("a read").into_iter().map(row).collect()
    }
}

impl Barrier {
    /// Lets everybody through.
    pub async fn lift(self) {
        self.0.rollback().await.expect("rollback");
    }
}

/// Servers differ about the sign.
fn number(row: &MySqlRow, column: &str) -> u64 {
    row.try_get::<u64, _>(column).unwrap_or_else(|_| row.get::<i64, _>(column) as u64)
}
