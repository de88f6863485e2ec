//! The code of docs/testing.md; the test in memory is run.

use std::{sync::Arc, time::Duration};

use claimstream::{Compose, Enqueue, NewMessage, Relay, RelayConfig, StoreError, StoreErrorKind};
use claimstream_memory::MemoryStore;
use claimstream_ports::mock::MockEnqueue;
use claimstream_tokio::TokioTimer;
use futures::TryStreamExt;

use super::Failure;

pub(super) async fn runs() {
    in_memory().await.expect("the test of the page");
    let refused = scripted().enqueue(&MyTransaction, &[]).await;
    assert_eq!(refused.expect_err("the scripted error").kind(), StoreErrorKind::Unavailable);
}

async fn in_memory() -> Result<(), Failure> {
    let store = Arc::new(MemoryStore::with_manual_clock());
    let tx = store.begin();
    store.enqueue(&tx, &[NewMessage::json("orders", &7)?.deliver_after(Duration::from_secs(60))]).await?;
    tx.commit();

    store.advance(Duration::from_secs(60));
    let relay = Relay::new(store.clone(), TokioTimer::new(), RelayConfig::default());
    let claim = relay.claims("orders")?.try_next().await?.ok_or("a message")?;
    assert_eq!(claim.attempt(), 1);
    claim.ack().await?;
    Ok(())
}

struct MyTransaction;

fn scripted() -> MockEnqueue<MyTransaction> {
    let mut outbox = MockEnqueue::<MyTransaction>::new();
    outbox
        .expect_enqueue()
        .returning(|_, _| Err(StoreError::new(StoreErrorKind::Unavailable, "enqueue", "the server is away")));
    outbox
}
