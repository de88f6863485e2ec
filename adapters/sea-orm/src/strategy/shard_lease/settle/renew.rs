use std::{sync::Arc, time::Duration};

use claimstream_domain::{Lease, MessageId, Receipt, Renewed};
use claimstream_ports::StoreError;

use crate::{
    database::{clock::micros, held::Held},
    strategy::shard_lease::{
        lease::write::NextFence,
        leases::ShardLease,
        settle::each_shard::{EachShard, by_shard},
        shard_key::ShardKey,
        shard_state::{LeaseStatus, ShardState},
    },
};

const RENEW: &str = "renew";

/// Extends the leases that receipts are under, each shard for itself.
pub(crate) async fn renew(
    store: &Arc<ShardLease>,
    receipts: &[Receipt],
    lease: Lease,
) -> Result<Vec<Renewed>, StoreError> {
    let parts = by_shard(receipts, |receipt| receipt);
    // A caller waits no longer than it takes to ask again in time.
    let timeout = (lease.renew_after() / 2).min(store.db.limits.acquire_timeout);
    let renew = move |store: Arc<ShardLease>, part: Vec<Receipt>| async move {
        store.restarting_briefly(|| store.renew_shard(&part, lease, timeout)).await
    };
    // The answer of one shard is of use only if it comes before the next renewal is due.
    let within = lease.renew_after() * 3 / 4;
    EachShard { operation: RENEW, unknown: Renewed::Unknown, within }.run(store, receipts, parts, renew).await
}

impl ShardLease {
    /// Extends the lease of the one shard that all of the receipts are of.
    async fn renew_shard(
        &self,
        receipts: &[Receipt],
        lease: Lease,
        timeout: Duration,
    ) -> Result<Vec<Renewed>, StoreError> {
        let Some(key) = receipts.first().map(ShardKey::of) else { return Ok(Vec::new()) };
        let on = Held::new(&self.db);
        let _turn = self.turn(RENEW, std::slice::from_ref(&key), &on, timeout).await?;
        let mut state = self.owned.state(&key).await;
        let ours: Vec<bool> = receipts.iter().map(|receipt| state.is_current(receipt)).collect();
        let current = receipts.iter().zip(&ours).filter(|(_, is_ours)| **is_ours);
        let ids: Vec<MessageId> = current.map(|(receipt, _)| receipt.message).collect();
        let extended = self.extend(&on, &mut state, &key, &ids, lease).await?;
        let renewed = |(receipt, is_ours): (&Receipt, &bool)| match extended && *is_ours {
            true => Renewed::Extended(receipt.clone()),
            false => Renewed::Superseded,
        };
        Ok(receipts.iter().zip(&ours).map(renewed).collect())
    }

    async fn extend(
        &self,
        on: &Held<'_>,
        state: &mut ShardState,
        key: &ShardKey,
        ids: &[MessageId],
        lease: Lease,
    ) -> Result<bool, StoreError> {
        if ids.is_empty() {
            return Ok(false);
        }
        self.db.clock.forget();
        let deadline = self.db.now(on, RENEW).await? + micros(lease.duration());
        for id in ids {
            state.in_flight.entry(*id).and_modify(|entry| entry.deadline = deadline);
        }
        let extended = self.write_state(on, state, NextFence::Same, key, &[]).await;
        match extended {
            Ok(false) => state.lose(),
            // The row may still end earlier than our state says: nothing more is handed out before the next look.
            Err(_) => state.status = LeaseStatus::Unknown,
            Ok(true) => {}
        }
        extended
    }
}
