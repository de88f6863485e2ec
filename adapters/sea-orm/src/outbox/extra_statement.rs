use claimstream_ports::StoreError;
use sea_orm::ConnectionTrait;

use crate::database::{Database, classify::classify};

pub(super) const EXTRA: &str = "schema extra";

/// Sends a statement about parts of the schema for other programs: as text, because servers prepare none that makes a procedure.
pub(super) async fn send(db: &Database, statement: &str) -> Result<(), StoreError> {
    db.relay().execute_unprepared(statement).await.map(drop).map_err(|e| classify(EXTRA, e))
}
