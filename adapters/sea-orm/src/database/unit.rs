use claimstream_ports::StoreError;
use sea_orm::{
    ConnectionTrait, DbErr, QueryResult, RuntimeErr, Statement, Value,
    sqlx::{self, Row as _},
};

use super::{
    classify::{classify, corrupt},
    deadline::in_time,
};

pub(crate) async fn run(
    on: &impl ConnectionTrait,
    operation: &'static str,
    statement: Statement,
) -> Result<u64, StoreError> {
    let done = in_time(operation, on.execute_raw(statement), classify).await?;
    Ok(done.rows_affected())
}

pub(crate) async fn rows(
    on: &impl ConnectionTrait,
    operation: &'static str,
    statement: Statement,
) -> Result<Vec<Row>, StoreError> {
    let found = in_time(operation, on.query_all_raw(statement), classify).await?;
    Ok(found.into_iter().map(|row| Row::of(row, operation)).collect())
}

/// A row of an answer, read by position as the statement's file lists its columns.
pub(crate) struct Row {
    row: QueryResult,
    operation: &'static str,
}

impl Row {
    pub(super) fn of(row: QueryResult, operation: &'static str) -> Self {
        Self { row, operation }
    }

    /// The row is not what it must be.
    pub(crate) fn corrupt(&self, why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StoreError {
        corrupt(self.operation, why)
    }

    pub(crate) fn int(&self, column: usize) -> Result<i64, StoreError> {
        self.maybe_int(column)?.ok_or_else(|| corrupt(self.operation, format!("column {column} is NULL")))
    }

    pub(crate) fn maybe_int(&self, column: usize) -> Result<Option<i64>, StoreError> {
        // Drivers are strict about signs, and a refusal is dear: statements on hot paths cast to SIGNED.
        let wide = self.row.try_get_by_index::<Option<i64>>(column);
        let unsigned = || self.row.try_get_by_index::<Option<u64>>(column).map(|n| n.map(|n| n as i64));
        wide.or_else(|_| unsigned()).map_err(|e| classify(self.operation, e))
    }

    pub(crate) fn maybe_bytes(&self, column: usize) -> Result<Option<Vec<u8>>, StoreError> {
        self.row.try_get_by_index::<Option<Vec<u8>>>(column).map_err(|e| classify(self.operation, e))
    }

    pub(crate) fn bytes(&self, column: usize) -> Result<Vec<u8>, StoreError> {
        self.maybe_bytes(column)?.ok_or_else(|| corrupt(self.operation, format!("column {column} is NULL")))
    }

    pub(crate) fn maybe_text(&self, column: usize) -> Result<Option<String>, StoreError> {
        let text = self.maybe_bytes(column)?.map(String::from_utf8).transpose();
        text.map_err(|e| corrupt(self.operation, e))
    }

    pub(crate) fn text(&self, column: usize) -> Result<String, StoreError> {
        self.maybe_text(column)?.ok_or_else(|| corrupt(self.operation, format!("column {column} is NULL")))
    }

    pub(crate) fn named_text(&self, column: &str) -> Result<Option<String>, StoreError> {
        self.row.try_get_by::<Option<String>, _>(column).map_err(|e| classify(self.operation, e))
    }

    /// The bytes where the driver has them.
    pub(crate) fn maybe_lent(&self, column: usize) -> Result<Option<&[u8]>, StoreError> {
        let found: Option<Result<_, sqlx::Error>> = None;
        #[cfg(feature = "mysql")]
        let found = found.or_else(|| Some(self.row.try_as_mysql_row()?.try_get(column)));
        #[cfg(feature = "sqlite")]
        let found = found.or_else(|| Some(self.row.try_as_sqlite_row()?.try_get(column)));
        let found = found.ok_or_else(|| self.corrupt("no driver of ours has read it"))?;
        found.map_err(|e| classify(self.operation, DbErr::Query(RuntimeErr::SqlxError(e.into()))))
    }

    /// The text where the driver has it.
    pub(crate) fn maybe_lent_text(&self, column: usize) -> Result<Option<&str>, StoreError> {
        self.maybe_lent(column)?.map(str::from_utf8).transpose().map_err(|e| self.corrupt(e))
    }

    pub(crate) fn uuid(&self, column: usize) -> Result<uuid::Uuid, StoreError> {
        uuid::Uuid::from_slice(self.maybe_lent(column)?.unwrap_or_default()).map_err(|e| self.corrupt(e))
    }

    pub(crate) fn number<T: TryFrom<i64>>(&self, column: usize) -> Result<T, StoreError> {
        let value = self.int(column)?;
        T::try_from(value).map_err(|_| corrupt(self.operation, format!("{value} is out of range")))
    }
}

/// Text, or NULL.
pub(crate) fn maybe(text: Option<&str>) -> Value {
    Value::String(text.map(ToOwned::to_owned))
}
