use std::{
    collections::HashSet,
    sync::{Arc, Weak},
};

use claimstream_domain::{Disposition, QueueName, Receipt, Settlement};
use claimstream_ports::StoreError;

use super::{ahead::Ahead, settle::settle};
use crate::unit::Store;

const REST: &str = "rest";

/// Gives back what waits in a queue for claims that nobody means to make.
pub(crate) async fn rest(store: &Arc<Store>, queue: &QueueName) -> Result<(), StoreError> {
    let waiting = store.ahead.all(queue);
    if waiting.is_empty() {
        return Ok(());
    }
    store.detached(REST, give_back(Arc::clone(store), waiting)).await
}

/// Messages that were read for a claim that did not come are due again, and are seen at once.
pub(super) async fn give_back(store: Arc<Store>, receipts: Vec<Receipt>) -> Result<(), StoreError> {
    if receipts.is_empty() {
        return Ok(());
    }
    let returned = |receipt| Settlement { receipt, disposition: Disposition::Returned };
    let returned: Vec<Settlement> = receipts.into_iter().map(returned).collect();
    let given_back = store.asking_back(|| settle(&store, &returned)).await;
    if let Err(error) = &given_back {
        tracing::warn!(%error, count = returned.len(), "given back in our own books only");
        // Nobody has them in hand: they are no attempts that were cut off, as long as this process lives.
        for Settlement { receipt, .. } in &returned {
            store.ground(receipt).await;
        }
    }
    let places: HashSet<_> = returned.iter().map(|one| (&one.receipt.queue, one.receipt.shard)).collect();
    places.into_iter().for_each(|(queue, shard)| store.lanes.full(queue, shard));
    given_back.map(drop)
}

/// Gives back what has waited for too long, as long as anything waits.
pub(super) async fn tend(store: Weak<Store>) {
    loop {
        tokio::time::sleep(Ahead::PATIENCE).await;
        let Some(store) = store.upgrade() else { return };
        let (stale, waits) = store.ahead.tend(store.clock.elapsed());
        for page in stale {
            let back = Arc::clone(&store);
            store.runtime.spawn(async move { back.detached(REST, give_back(Arc::clone(&back), page)).await });
        }
        if !waits {
            return;
        }
    }
}
