use std::time::Duration;

use claimstream_domain::LockListed;
use claimstream_ports::StoreError;

use crate::database::{Database, classify::corrupt, typed_row::row, unit::rows};

const LIST: &str = "locks";

/// The locks that follow `after`, by key.
pub(crate) async fn list_locks(
    db: &Database,
    after: Option<String>,
    limit: u32,
) -> Result<Vec<LockListed>, StoreError> {
    // Keys are compared byte by byte, and nothing stands between a key and the same key with a zero behind it.
    let first = after.map(|after| after + "\0").unwrap_or_default();
    let args = db.args().with("first", first).with("limit", i64::from(limit));
    let found = db.restarting(|| rows(db.relay(), LIST, db.sql.locks.list.bind(&args))).await?;
    let listed = found.iter().map(|row| {
        let LockRow { lock_key, fence, ends_in } = LockRow::read(row)?;
        Ok(LockListed {
            key: lock_key,
            fence: u64::try_from(fence).map_err(|e| corrupt(LIST, e))?,
            ends_in: u64::try_from(ends_in).ok().filter(|left| *left > 0).map(Duration::from_micros),
        })
    });
    listed.collect()
}

row! {
    struct LockRow of "locks/list" { lock_key: String, fence: i64, ends_in: i64 }
}
