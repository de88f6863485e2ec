use claimstream_ports::{StoreError, StoreErrorKind};
use sea_orm::Value;

use crate::{
    database::{Database, args::Args, separate_connection::rows_on_separate_connection, typed_row::row},
    strategy::shard_lease::{lease::args::LEASE, leases::ShardLease},
};

impl ShardLease {
    /// Whether the newest write of a lease row is the one with these arguments, after its answer was lost. The state is locked
    /// meanwhile, so it is asked on a separate connection.
    pub(crate) async fn has_token(&self, args: &Args, lost: StoreError) -> Result<bool, StoreError> {
        has_token(&self.db, args, lost).await
    }
}

/// The same for a write that is no instance's own.
pub(super) async fn has_token(db: &Database, args: &Args, lost: StoreError) -> Result<bool, StoreError> {
    db.note_trouble(&lost);
    let question = || db.sql.shard_lease.token.bind(args);
    // An error of the question says nothing about the commit, whatever its kind.
    let answer = db.asking_back(|| rows_on_separate_connection(db, LEASE, question())).await;
    let found = answer.map_err(|_| in_doubt(&lost))?;
    let Some(row) = found.first() else { return Err(in_doubt(&lost)) };
    let Newest { fence, token } = Newest::read(row)?;
    let asked = |name| match args.one(name) {
        Some(Value::BigInt(Some(number))) => *number,
        _ => 0,
    };
    match fence == asked("new_fence") && token == asked("token") {
        true => Ok(true),
        // It was not written, or another instance has taken the shard over since and it cannot be found out any more.
        false => Err(in_doubt(&lost)),
    }
}

/// A commit whose outcome cannot be found out.
pub(super) fn in_doubt(lost: &StoreError) -> StoreError {
    StoreError::new(StoreErrorKind::Unavailable, LEASE, format!("the outcome is unknown: {lost}"))
}

row! {
    /// What the newest write of a lease row has left there.
    struct Newest of "shard_lease/token" { fence: i64, token: i64 }
}
