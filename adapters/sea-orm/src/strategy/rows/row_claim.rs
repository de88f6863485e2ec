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
    strategy::{rows::row_strategy::RowStrategy, shared::shard_walk::ShardWalk},
};

/// The operation that errors of claims name.
pub(super) const CLAIM: &str = "claim";

/// A claim under way, from its request to its messages: it marks rows shard by shard, then commits, then reads them.
///
/// It is one connection where one is enough.
pub(super) struct RowClaim<'a> {
    pub(super) store: &'a RowStrategy,
    pub(super) on: Held<'a>,
    pub(super) request: ClaimRequest,
    pub(super) walk: ShardWalk<'a>,
    /// How many rows it has marked.
    pub(super) marked: u32,
    /// The end of the lease of all that it has marked; 0 before the first one.
    pub(super) lease_end: i64,
    /// An answer was lost: a statement may have marked more than is known.
    pub(super) in_doubt: AtomicBool,
}

impl<'a> RowClaim<'a> {
    pub(super) fn of(store: &'a RowStrategy, request: ClaimRequest) -> Self {
        let light = store.weights.fitting(&request.queue, request.budget);
        let limit = request.limit.min(ClaimRequest::MOST).min(light);
        Self {
            store,
            on: Held::new(&store.db),
            walk: ShardWalk::of(&store.known, request.queue.clone()),
            request: ClaimRequest { limit, ..request },
            marked: 0,
            lease_end: 0,
            in_doubt: AtomicBool::default(),
        }
    }

    /// The database, for as long as the claim lasts.
    pub(super) fn db(&self) -> &'a Database {
        &self.store.db
    }

    /// The end of a lease that begins now. A call that is repeated with the same claim id gets another end, so that it does not
    /// read the first call's messages again.
    pub(super) fn new_lease_end(&self, now: i64) -> i64 {
        let lease_end = now + micros(self.request.lease.duration());
        let mut last = self.store.last_lease.lock().unwrap_or_else(PoisonError::into_inner);
        let lease_end = match *last {
            Some((claim, end)) if claim == self.request.claim => lease_end.max(end + 1),
            _ => lease_end,
        };
        *last = Some((self.request.claim, lease_end));
        lease_end
    }

    /// How many rows of a shard carry this claim, after an answer was lost.
    pub(super) async fn read_back(
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

    pub(super) fn read_args(&self, shards: &[Shard], lease_end: i64) -> Args {
        let shards = shards.iter().map(|shard| Value::from(shard.number()));
        self.shard_args(Shard::from_number(0)).with("lease_end", lease_end).with_list("shards", shards)
    }

    pub(super) fn shard_args(&self, shard: Shard) -> Args {
        self.db()
            .args()
            .with("queue", self.request.queue.as_str())
            .with("shard", shard.number())
            .with("claim", bytes(self.request.claim.uuid()))
    }
}
