use claimstream_domain::Lease;
use claimstream_ports::{LockGuard, StoreError, StoreErrorKind};
use sea_orm::ConnectionTrait;
use uuid::Uuid;

use crate::database::{
    Database,
    args::{Args, bytes},
    classify::{corrupt, may_have_committed},
    clock::micros,
    held::Held,
    typed_row::row,
    unit::{rows, run},
};

const LOCK: &str = "lock";

/// Takes a lock that is not held.
pub(crate) async fn take_lock(
    db: &Database,
    key: &str,
    lease: Lease,
) -> Result<Option<LockGuard>, StoreError> {
    Taking::of(db, key.to_owned(), lease).on(&Held::new(db)).await
}

/// One attempt to take a lock. The token that it writes says whether it has it: no count of rows does.
struct Taking<'a> {
    db: &'a Database,
    key: String,
    args: Args,
}

impl<'a> Taking<'a> {
    fn of(db: &'a Database, key: String, lease: Lease) -> Self {
        let args = key_args(db, &key).with("lease", micros(lease.duration()));
        Self { db, key, args }
    }

    /// Takes the row if it is free, makes it if it is not there; the second caller finds it held.
    async fn on(self, on: &Held<'_>) -> Result<Option<LockGuard>, StoreError> {
        let sql = &self.db.sql;
        let taken = self.db.restarting(|| run(on, LOCK, sql.locks.take.bind(&self.args))).await;
        match self.looked_at(on, taken).await? {
            Row::Ours(guard) => return Ok(Some(guard)),
            Row::Elsewhere => return Ok(None),
            Row::Absent => {}
        }
        let made = self.db.restarting(|| run(on, LOCK, sql.locks.make.bind(&self.args))).await;
        match made {
            Err(beaten) if beaten.kind() == StoreErrorKind::Conflict => Ok(None),
            made => match self.looked_at(on, made).await? {
                Row::Ours(guard) => Ok(Some(guard)),
                // It has lapsed, and another holder has taken it or a sweep has removed it.
                Row::Elsewhere | Row::Absent => Ok(None),
            },
        }
    }

    /// Reads the row after a write; a write whose answer was lost has taken effect if the row is ours. That is asked on whatever
    /// connection there is, so ours goes back first.
    async fn looked_at(&self, on: &Held<'_>, written: Result<u64, StoreError>) -> Result<Row, StoreError> {
        let db = self.db;
        match written {
            Ok(_) => db.restarting(|| self.read(on)).await,
            // Untested: no test loses this answer; the caller would get an error, and the lock expires
            Err(lost) if may_have_committed(&lost) => {
                on.rest();
                match db.asking_back(|| self.read(db.relay())).await {
                    Ok(ours @ Row::Ours(_)) => Ok(ours),
                    _ => Err(lost),
                }
            }
            Err(error) => Err(error),
        }
    }

    async fn read(&self, on: &impl ConnectionTrait) -> Result<Row, StoreError> {
        let found = rows(on, LOCK, self.db.sql.locks.read.bind(&self.args)).await?;
        let Some(row) = found.first() else { return Ok(Row::Absent) };
        let LockRow { fence, is_ours } = LockRow::read(row)?;
        if !is_ours {
            return Ok(Row::Elsewhere);
        }
        let fence = u64::try_from(fence).map_err(|e| corrupt(LOCK, e))?;
        Ok(Row::Ours(LockGuard { key: self.key.clone(), fence }))
    }
}

/// What the row of a lock says to a caller that has just tried to take it.
enum Row {
    Ours(LockGuard),
    /// It is held, or was until a moment ago.
    Elsewhere,
    Absent,
}

pub(crate) async fn renew_lock(db: &Database, guard: &LockGuard, lease: Lease) -> Result<bool, StoreError> {
    let args = guard_args(db, guard)?.with("lease", micros(lease.duration()));
    let renewed = db.restarting(|| run(db.relay(), LOCK, db.sql.locks.renew.bind(&args))).await?;
    Ok(renewed == 1)
}

pub(crate) async fn release_lock(db: &Database, guard: &LockGuard) -> Result<bool, StoreError> {
    let args = guard_args(db, guard)?;
    let released = db.restarting(|| run(db.relay(), LOCK, db.sql.locks.release.bind(&args))).await?;
    Ok(released == 1)
}

/// The token is fresh, so that a row that is found is also changed and counts, whatever the driver asks the server to
/// count.
fn guard_args(db: &Database, guard: &LockGuard) -> Result<Args, StoreError> {
    let fence = i64::try_from(guard.fence).map_err(|e| corrupt(LOCK, e))?;
    Ok(key_args(db, &guard.key).with("fence", fence))
}

fn key_args(db: &Database, key: &str) -> Args {
    db.args().with("key", key).with("token", bytes(Uuid::now_v7())).with("free", bytes(FREE))
}

/// The token in the row of a lock that was given back.
pub(crate) const FREE: Uuid = Uuid::nil();

row! {
    /// The fence of a lock, and whether the token in its row is the one that was asked for.
    struct LockRow of "locks/read" { fence: i64, is_ours: bool }
}
