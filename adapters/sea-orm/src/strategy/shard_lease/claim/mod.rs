//! Claims under shard leases.

mod candidate;
mod claiming;
mod collected;
mod due;
mod due_row;
mod hand_out;
mod keys;
mod look;
mod payloads;
mod pick;
mod place;
mod read;
mod together;
mod visit;
mod waiting_keys;

use std::sync::Arc;

use claimstream_domain::{ClaimRequest, Claimed, Disposition, QueueName, Settlement, Shard};
use claimstream_ports::StoreError;

use crate::{
    messages::{twins::unite, unreadable::log_dead},
    strategy::shard_lease::{claim::claiming::Claiming, leases::ShardLease, settle::settle},
};

/// Claims from shards that are ours or free, one after another, until the limit is reached or none is left.
pub(crate) async fn claim(
    store: &Arc<ShardLease>,
    request: ClaimRequest,
) -> Result<Vec<Claimed>, StoreError> {
    let mut claiming = Claiming::of(store, request);
    let ended = Box::pin(claiming.run()).await;
    let Claiming { collected, request, trouble, on, .. } = claiming;
    drop(on);
    let ended = ended.and(trouble.map_or(Ok(()), Err));
    // Both are rare. A box keeps them out of the future of every claim.
    Box::pin(unite_twins(store, &request.queue, collected.with_twins)).await;
    Box::pin(bury_unreadable(store, &collected.unreadable)).await;
    match ended {
        Err(error) if !collected.taken.is_empty() => {
            tracing::warn!(%error, "a claim ended early and returns the messages that it has")
        }
        ended => ended?,
    }
    Ok(collected.taken)
}

async fn unite_twins(store: &Arc<ShardLease>, queue: &QueueName, shards: Vec<Shard>) {
    for shard in shards {
        if let Err(error) = unite(&store.db, queue, shard).await {
            tracing::warn!(%error, "messages have two queue entries each and could not be united");
        }
    }
}

async fn bury_unreadable(store: &Arc<ShardLease>, unreadable: &[Settlement]) {
    if unreadable.is_empty() {
        return;
    }
    let buried = settle(store, unreadable).await;
    // Others wait for those before them, and go back.
    let count = unreadable.iter().filter(|one| one.disposition != Disposition::Returned).count();
    if count > 0 {
        tracing::error!(count, buried = buried.is_ok(), "unreadable messages");
    }
    if buried.is_ok() {
        log_dead(unreadable);
    }
}
