use claimstream_ports::StoreError;
use sea_orm::{
    ColIdx, ConnectionTrait, DbErr, QueryResult, RuntimeErr, Statement, Value,
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

/// A column as the driver reads it, `None` for NULL. For a NULL sea-orm makes an error with a text first, in each row.
macro_rules! by_driver {
    ($row:expr, $column:expr) => {{
        let found: Option<Result<_, sqlx::Error>> = None;
        #[cfg(feature = "mysql")]
        let found =
            found.or_else(|| Some($row.row.try_as_mysql_row()?.try_get($column.as_sqlx_mysql_index())));
        #[cfg(feature = "sqlite")]
        let found =
            found.or_else(|| Some($row.row.try_as_sqlite_row()?.try_get($column.as_sqlx_sqlite_index())));
        let found = found.ok_or_else(|| $row.corrupt("no driver of ours has read it"))?;
        found.map_err(|e| classify($row.operation, DbErr::Query(RuntimeErr::SqlxError(e.into()))))
    }};
}

/// A row of an answer; a column is named, or is where [`places`](Self::places) has found it.
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

    pub(crate) fn int(&self, column: impl ColIdx) -> Result<i64, StoreError> {
        self.maybe_int(column)?.ok_or_else(|| corrupt(self.operation, format!("column {column:?} is NULL")))
    }

    pub(crate) fn maybe_int(&self, column: impl ColIdx) -> Result<Option<i64>, StoreError> {
        // Drivers are strict about signs, and a refusal is dear: statements on hot paths cast to SIGNED.
        let wide: Result<Option<i64>, StoreError> = by_driver!(self, column);
        let unsigned = || self.row.try_get_by::<Option<u64>, _>(column).map(|n| n.map(|n| n as i64));
        wide.or_else(|_| unsigned().map_err(|e| classify(self.operation, e)))
    }

    pub(crate) fn maybe_bytes(&self, column: impl ColIdx) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.maybe_lent(column)?.map(<[u8]>::to_vec))
    }

    pub(crate) fn bytes(&self, column: impl ColIdx) -> Result<Vec<u8>, StoreError> {
        self.maybe_bytes(column)?.ok_or_else(|| corrupt(self.operation, format!("column {column:?} is NULL")))
    }

    pub(crate) fn maybe_text(&self, column: impl ColIdx) -> Result<Option<String>, StoreError> {
        Ok(self.maybe_lent_text(column)?.map(ToOwned::to_owned))
    }

    pub(crate) fn text(&self, column: impl ColIdx) -> Result<String, StoreError> {
        self.maybe_text(column)?.ok_or_else(|| corrupt(self.operation, format!("column {column:?} is NULL")))
    }

    pub(crate) fn named_text(&self, column: &str) -> Result<Option<String>, StoreError> {
        self.row.try_get_by::<Option<String>, _>(column).map_err(|e| classify(self.operation, e))
    }

    /// The bytes where the driver has them.
    pub(crate) fn maybe_lent(&self, column: impl ColIdx) -> Result<Option<&[u8]>, StoreError> {
        by_driver!(self, column)
    }

    /// The text where the driver has it.
    pub(crate) fn maybe_lent_text(&self, column: impl ColIdx) -> Result<Option<&str>, StoreError> {
        self.maybe_lent(column)?.map(str::from_utf8).transpose().map_err(|e| self.corrupt(e))
    }

    pub(crate) fn uuid(&self, column: impl ColIdx) -> Result<uuid::Uuid, StoreError> {
        uuid::Uuid::from_slice(self.maybe_lent(column)?.unwrap_or_default()).map_err(|e| self.corrupt(e))
    }

    pub(crate) fn truth(&self, column: impl ColIdx) -> Result<bool, StoreError> {
        Ok(self.int(column)? != 0)
    }

    /// Where columns stand in this row and in all others of its answer. To look each up in each row costs the hot paths.
    pub(crate) fn places<const N: usize>(&self, columns: &[&str; N]) -> Result<[usize; N], StoreError> {
        let known = self.row.column_names();
        let mut places = [0; N];
        for (place, column) in places.iter_mut().zip(columns) {
            let found = known.iter().position(|known| known == column);
            *place = found.ok_or_else(|| self.corrupt(format!("there is no column {column}")))?;
        }
        Ok(places)
    }

    pub(crate) fn number<T: TryFrom<i64>>(&self, column: impl ColIdx) -> Result<T, StoreError> {
        let value = self.int(column)?;
        T::try_from(value).map_err(|_| corrupt(self.operation, format!("{value} is out of range")))
    }
}

/// Text, or NULL.
pub(crate) fn maybe(text: Option<&str>) -> Value {
    Value::String(text.map(ToOwned::to_owned))
}
