use std::time::Duration;

use sea_orm::{ConnectionTrait, DbBackend, QueryResult, Statement};
use tokio::sync::Mutex;

/// Asks about open transactions.
///
/// The server answers from a copy that it renews when it was not read for 100 ms, so readers of this process take
/// turns and wait that long. MySQL fails to answer while a statement with binary values is under way anywhere.
pub(crate) async fn fresh_transactions(db: &impl ConnectionTrait, sql: &str) -> Vec<QueryResult> {
    static TURN: Mutex<()> = Mutex::const_new(());
    let _turn = TURN.lock().await;
    let mut failed = None;
    // Others have such statements under way all the time; only a stuck test gives up.
    for _ in 0..2_000 {
        tokio::time::sleep(Duration::from_millis(150)).await;
        match db.query_all_raw(Statement::from_string(DbBackend::MySql, sql)).await {
            Ok(found) => return found,
            Err(error) if error.to_string().contains("Cannot convert string") => failed = Some(error),
            Err(error) => panic!("{error}: {sql}"),
        }
    }
    panic!("{failed:?}: {sql}")
}
