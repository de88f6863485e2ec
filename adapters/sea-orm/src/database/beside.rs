use std::pin::Pin;

use claimstream_ports::StoreError;
use sea_orm::{DbErr, QueryResult, Statement};

use super::{Database, classify::classify, deadline::in_time, link::ask_beside_the_pool, unit::Row};

/// What a connection answers that is opened for this one question, however long others keep those of the pool.
pub(crate) async fn rows_beside_the_pool(
    db: &Database,
    operation: &'static str,
    question: Statement,
) -> Result<Vec<Row>, StoreError> {
    let answer = Box::pin(ask_beside_the_pool(db.relay(), db.dialect, question)) as Answering<'_>;
    let found = in_time(operation, answer, classify).await?;
    Ok(found.into_iter().map(|row| Row::of(row, operation)).collect())
}

/// Opening a connection is boxed, as [`Link::of_pool`](super::link::Link::of_pool) says.
type Answering<'a> = Pin<Box<dyn Future<Output = Result<Vec<QueryResult>, DbErr>> + Send + 'a>>;
