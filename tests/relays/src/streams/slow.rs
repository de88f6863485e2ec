//! Consumers and stores that are slower than a lease, and stores that are away: none of that is a message's fault.
//! Promise: a message is not buried because a slow consumer never received it, or because a slow store let
//! its lease expire

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use claimstream::{Compose, Relay, RelayConfig, Verdict, handler_fn};
use claimstream_domain::{
    Lease, MessageId, NewMessage, OrderingKey, QueueName, RetryPolicy, Settled::Accepted,
};
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox, Strategy};
use claimstream_tokio::TokioTimer;
use futures::StreamExt;

use crate::{Fixture, Instance, Ports, Server, Suite, backend::SeaOrmBackend, fixture::Wire};

/// Adds the tests, which take leases of real seconds, to the long tier: on SQLite and on every server that is here.
pub fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    suite.long("faults", |suite| add_all_to(suite, environment));
}

fn add_all_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    for strategy in [Strategy::PreemptiveUpdate, Strategy::ShardLease] {
        let name = format!("sqlite::{strategy}::slow::what_a_slow_consumer_was_not_handed_does_not_die");
        suite.add_async_test(&name, async move {
            nothing_dies_unseen(&SeaOrmBackend::sqlite(strategy.name())).await;
        });
    }
    for server in Server::ALL {
        let Some(url) = server.url(&environment) else { continue };
        for strategy in server.strategies().iter().copied() {
            let backend = |url: &str| SeaOrmBackend::server(server.name, url, strategy.name());
            let name = |what: &str| format!("{}::{strategy}::slow::{what}", server.name);
            let (consumers, store) = (backend(&url), backend(&url));
            suite.add_async_test(&name("what_a_slow_consumer_was_not_handed_does_not_die"), async move {
                nothing_dies_unseen(&consumers).await;
            });
            suite.add_async_test(&name("a_slow_store_burns_no_attempts"), async move {
                burns_no_attempts(&store).await;
            });
        }
        let away = SeaOrmBackend::server(server.name, &url, "shard_lease");
        // Guard: lease rows that could not be written are written when the store is back |
        // adapters/sea-orm/src/strategy/shard_lease/give_back.rs: no `write_states_later`
        let name =
            format!("{}::shard_lease::slow::what_could_not_go_back_is_free_when_the_store_is", server.name);
        suite.add_async_test(&name, async move { goes_back_later(&away).await });
    }
}

/// Few attempts show the difference.
fn config(lease: Duration, max_attempts: u32) -> RelayConfig {
    RelayConfig {
        batch: 10,
        prefetch: 10,
        lease: Lease::new(lease).expect("a lease"),
        retry: RetryPolicy { max_attempts, ..RetryPolicy::default() },
        ..RelayConfig::default()
    }
}

async fn sent(outbox: &SeaOrmOutbox, queue: &QueueName, count: usize) -> Vec<MessageId> {
    // One shard: everybody wants the same messages.
    let key = OrderingKey::new("account-7").expect("a key");
    let message = |n| NewMessage::json(queue.clone(), &n).expect("a message").ordered_by(key.clone());
    let messages: Vec<_> = (0..count).map(message).collect();
    outbox.enqueue_now(&messages).await.expect("enqueue");
    messages.into_iter().map(|message| message.id).collect()
}

/// Answers how long one look took at most.
async fn until_empty(instance: &Instance) -> Duration {
    let (begun, mut before, mut longest) = (Instant::now(), Instant::now(), Duration::ZERO);
    while instance.status().await.is_some_and(|status| status.depth > 0) {
        assert!(
            begun.elapsed() < Duration::from_secs(90),
            "messages are left: {:?}",
            instance.status().await
        );
        tokio::time::sleep(LOOK).await;
        (longest, before) = (longest.max(before.elapsed()), Instant::now());
    }
    longest.max(before.elapsed())
}

/// How often it is looked whether a queue is empty.
const LOOK: Duration = Duration::from_millis(200);

/// A machine that stands still may let a lease of a second run out, and says nothing of what a consumer was not handed.
async fn nothing_dies_unseen(backend: &SeaOrmBackend) {
    for _ in 0..5 {
        let (unseen, longest) = buried_unseen(backend).await;
        if unseen == 0 {
            return;
        }
        println!("slow: {unseen} buried and never handed out, with {longest:?} between two looks");
        assert!(longest > 2 * LOOK, "{unseen} of {MESSAGES} were buried and never handed out");
    }
    panic!("of {MESSAGES} some were buried and never handed out, five times");
}

const MESSAGES: usize = 18;

