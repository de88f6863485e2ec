use claimstream_domain::Shard;
use claimstream_ports::StoreError;
use sea_orm::Value;

use crate::{
    database::{
        args::{Args, bytes},
        classify::may_have_committed,
        typed_row::columns,
        unit::{rows, run},
    },
    strategy::rows::row_claim::{CLAIM, RowClaim},
};

/// Locks due rows, steps over locked ones, marks what it has, commits. Returns how many, and the end of their lease.
pub(super) async fn lock_and_mark(
    claim: &RowClaim<'_>,
    shard: Shard,
    args: Args,
) -> Result<(u32, i64), StoreError> {
    let db = claim.db();
    claim.on.rest();
    let transaction = db.begin(CLAIM).await?;
    let locked = rows(&transaction, CLAIM, db.sql.claim.lock.bind(&args)).await?;
    let (Some(first), Some(last)) = (locked.first(), locked.last()) else {
        db.roll_back(CLAIM, transaction).await?;
        return Ok((0, claim.lease_end));
    };
    let at = LockedColumns::of(first)?;
    let (first, last, now) = (first.int(at.due_at)?, last.int(at.due_at)?, first.int(at.now)?);
    let lease_end = match claim.lease_end {
        0 => claim.new_lease_end(now),
        of_others => of_others,
    };
    let ids = locked.iter().map(|row| row.uuid(at.id).map(bytes)).collect::<Result<Vec<Value>, _>>()?;
    let args =
        args.with("lease_end", lease_end).with("first", first).with("last", last).with_list("ids", ids);
    let count = run(&transaction, CLAIM, db.sql.claim.mark.bind(&args)).await? as u32;
    if count as usize != locked.len() {
        let (queue, locked, marked) = (&claim.request.queue, locked.len(), count);
        tracing::warn!(%queue, ?shard, locked, marked, "a claim has marked other messages than it had locked");
    }
    match db.commit(CLAIM, transaction).await {
        Ok(()) => Ok((count, lease_end)),
        Err(lost) if may_have_committed(&lost) => {
            Ok((claim.read_back(shard, lease_end, lost).await?, lease_end))
        }
        Err(error) => Err(error),
    }
}

columns! {
    struct LockedColumns of "claim/lock" { id, due_at, now }
}
