use claimstream_domain::Shard;
use claimstream_ports::StoreError;
use sea_orm::Value;

use crate::{
    database::{
        args::{Args, bytes},
        classify::may_have_committed,
        sql::Sql,
        statements::Statements,
        typed_row::columns,
        unit::{rows, run},
    },
    strategy::rows::{marking::Marking, row_claim::Call},
};

const CLAIM: &str = "claim";

/// Locks due rows, stepping over those that another claim is taking, then marks them: no claim waits for another.
pub(crate) struct SkipLockedRows;

impl Marking for SkipLockedRows {
    async fn mark(
        &self,
        call: &Call<'_>,
        shard: Shard,
        args: &Args,
        known: i64,
    ) -> Result<(u32, i64), StoreError> {
        call.db().restarting(|| lock_and_mark(call, shard, args.clone(), known)).await
    }

    fn due_statement<'a>(&self, sql: &'a Statements) -> (&'static str, &'a Sql) {
        ("claim_lock", &sql.claim.lock)
    }
}

/// Locks due rows, steps over locked ones, marks what it has, commits; also returns the end of the lease.
async fn lock_and_mark(
    call: &Call<'_>,
    shard: Shard,
    args: Args,
    known: i64,
) -> Result<(u32, i64), StoreError> {
    let db = call.db();
    call.on.rest();
    let transaction = db.begin(CLAIM).await?;
    let locked = rows(&transaction, CLAIM, db.sql.claim.lock.bind(&args)).await?;
    let (Some(first), Some(last)) = (locked.first(), locked.last()) else {
        db.roll_back(CLAIM, transaction).await?;
        return Ok((0, known));
    };
    let at = LockedColumns::of(first)?;
    let (first, last, now) = (first.int(at.due_at)?, last.int(at.due_at)?, first.int(at.now)?);
    let lease_end = if known == 0 { call.lease_end(now) } else { known };
    let ids = locked.iter().map(|row| row.uuid(at.id).map(bytes)).collect::<Result<Vec<Value>, _>>()?;
    let args =
        args.with("lease_end", lease_end).with("first", first).with("last", last).with_list("ids", ids);
    let count = run(&transaction, CLAIM, db.sql.claim.mark.bind(&args)).await? as u32;
    if count as usize != locked.len() {
        let (queue, locked, marked) = (&call.request.queue, locked.len(), count);
        tracing::warn!(%queue, ?shard, locked, marked, "a claim has marked other messages than it had locked");
    }
    match db.commit(CLAIM, transaction).await {
        Ok(()) => Ok((count, lease_end)),
        Err(lost) if may_have_committed(&lost) => {
            Ok((call.read_back(shard, lease_end, lost).await?, lease_end))
        }
        Err(error) => Err(error),
    }
}

columns! {
    struct LockedColumns of "claim/lock" { id, due_at, now }
}
