//! Promise: copies of a key for several brokers come in the order of its messages, whatever their ids

use std::sync::{Arc, Mutex, PoisonError};

use claimstream::{Relay, RelayConfig, handler_fn};
use claimstream_domain::{
    Claimed, MessageId, QueueName, Verdict,
    publishing::{Origin, copy_for},
};
use claimstream_sea_orm::SeaOrmOutbox;
use claimstream_tokio::TokioTimer;
use tokio::sync::oneshot;

use super::message;
use crate::{
    Fixture, Suite,
    backend::{Backend, SeaOrmBackend},
};

const MESSAGES: usize = 60;

/// Adds copies of a key's messages to a backend that keeps order.
pub fn add_copies_to(suite: &mut Suite, backend: Arc<SeaOrmBackend>) {
    // Guard: messages that are due later are inserted later | adapters/sea-orm/src/enqueue/rows.rs `enqueue`:
    // no `sort_by_key`; fails on servers
    let name = format!(
        "{}::{}::order::copies_of_a_key_come_in_the_order_of_its_messages",
        backend.name(),
        backend.strategy()
    );
    suite.add_async_test(&name, copies_keep_the_order(backend));
}

/// The messages are copied as for a second broker. Their ids run backwards, as if the clock of each producer were behind that of the one before.
async fn copies_keep_the_order(backend: Arc<SeaOrmBackend>) {
    let url = backend.shared_database().await.expect("a database");
    let store = Arc::new(backend.open(&url, None).await.expect("open"));
    let (queue, copies) = (Fixture::fresh_queue(), Fixture::fresh_queue());
    let mut sent: Vec<_> = (0..MESSAGES).map(|_| message(&queue, "account-7")).collect();
    sent.reverse();
    for message in &sent {
        store.enqueue_now(std::slice::from_ref(message)).await.expect("enqueue");
    }
    let ids: Vec<_> = sent.iter().map(|message| message.id).collect();
    let to = copies.clone();
    let copied = handled(&store, queue, move |claimed| {
        let emit = vec![copy_for(&claimed.message, &to).expect("a copy")];
        (claimed.message.id, Verdict::Ack { emit })
    });
    assert_eq!(copied.await, ids);
    let published = handled(&store, copies, |claimed| {
        (Origin::of(&claimed.message).expect("an origin").id, Verdict::ack())
    });
    assert_eq!(published.await, ids);
}

/// Handles so many messages, and answers what was said of each, in order.
async fn handled(
    store: &Arc<SeaOrmOutbox>,
    queue: QueueName,
    handle: impl Fn(&Claimed) -> (MessageId, Verdict) + Send + Sync + 'static,
) -> Vec<MessageId> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (known, (last, all)) = (Arc::clone(&seen), oneshot::channel::<()>());
    let last = Mutex::new(Some(last));
    let handler = handler_fn(move |claimed: Claimed| {
        let (id, verdict) = handle(&claimed);
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        known.push(id);
        if known.len() == MESSAGES {
            drop(last.lock().unwrap_or_else(PoisonError::into_inner).take());
        }
        async move { verdict }
    });
    let relay = Relay::new(Arc::clone(store), TokioTimer::new(), RelayConfig::default());
    let done = async {
        let _ = all.await;
    };
    relay.pipeline(queue, handler).expect("a pipeline").run_until(done).await.expect("a run");
    let seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    seen.clone()
}
