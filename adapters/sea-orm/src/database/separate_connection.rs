use std::pin::Pin;

use claimstream_ports::StoreError;
use sea_orm::{DbErr, QueryResult, Statement};

use super::{Database, classify::classify, deadline::in_time, link::ask_on_separate_connection, unit::Row};

/// The rows of a question that is asked on a connection of its own, however long others keep those of the pool.
pub(crate) async fn rows_on_separate_connection(
    db: &Database,
    operation: &'static str,
    question: Statement,
) -> Result<Vec<Row>, StoreError> {
    let answer = Box::pin(ask_on_separate_connection(db.relay(), db.dialect, question)) as Answering<'_>;
    let found = in_time(operation, answer, classify).await?;
    Ok(found.into_iter().map(|row| Row::of(row, operation)).collect())
}

/// Opening a connection is boxed, as [`Link::of_pool`](super::link::Link::of_pool) says.
type Answering<'a> = Pin<Box<dyn Future<Output = Result<Vec<QueryResult>, DbErr>> + Send + 'a>>;
