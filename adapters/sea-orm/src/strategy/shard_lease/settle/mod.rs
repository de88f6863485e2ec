//! Settlements and renewals under shard leases.

mod brief_restarts;
mod each_shard;
mod proofs;
pub(crate) mod renew;
mod shard_ends;
mod transaction;

use std::{sync::Arc, time::Duration};

use claimstream_domain::{Disposition, Settled, Settlement};
use claimstream_ports::StoreError;

use crate::{
    database::{
        classify::{is_locked_by_another, is_refused},
        retries::Busy,
    },
    strategy::{
        shard_lease::{
            leases::ShardLease,
            settle::{
                each_shard::{EachShard, by_shard},
                shard_ends::SETTLE,
            },
            shard_key::ShardKey,
        },
        shared::answers::as_far_as_known,
    },
};

/// Ends claims under shard leases.
///
/// All together in one transaction that begins by proving the fence of each shard; a call that only finishes messages of one
/// shard shares its transaction with others that do. If a claim turns out to be lost, or a shard is locked, each shard is
/// settled for itself, and then each message.
pub(crate) async fn settle(
    store: &Arc<ShardLease>,
    settlements: &[Settlement],
) -> Result<Vec<Settled>, StoreError> {
    let parts = by_shard(settlements, |settlement| &settlement.receipt);
    if parts.len() < 2 {
        return store.settle_shard(settlements, store.db.limits.acquire_timeout).await;
    }
    if store.settle_whole(settlements).await? {
        return Ok(vec![Settled::Accepted; settlements.len()]);
    }
    let soon = ShardLease::SOON.min(store.db.limits.acquire_timeout);
    let settle = move |store: Arc<ShardLease>, part: Vec<Settlement>| async move {
        store.settle_shard(&part, soon).await
    };
    let each = EachShard { operation: SETTLE, unknown: Settled::Unknown, within: Duration::MAX };
    each.run(store, settlements, parts, settle).await
}

impl ShardLease {
    /// Ends claims in several shards, or none; false also if one of the shards is not to be had at once.
    async fn settle_whole(&self, settlements: &[Settlement]) -> Result<bool, StoreError> {
        match self.settle_together(settlements, Self::SOON.min(self.db.limits.acquire_timeout)).await {
            Err(error) if is_refused(&error) => {
                tracing::debug!(count = settlements.len(), %error, "each shard is settled for itself");
                Ok(false)
            }
            settled => settled,
        }
    }

    /// Ends claims in one shard. An answer that is known before something goes wrong stays known.
    async fn settle_shard(
        self: &Arc<Self>,
        settlements: &[Settlement],
        timeout: Duration,
    ) -> Result<Vec<Settled>, StoreError> {
        let accepted = || Ok(vec![Settled::Accepted; settlements.len()]);
        if self.settle_shared(settlements).await? {
            return accepted();
        }
        match self.restarting_briefly(|| self.settle_together(settlements, timeout)).await {
            Ok(true) => return accepted(),
            Err(error) if settlements.len() == 1 || !concerns_one(&error) => return Err(error),
            Ok(false) | Err(_) => {}
        }
        self.settle_one_by_one(settlements, timeout).await
    }

    /// Ends each alone. One that is refused does not keep the others from ending, but two that are locked do: each of them is
    /// found out by a wait.
    async fn settle_one_by_one(
        &self,
        settlements: &[Settlement],
        timeout: Duration,
    ) -> Result<Vec<Settled>, StoreError> {
        let (mut settled, mut trouble) = (vec![Settled::Unknown; settlements.len()], None);
        let mut locked = 0;
        for (settlement, answer) in settlements.iter().zip(&mut settled) {
            let one = std::slice::from_ref(settlement);
            match self.restarting_briefly(|| self.settle_together(one, timeout)).await {
                Ok(true) => *answer = Settled::Accepted,
                Ok(false) => {
                    self.owned.forget(&settlement.receipt).await;
                    *answer = Settled::Superseded;
                }
                Err(error) => {
                    locked += u32::from(is_locked_by_another(&error));
                    let continues = concerns_one(&error) && locked < 2;
                    trouble = trouble.or(Some(error));
                    if !continues {
                        break;
                    }
                }
            }
        }
        as_far_as_known(settled, &Settled::Unknown, trouble)
    }

    /// Finishes messages of one shard in one transaction with other calls that finish messages there at the same time: a shard
    /// has one lease row, which one transaction at a time can write. False if there is more to write, if any claim of them all is
    /// lost, or if the database has refused anything: each call is then settled for itself, and meets its own error alone.
    async fn settle_shared(self: &Arc<Self>, settlements: &[Settlement]) -> Result<bool, StoreError> {
        let Some(key) = finished_in_one_shard(settlements) else { return Ok(false) };
        let shared = self.owned.settlements(&key);
        let store = Arc::clone(self);
        let write = move |all: Vec<Settlement>| {
            let store = Arc::clone(&store);
            async move {
                match store.settle_together(&all, store.db.limits.acquire_timeout).await {
                    Err(error) if is_refused(&error) => Ok(false),
                    settled => settled,
                }
            }
        };
        self.db.coalesced(SETTLE, &shared, settlements.to_vec(), write).await
    }
}

/// The shard that all of them lie in, if nothing else is to be written than that they are done.
fn finished_in_one_shard(settlements: &[Settlement]) -> Option<ShardKey> {
    let first = &settlements.first()?.receipt;
    let all = settlements.iter().all(|Settlement { receipt, disposition }| {
        let is_done = matches!(disposition, Disposition::Done { emit } if emit.is_empty());
        is_done && (&receipt.queue, receipt.shard) == (&first.queue, first.shard)
    });
    all.then(|| ShardKey::of(first))
}

/// Whether other messages may fare better: it was refused, and not because other calls are at work in the shard.
fn concerns_one(error: &StoreError) -> bool {
    is_refused(error) && !error.get_ref().is::<Busy>()
}
