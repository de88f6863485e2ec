use std::{
    collections::HashSet,
    slice,
    sync::{Arc, Weak},
    time::Duration,
};

use claimstream_domain::{Disposition, QueueName, Receipt, Settled, Settlement};
use claimstream_ports::StoreError;

use crate::{
    database::{held::Held, store_timer::StoreTimer},
    strategy::shard_lease::{
        lease::write::NextFence, leases::ShardLease, read_ahead::ReadAhead, settle::settle,
        shard_key::ShardKey, shard_state::LeaseStatus,
    },
};

const RELEASE: &str = "release read-ahead";
/// How often lease rows that could not be written are written again: for longer than most leases last.
const TRIES: u32 = 120;
const BETWEEN_TRIES: Duration = Duration::from_millis(500);

/// Gives back the messages of a queue that wait for claims that will not come, and waits for those that are on their way back:
/// the process may be about to end.
pub(crate) async fn give_back_all(store: &Arc<ShardLease>, queue: &QueueName) -> Result<(), StoreError> {
    let waiting = store.read_ahead.all(queue);
    let given_back = match waiting.is_empty() {
        true => Ok(()),
        false => store.db.detached(RELEASE, give_back(Arc::clone(store), waiting)).await,
    };
    store.read_ahead.all_given_back().await;
    given_back
}

/// Makes messages due again, and visible at once, that were read for a claim that did not come.
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
    // No consumer has them: as long as this process lives, no attempt of theirs was cut off.
    let mut unwritten = HashSet::new();
    for (n, Settlement { receipt, .. }) in returned.iter().enumerate() {
        if given_back.as_ref().map_or(true, |answers| answers[n] == Settled::Unknown) {
            store.owned.forget(receipt).await;
            unwritten.insert(ShardKey::of(receipt));
        }
    }
    let shards: HashSet<ShardKey> = returned.iter().map(|one| ShardKey::of(&one.receipt)).collect();
    shards.iter().for_each(|key| store.known.full(&key.queue, key.shard));
    if !unwritten.is_empty() {
        store.db.runtime.spawn(write_states_later(
            store.db.timer().clone(),
            Arc::downgrade(&store),
            unwritten,
        ));
    }
    given_back.map(drop)
}

/// Writes the lease rows of shards as their states stand, as soon as the store is back. Another instance that takes a shard over
/// believes the row, and would count an attempt for messages that no consumer had.
async fn write_states_later(timer: StoreTimer, store: Weak<ShardLease>, mut shards: HashSet<ShardKey>) {
    for _ in 0..TRIES {
        timer.sleep(BETWEEN_TRIES).await;
        let Some(store) = store.upgrade() else { return };
        for key in shards.clone() {
            let (writing, here) = (Arc::clone(&store), key.clone());
            let write = async move { writing.rewrite_state(&here).await };
            if store.db.detached(RELEASE, write).await.is_ok() {
                shards.remove(&key);
            }
        }
        if shards.is_empty() {
            return;
        }
    }
    tracing::warn!(
        shards = shards.len(),
        "lease rows list messages that no consumer has in hand; a take-over counts an attempt for them"
    );
}

impl ShardLease {
    /// Writes a lease row as its state stands.
    async fn rewrite_state(&self, key: &ShardKey) -> Result<(), StoreError> {
        let on = Held::new(&self.db);
        let _turn = self.turn(RELEASE, slice::from_ref(key), &on, self.db.limits.acquire_timeout).await?;
        let mut state = self.owned.state(key).await;
        let written = self.write_state(&on, &mut state, NextFence::Same, key, &[]).await;
        match written {
            Ok(false) => state.lose(),
            Err(_) => state.status = LeaseStatus::Unknown,
            Ok(true) => {}
        }
        written.map(drop)
    }
}

/// Gives back messages that have waited too long, as long as any wait.
pub(super) async fn watch(timer: StoreTimer, store: Weak<ShardLease>) {
    loop {
        timer.sleep(ReadAhead::HOLD).await;
        let Some(store) = store.upgrade() else { return };
        let on_its_way = Arc::new(store.read_ahead.begin_giving_back().await);
        let (stale, waits) = store.read_ahead.take_stale(store.db.clock.elapsed());
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
