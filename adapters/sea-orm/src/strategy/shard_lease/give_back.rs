use std::{
    collections::HashSet,
    slice,
    sync::{Arc, Weak},
    time::Duration,
};

use claimstream_domain::{Disposition, QueueName, Receipt, Settled, Settlement};
use claimstream_ports::StoreError;

use super::{owned_shards::ShardKey, read_ahead::ReadAhead, settle::settle, shard_state::LeaseStatus};
use crate::{database::held::Held, strategy::shard_lease::leases::ShardLease};

const RELEASE: &str = "release read-ahead";
/// How often lease rows that could not be written are written again: for longer than most leases last.
const TRIES: u32 = 120;
const BETWEEN_TRIES: Duration = Duration::from_millis(500);

/// Gives back what waits in a queue for claims that nobody means to make, and waits for what is on its way back already: the
/// process may be about to end.
pub(crate) async fn give_back_all(store: &Arc<ShardLease>, queue: &QueueName) -> Result<(), StoreError> {
    let waiting = store.ahead.all(queue);
    let given_back = match waiting.is_empty() {
        true => Ok(()),
        false => store.db.detached(RELEASE, give_back(Arc::clone(store), waiting)).await,
    };
    store.ahead.all_given_back().await;
    given_back
}

/// Messages that were read for a claim that did not come are due again, and are seen at once.
pub(super) async fn give_back(store: Arc<ShardLease>, receipts: Vec<Receipt>) -> Result<(), StoreError> {
    if receipts.is_empty() {
        return Ok(());
    }
    let returned = |receipt| Settlement { receipt, disposition: Disposition::Returned };
    let returned: Vec<Settlement> = receipts.into_iter().map(returned).collect();
    let given_back = store.db.asking_back(|| settle(&store, &returned)).await;
    if let Err(error) = &given_back {
        tracing::warn!(%error, count = returned.len(), "read-ahead messages were given back in this process only; the store did not take them back");
    }
    // Nobody has them in hand: they are no attempts that were cut off, as long as this process lives.
    let mut unwritten = HashSet::new();
    for (n, Settlement { receipt, .. }) in returned.iter().enumerate() {
        if given_back.as_ref().map_or(true, |answers| answers[n] == Settled::Unknown) {
            store.forget_claim(receipt).await;
            unwritten.insert((receipt.queue.clone(), receipt.shard));
        }
    }
    let places: HashSet<ShardKey> =
        returned.into_iter().map(|one| (one.receipt.queue, one.receipt.shard)).collect();
    places.iter().for_each(|(queue, shard)| store.known.full(queue, *shard));
    if !unwritten.is_empty() {
        store.db.runtime.spawn(write_states_later(Arc::downgrade(&store), unwritten));
    }
    given_back.map(drop)
}

/// Writes lease rows as our books stand, as soon as the store is back. Another instance that takes a shard over believes the row,
/// and would count an attempt for what nobody had in hand.
async fn write_states_later(store: Weak<ShardLease>, mut places: HashSet<ShardKey>) {
    for _ in 0..TRIES {
        tokio::time::sleep(BETWEEN_TRIES).await;
        let Some(store) = store.upgrade() else { return };
        for place in places.clone() {
            let (writing, here) = (Arc::clone(&store), place.clone());
            let write = async move { writing.write_state(&here).await };
            if store.db.detached(RELEASE, write).await.is_ok() {
                places.remove(&place);
            }
        }
        if places.is_empty() {
            return;
        }
    }
    tracing::warn!(
        places = places.len(),
        "lease rows list messages that no consumer has in hand; a take-over counts an attempt for them"
    );
}

impl ShardLease {
    /// Writes a lease row as our books stand.
    async fn write_state(&self, place: &ShardKey) -> Result<(), StoreError> {
        let on = Held::new(&self.db);
        let _turn = self.turn(RELEASE, slice::from_ref(place), &on, self.db.limits.acquire_timeout).await?;
        let (queue, shard) = place;
        let mut state = self.owned.state(queue, *shard).await;
        let written = self.write_claim(&on, &mut state, false, queue, *shard, &[]).await;
        match written {
            Ok(false) => state.lose(),
            Err(_) => state.status = LeaseStatus::Unknown,
            Ok(true) => {}
        }
        written.map(drop)
    }
}

/// Gives back what has waited for too long, as long as anything waits.
pub(super) async fn watch(store: Weak<ShardLease>) {
    loop {
        tokio::time::sleep(ReadAhead::PATIENCE).await;
        let Some(store) = store.upgrade() else { return };
        let on_its_way = Arc::new(store.ahead.begin_giving_back().await);
        let (stale, waits) = store.ahead.take_stale(store.db.clock.elapsed());
        for page in stale {
            let (back, on_its_way) = (Arc::clone(&store), Arc::clone(&on_its_way));
            store.db.runtime.spawn(async move {
                let _ = back.db.detached(RELEASE, give_back(Arc::clone(&back), page)).await;
                drop(on_its_way);
            });
        }
        if !waits {
            return;
        }
    }
}
