use sea_orm::sqlx::{AssertSqlSafe, Connection, Executor, MySqlConnection, Row, mysql::MySqlConnectOptions};

use crate::{
    Failure, Options,
    instance::{Job, Work},
    round::unix_now,
};

const TABLE: &str = "CREATE TABLE bench_ceilxr (
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT, shard_id SMALLINT UNSIGNED NOT NULL, status TINYINT UNSIGNED NOT NULL DEFAULT 0,
    available_at DATETIME(6) NOT NULL, attempts SMALLINT UNSIGNED NOT NULL DEFAULT 0,
    lock_token BIGINT UNSIGNED NOT NULL DEFAULT 0, prev_at DATETIME(6) NULL, created_at DATETIME(6) NOT NULL,
    payload VARBINARY(2000) NOT NULL, PRIMARY KEY (id), KEY idx_claim (shard_id, status, available_at)) ENGINE = InnoDB";

/// Makes the single table of the bound and fills it.
pub(crate) async fn fill(url: &str, options: &Options) -> Result<(), Failure> {
    let mut connection = connect(url).await?;
    connection.execute("DROP TABLE IF EXISTS bench_ceilxr").await?;
    connection.execute(TABLE).await?;
    let payload = "x".repeat(options.payload);
    for start in (0..options.backlog).step_by(1000) {
        let count = 1000.min(options.backlog - start);
        let row = format!("(0, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6), '{payload}')");
        let rows = vec![row; count].join(", ");
        let insert =
            format!("INSERT INTO bench_ceilxr (shard_id, available_at, created_at, payload) VALUES {rows}");
        connection.execute(AssertSqlSafe(insert)).await?;
    }
    Ok(())
}

/// An instance that knows beforehand which rows are its own.
pub(crate) struct Bound {
    connection: MySqlConnection,
    batches: Vec<Vec<u64>>,
}

/// The statements for batches of one size.
struct Statements {
    size: usize,
    claim: String,
    read: String,
    done: String,
}

impl Bound {
    pub(crate) async fn ready(job: &Job) -> Result<Self, Failure> {
        let mut connection = connect(&job.url).await?;
        let ids: Vec<u64> = sea_orm::sqlx::query("SELECT id FROM bench_ceilxr ORDER BY id")
            .fetch_all(&mut connection)
            .await?
            .iter()
            .map(|row| row.get(0))
            .collect();
        let own = |(n, _): &(usize, &[u64])| n % job.instances == job.number;
        let batches =
            ids.chunks(job.batch).enumerate().filter(own).map(|(_, batch)| batch.to_vec()).collect();
        Ok(Self { connection, batches })
    }

    pub(crate) async fn drain(mut self, wait: impl FnOnce() -> Result<(), Failure>) -> Result<Work, Failure> {
        let mut statements = Statements::of(self.batches.first().map_or(0, Vec::len));
        wait()?;
        let mut work = Work::default();
        for batch in &self.batches {
            // Only the last batch of all may be smaller.
            if batch.len() != statements.size {
                statements = Statements::of(batch.len());
            }
            let claim = sea_orm::sqlx::query(AssertSqlSafe(statements.claim.as_str())).bind(7_u64);
            let claim = batch.iter().fold(claim, |query, id| query.bind(*id));
            claim.execute(&mut self.connection).await?;
            let read = sea_orm::sqlx::query(AssertSqlSafe(statements.read.as_str()));
            let read = batch.iter().fold(read, |query, id| query.bind(*id));
            for row in read.fetch_all(&mut self.connection).await? {
                let payload: Vec<u8> = row.get(1);
                std::hint::black_box(&payload);
                work.handed_out.push(u128::from(row.get::<u64, _>(0)));
            }
            let done = sea_orm::sqlx::query(AssertSqlSafe(statements.done.as_str()));
            let done = batch.iter().fold(done, |query, id| query.bind(*id));
            done.execute(&mut self.connection).await?;
            work.acknowledged.extend(batch.iter().copied().map(u128::from));
        }
        work.last = unix_now();
        Ok(work)
    }
}

impl Statements {
    fn of(size: usize) -> Self {
        let marks = vec!["?"; size].join(", ");
        Self {
            size,
            claim: format!(
                "UPDATE bench_ceilxr SET available_at = UTC_TIMESTAMP(6) + INTERVAL 30 SECOND, lock_token = ?, \
                 attempts = attempts + 1 WHERE id IN ({marks})"
            ),
            read: format!("SELECT id, payload FROM bench_ceilxr WHERE id IN ({marks})"),
            done: format!("UPDATE bench_ceilxr SET status = 1 WHERE id IN ({marks})"),
        }
    }
}

async fn connect(url: &str) -> Result<MySqlConnection, Failure> {
    let options: MySqlConnectOptions = url.parse()?;
    let mut connection = MySqlConnection::connect_with(&options.statement_cache_capacity(512)).await?;
    connection.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED").await?;
    Ok(connection)
}
