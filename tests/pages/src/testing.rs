//! The code of docs/testing.md; the test in memory is run.

use std::{sync::Arc, time::Duration};

use claimstream::{Compose, Enqueue, Message, NewMessage, Relay, RelayConfig};
use claimstream_memory::MemoryStore;
use claimstream_ports::{StoreError, StoreErrorKind, mock::MockEnqueue};
use claimstream_tokio::TokioTimer;
use futures::TryStreamExt;

pub(super) async fn runs() {
    a_delayed_order_is_delivered().await.expect("the test of the page");
    let refused = scripted().enqueue(&MyTransaction, &[]).await;
    assert_eq!(refused.expect_err("the scripted error").kind(), StoreErrorKind::Unavailable);
}

async fn deliver(message: &Message) -> Result<u32, serde_json::Error> {
    serde_json::from_slice(message.payload.bytes())
}

async fn a_delayed_order_is_delivered() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let store = Arc::new(MemoryStore::with_manual_clock());
    let tx = store.begin();
    store.enqueue(&tx, &[NewMessage::json("orders", &7)?.deliver_after(Duration::from_secs(60))]).await?;
    tx.commit();

    store.advance(Duration::from_secs(60));
    let relay = Relay::new(store.clone(), TokioTimer::new(), RelayConfig::default());
    let claim = relay.claims("orders")?.try_next().await?.ok_or("a message")?;
    assert_eq!(claim.attempt(), 1);
    assert_eq!(deliver(claim.message()).await?, 7);
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
