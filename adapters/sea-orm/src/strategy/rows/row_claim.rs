use std::sync::{
    PoisonError,
    atomic::{AtomicBool, Ordering},
};

use claimstream_domain::{ClaimRequest, Shard};
use claimstream_ports::StoreError;
use sea_orm::Value;

use crate::{
    database::{
        Database,
        args::{Args, bytes},
        clock::micros,
        held::Held,
        unit::rows,
    },
    strategy::rows::row_strategy::RowClaims,
};

const CLAIM: &str = "claim";

/// One claim call: what it asks for, and the connection it asks on.
pub(crate) struct Call<'a> {
    pub(crate) claims: &'a RowClaims,
    pub(crate) on: &'a Held<'a>,
    pub(crate) request: ClaimRequest,
    /// An answer was lost: a statement may still mark more than is known.
    pub(crate) in_doubt: AtomicBool,
}

impl<'a> Call<'a> {
    /// The database, for as long as the call lasts.
    pub(crate) fn db(&self) -> &'a Database {
        &self.claims.db
    }

    /// The end of a claim's lease. A call that is repeated with the same claim id gets another end, so that it does not
    /// read the first call's messages again.
    pub(crate) fn lease_end(&self, now: i64) -> i64 {
        let lease_end = now + micros(self.request.lease.duration());
        let mut last = self.claims.last_lease.lock().unwrap_or_else(PoisonError::into_inner);
        let lease_end = match *last {
            Some((claim, end)) if claim == self.request.claim => lease_end.max(end + 1),
            _ => lease_end,
        };
        *last = Some((self.request.claim, lease_end));
        lease_end
    }

    /// How many rows of a shard carry this claim, after an answer was lost.
    pub(crate) async fn read_back(
        &self,
        shard: Shard,
        lease_end: i64,
        lost: StoreError,
    ) -> Result<u32, StoreError> {
        let (db, args) = (self.db(), self.read_args(&[shard], lease_end));
        self.in_doubt.store(true, Ordering::Relaxed);
        db.note_trouble(&lost);
        self.on.rest();
        // Only how many there are is asked for.
        let args = args.with("inline", 0_i64);
        match db.asking_back(|| rows(db.relay(), CLAIM, db.sql.claim.read.bind(&args))).await {
            Ok(found) if !found.is_empty() => {
                tracing::warn!(shard = shard.number(), count = found.len(), error = %lost, "the answer to a claim was lost; its messages were read back");
                Ok(found.len() as u32)
            }
            _ => Err(lost),
        }
    }

    pub(crate) fn read_args(&self, shards: &[Shard], lease_end: i64) -> Args {
        let shards = shards.iter().map(|shard| Value::from(shard.number()));
        self.shard_args(Shard::from_number(0)).with("lease_end", lease_end).with_list("shards", shards)
    }

    pub(crate) fn shard_args(&self, shard: Shard) -> Args {
        self.db()
            .args()
            .with("queue", self.request.queue.as_str())
            .with("shard", shard.number())
            .with("claim", bytes(self.request.claim.uuid()))
    }
}
