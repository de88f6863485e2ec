use claimstream_domain::Shard;
use claimstream_ports::StoreError;

use crate::{
    database::{args::Args, classify::may_have_committed, unit::run},
    strategy::rows::row_claim::{CLAIM, RowClaim},
};

/// Marks due rows by one statement, which is its own transaction. Returns how many, and the end of their lease: it is counted
/// from this attempt unless the claim has messages of other shards.
///
/// If the answer is lost, the claim id is read back.
pub(super) async fn mark_at_once(
    claim: &RowClaim<'_>,
    shard: Shard,
    args: Args,
) -> Result<(u32, i64), StoreError> {
    let db = claim.db();
    let lease_end = match claim.lease_end {
        0 => claim.new_lease_end(db.now(&claim.on, CLAIM).await?),
        of_others => of_others,
    };
    let args = args.with("lease_end", lease_end);
    match run(&claim.on, CLAIM, db.sql.claim.take.bind(&args)).await {
        Ok(count) => Ok((count as u32, lease_end)),
        Err(lost) if may_have_committed(&lost) => {
            Ok((claim.read_back(shard, lease_end, lost).await?, lease_end))
        }
        Err(error) => Err(error),
    }
}
