use claimstream_ports::StoreError;
use sea_orm::Statement;

use super::{Database, classify::classify, deadline::in_time, link::ask_beside_the_pool, unit::Row};

/// What a connection answers that is opened for this one question, however long others keep those of the pool.
pub(crate) async fn rows_beside_the_pool(
    db: &Database,
    operation: &'static str,
    question: Statement,
) -> Result<Vec<Row>, StoreError> {
    let answer = ask_beside_the_pool(db.relay(), db.dialect, question);
    let found = in_time(operation, answer, classify).await?;
    Ok(found.into_iter().map(|row| Row::of(row, operation)).collect())
}
