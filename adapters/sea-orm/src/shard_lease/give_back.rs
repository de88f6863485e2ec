use std::{
    collections::HashSet,
    sync::{Arc, Weak},
};

use claimstream_domain::{Disposition, QueueName, Receipt, Settlement};
use claimstream_ports::StoreError;

use super::{ahead::Ahead, settle::settle};
use crate::unit::Store;

const REST: &str = "rest";

/// Gives back what waits in a queue for claims that nobody means to make, and waits for what is on its way back already: the
/// process may be about to end.
pub(crate) async fn rest(store: &Arc<Store>, queue: &QueueName) -> Result<(), StoreError> {
    let waiting = store.ahead.all(queue);
    let given_back = match waiting.is_empty() {
        true => Ok(()),
        false => store.detached(REST, give_back(Arc::clone(store), waiting)).await,
    };
    store.ahead.all_given_back().await;
    given_back
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
        let on_its_way = Arc::new(store.ahead.begin_giving_back().await);
        let (stale, waits) = store.ahead.tend(store.clock.elapsed());
        for page in stale {
            let (back, on_its_way) = (Arc::clone(&store), Arc::clone(&on_its_way));
            store.runtime.spawn(async move {
                let _ = back.detached(REST, give_back(Arc::clone(&back), page)).await;
                drop(on_its_way);
            });
        }
        if !waits {
            return;
        }
    }
}
