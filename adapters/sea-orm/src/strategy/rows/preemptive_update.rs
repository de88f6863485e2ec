use claimstream_domain::Shard;
use claimstream_ports::StoreError;

use crate::{
    database::{args::Args, classify::may_have_committed, sql::Sql, statements::Statements, unit::run},
    strategy::rows::{marking::Marking, row_claim::Call},
};

const CLAIM: &str = "claim";

/// Marks due rows in one statement: works on every server; instances queue up for a moment on a shard's first rows.
pub(crate) struct PreemptiveUpdate;

impl Marking for PreemptiveUpdate {
    async fn mark(
        &self,
        call: &Call<'_>,
        shard: Shard,
        args: &Args,
        known: i64,
    ) -> Result<(u32, i64), StoreError> {
        call.db().restarting(|| mark_at_once(call, shard, args.clone(), known)).await
    }

    fn due_statement<'a>(&self, sql: &'a Statements) -> (&'static str, &'a Sql) {
        ("claim_take", &sql.claim.take)
    }
}

/// One statement, its own transaction; also returns the end of the lease, which is counted from this try unless other
/// shards have given something. If its answer is lost, the claim id is read back.
async fn mark_at_once(
    call: &Call<'_>,
    shard: Shard,
    args: Args,
    known: i64,
) -> Result<(u32, i64), StoreError> {
    let db = call.db();
    let lease_end = match known {
        0 => call.lease_end(db.now(call.on, CLAIM).await?),
        known => known,
    };
    let args = args.with("lease_end", lease_end);
    match run(call.on, CLAIM, db.sql.claim.take.bind(&args)).await {
        Ok(count) => Ok((count as u32, lease_end)),
        Err(lost) if may_have_committed(&lost) => {
            Ok((call.read_back(shard, lease_end, lost).await?, lease_end))
        }
        Err(error) => Err(error),
    }
}
