use std::time::Duration;

use claimstream_domain::LockListed;
use claimstream_ports::StoreError;

use crate::{
    database::{
        Database,
        args::bytes,
        capability::{Capability, rows_of},
        classify::corrupt,
        typed_row::row,
    },
    locks::rows::FREE,
};

const LIST: &str = "locks";

/// The locks that follow `after`, by key.
pub(crate) async fn list_locks(
    db: &Database,
    after: Option<String>,
    limit: u32,
) -> Result<Vec<LockListed>, StoreError> {
    // Keys are compared byte by byte, and nothing stands between a key and the same key with a zero behind it.
    locks_from(db, after.map(|after| after + "\0").unwrap_or_default(), limit).await
}

/// The lock with this key.
pub(crate) async fn find_lock(db: &Database, key: &str) -> Result<Option<LockListed>, StoreError> {
    let found = locks_from(db, key.to_owned(), 1).await?;
    Ok(found.into_iter().find(|lock| lock.key == key))
}

async fn locks_from(db: &Database, first: String, limit: u32) -> Result<Vec<LockListed>, StoreError> {
    let args = db.args().with("first", first).with("limit", i64::from(limit)).with("free", bytes(FREE));
    let found = db
        .restarting(|| rows_of(db.relay(), LIST, db.sql, Capability::Steps, db.sql.locks.list.bind(&args)))
        .await?;
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