/// Three instances whose consumers take longer over a message than a lease lasts, and renew what they have in hand. Answers how many
/// messages were buried unseen, and how long a look at the queue took at most.
async fn buried_unseen(backend: &SeaOrmBackend) -> (usize, Duration) {
    let url = backend.database().await.expect("a database");
    let outbox = backend.open(&url, None).await.expect("open");
    let queue = Fixture::fresh_queue();
    sent(&outbox, &queue, MESSAGES).await;
    let handed_out: Arc<Mutex<HashMap<MessageId, u32>>> = Arc::default();
    let mut consumers = Vec::new();
    for _ in 0..3 {
        let instance = Arc::new(backend.open(&url, None).await.expect("open"));
        let relay = Relay::new(instance, TokioTimer::new(), config(Duration::from_secs(1), 2));
        let (queue, handed_out) = (queue.clone(), Arc::clone(&handed_out));
        consumers.push(tokio::spawn(async move {
            let mut claims = relay.claims(queue).expect("a stream");
            while let Some(claim) = claims.next().await {
                let Ok(mut claim) = claim else { continue };
                let id = claim.message().id;
                *handed_out.lock().unwrap_or_else(PoisonError::into_inner).entry(id).or_default() += 1;
                for _ in 0..6 {
                    tokio::time::sleep(Duration::from_millis(200)).await;
                    let _ = claim.renew().await;
                }
                let _ = claim.ack().await;
            }
        }));
    }
    let instance = Instance::new(99, Ports::of(outbox), queue, 5);
    let longest = until_empty(&instance).await;
    consumers.iter().for_each(|consumer| consumer.abort());
    let dead = instance.dead().await;
    let handed_out = handed_out.lock().unwrap_or_else(PoisonError::into_inner);
    (dead.iter().filter(|dead| !handed_out.contains_key(&dead.message.id)).count(), longest)
}

/// A pipeline that needs renewals, on a store that is so slow three times that claims and renewals come too late.
async fn burns_no_attempts(backend: &SeaOrmBackend) {
    const MESSAGES: usize = 12;
    let url = backend.database().await.expect("a database");
    let outbox = backend.open(&url, None).await.expect("open");
    let queue = Fixture::fresh_queue();
    sent(&outbox, &queue, MESSAGES).await;
    let wire = Wire::to(&url).await.expect("a port");
    let slowed = SeaOrmOutbox::open(&wire.url, OpenOptions { max_connections: 16, ..backend.options() });
    let slowed = Arc::new(slowed.await.expect("open"));
    let handler = handler_fn(move |_| async {
        tokio::time::sleep(Duration::from_millis(1500)).await;
        Verdict::ack()
    });
    let config = RelayConfig { concurrency: 4, ..config(Duration::from_secs(2), 4) };
    let relay = Relay::new(slowed, TokioTimer::new(), config);
    let pipeline = relay.pipeline(queue.clone(), handler).expect("a pipeline");
    let running = tokio::spawn(pipeline.run_until(std::future::pending::<()>()));
    for _ in 0..3 {
        tokio::time::sleep(Duration::from_secs(3)).await;
        wire.answer_after(Duration::from_millis(2600));
        tokio::time::sleep(Duration::from_secs(3)).await;
        wire.answer_after(Duration::ZERO);
    }
    let instance = Instance::new(99, Ports::of(outbox), queue, 5);
    until_empty(&instance).await;
    running.abort();
    let dead = instance.dead().await;
    assert_eq!(dead.len(), 0, "of {MESSAGES} are dead: {:?}", dead.first().map(|dead| dead.reason.clone()));
}

/// What is read ahead cannot be given back while the store is away; a lease of 30 s later it would count as cut off.
async fn goes_back_later(backend: &SeaOrmBackend) {
    let url = backend.database().await.expect("a database");
    let wire = Wire::to(&url).await.expect("a port");
    for _ in 0..10 {
        let direct = backend.open(&url, None).await.expect("open");
        let queue = Fixture::fresh_queue();
        sent(&direct, &queue, 300).await;
        let store = SeaOrmOutbox::open(&wire.url, backend.options()).await.expect("open");
        let store = Instance::new(1, Ports::of(store), queue.clone(), 5);
        let rival = Instance::new(2, Ports::of(direct), queue, 5);
        if is_read_ahead_when_the_store_goes_away(&store, &wire, &rival).await {
            wire.lead_to(&url);
            let begun = Instant::now();
            while leased(&rival).await > BATCH {
                assert!(begun.elapsed() < Duration::from_secs(20), "messages without a holder stay leased");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            assert_eq!(leased(&rival).await, BATCH, "what was claimed is in hand");
            return;
        }
        wire.lead_to(&url);
    }
    panic!("nothing was ever read ahead when the store went away");
}

/// The least that claims must ask for, so that more is read ahead, and a little.
const BATCH: u32 = 60;

/// The second full claim reads more ahead, which waits for a fifth of a second; then nothing can be given back. Whether it was
/// still there is seen when no call gives it back any more.
async fn is_read_ahead_when_the_store_goes_away(store: &Instance, wire: &Wire, rival: &Instance) -> bool {
    for claimed in store.claim(BATCH).await {
        assert_eq!(store.ack(&claimed).await, Accepted);
    }
    assert_eq!(store.claim(BATCH).await.len(), BATCH as usize);
    wire.lead_nowhere();
    // Longer than a call is repeated.
    tokio::time::sleep(Duration::from_secs(6)).await;
    leased(rival).await > BATCH
}

async fn leased(instance: &Instance) -> u32 {
    instance.status().await.map_or(0, |status| status.leased as u32)
}
