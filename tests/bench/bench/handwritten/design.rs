use sea_orm::sqlx::{AssertSqlSafe, Executor, MySqlConnection, Row};

use crate::Failure;

/// The tables of a hand-written contender and how they are filled, in SQL alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Design {
    /// Makes the tables, if they are not there.
    pub(crate) create: &'static [&'static str],
    /// Empties them.
    pub(crate) empty: &'static [&'static str],
    /// Fills them from `bench_numbers`; `:payload` and `:backlog` stand for the payload and how many there are.
    pub(crate) fill: &'static [&'static str],
    /// Counts what is not acknowledged.
    pub(crate) remaining: &'static str,
}

impl Design {
    /// Fills the tables with messages that are numbered from 0.
    pub(crate) async fn fill(
        &self,
        connection: &mut MySqlConnection,
        backlog: u64,
        payload: usize,
    ) -> Result<(), Failure> {
        self.prepare(connection).await?;
        count_up_to(connection, backlog).await?;
        // The number, no time of sending, and filling.
        let payload = format!(
            "CONCAT(UNHEX(LPAD(HEX(n), 16, '0')), REPEAT(UNHEX('00'), 8), REPEAT('x', {}))",
            payload.max(16) - 16
        );
        for fill in self.fill {
            let fill = fill.replace(":payload", &payload).replace(":backlog", &backlog.to_string());
            connection.execute(AssertSqlSafe(fill)).await?;
        }
        Ok(())
    }

    /// Makes the tables and leaves them empty.
    pub(crate) async fn prepare(&self, connection: &mut MySqlConnection) -> Result<(), Failure> {
        for statement in self.create.iter().chain(self.empty) {
            connection.execute(*statement).await?;
        }
        Ok(())
    }

    pub(crate) async fn remaining(&self, connection: &mut MySqlConnection) -> Result<u64, Failure> {
        let row = connection.fetch_one(self.remaining).await?;
        Ok(row.try_get::<i64, _>(0)? as u64)
    }
}

/// Sees to it that `bench_numbers` counts from 0 up to this number at least.
async fn count_up_to(connection: &mut MySqlConnection, end: u64) -> Result<(), Failure> {
    connection
        .execute("CREATE TABLE IF NOT EXISTS bench_numbers (n BIGINT UNSIGNED NOT NULL PRIMARY KEY) ENGINE = InnoDB")
        .await?;
    let row = connection.fetch_one("SELECT COUNT(*) FROM bench_numbers").await?;
    let mut count = row.try_get::<i64, _>(0)? as u64;
    if count == 0 {
        connection.execute("INSERT INTO bench_numbers VALUES (0)").await?;
        count = 1;
    }
    while count < end {
        let more = count.min(end - count);
        let insert =
            format!("INSERT INTO bench_numbers SELECT n + {count} FROM bench_numbers WHERE n < {more}");
        connection.execute(AssertSqlSafe(insert)).await?;
        count += more;
    }
    Ok(())
}
