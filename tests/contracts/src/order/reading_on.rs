//! Claims that read on behind thousands of messages that wait, while messages that they have read already are settled.
//! Promise: messages after those of waiting keys are found

use std::{sync::Arc, time::Duration};

use claimstream_domain::{Claimed, MessageId, OrderingKey, QueueName, Settled, Shard, ShardCount};
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};
use sea_orm::ConnectionTrait;
use uuid::Uuid;

use crate::{
    Fixture, Instance, Ports, Suite,
    backend::{Backend, SeaOrmBackend},
    ids,
    order::message,
};

/// As many as wait in front of what is in hand: it lies in the last page that a claim reads before others have their turn.
const BEFORE: usize = 7_000;
const BEHIND: usize = 13_000;

/// Adds it to a backend that keeps order.
pub fn add_to(suite: &mut Suite, backend: Arc<SeaOrmBackend>) {
    let name = |what: &str| format!("{}::{}::order::{what}", backend.name(), backend.strategy());
    // Guard: rows are used only in the turn in which they were read |
    // adapters/sea-orm/src/strategy/shard_lease/claim/read.rs `read_on`: `skip` after the page is kept
    let test = name("what_ends_while_a_claim_reads_on_is_not_handed_out_by_it");
    suite.add_async_test(&test, not_handed_out(backend.clone()));
    // Guard: a claim that has messages reads on only as long as their leases allow |
    // adapters/sea-orm/src/strategy/shard_lease/claim/visit.rs `take_from`: no look at `time_left`
    let test = name("a_claim_that_has_messages_reads_on_no_longer_than_they_can_wait");
    suite.add_async_test(&test, hands_out_in_time(backend.clone()));
    if backend.name() != "sqlite" {
        // Guard: a claim that reads on waits for each turn with a new limit |
        // adapters/sea-orm/src/strategy/shard_lease/claim/visit.rs `next_turn`: the rest of one second for
        // the whole claim
        let test = name("settlements_that_take_long_send_no_claim_back_to_where_it_began");
        suite.add_async_test(&test, reads_to_the_end(backend));
    }
}

/// One message ends as done and one is put off, while a claim that has read both is about to read on.
async fn not_handed_out(backend: Arc<SeaOrmBackend>) {
    let shards = ShardCount::new(1).expect("a shard");
    let url = backend.database_of(shards).await.expect("a database");
    let options = OpenOptions { shards, ..backend.options() };
    let outbox = SeaOrmOutbox::open(&url, options).await.expect("open");
    let instance = Instance::new(7, Ports::of(outbox.clone()), Fixture::fresh_queue(), 1);
    parked(&backend, &outbox, &instance, 0..BEFORE, &[]).await;
    let sent = ["done", "put off"].map(|key| message(instance.queue(), key));
    instance.enqueue(&sent).await;
    let in_hand = instance.claim(2).await;
    assert_eq!(ids(&in_hand), sent.each_ref().map(|one| one.id));
    parked(&backend, &outbox, &instance, BEFORE..BEFORE + BEHIND, &ids(&in_hand)).await;
    let free = message(instance.queue(), "free");
    instance.enqueue(std::slice::from_ref(&free)).await;
    let claimer = instance.clone();
    let claim = tokio::spawn(async move { claimed_in_the_end(&claimer).await });
    tokio::time::sleep(Duration::from_millis(20)).await;
    let both = futures::future::join(
        instance.ack(&in_hand[0]),
        instance.nack(&in_hand[1], Duration::from_secs(600), "not now"),
    );
    assert_eq!(both.await, (Settled::Accepted, Settled::Accepted));
    let found: Vec<Claimed> = claim.await.expect("no panic");
    assert_eq!(ids(&found), [free.id]);
    assert_eq!(instance.ack(&found[0]).await, Settled::Accepted);
}

/// What the first claim brings that brings anything. One that has waited a second for the settlements brings nothing.
pub(crate) async fn claimed_in_the_end(claimer: &Instance) -> Vec<Claimed> {
    loop {
        let found = claimer.claim(100).await;
        if !found.is_empty() {
            return found;
        }
    }
}

/// A claim reads on in five turns, and waits 0.3 s for each, because a settlement that the server makes slow comes in between.
/// The settlements go on for as long as a stuck test runs, and a claim has to bring the free message meanwhile.
async fn reads_to_the_end(backend: Arc<SeaOrmBackend>) {
    const IN_HAND: usize = 1000;
    let shards = ShardCount::new(1).expect("a shard");
    let url = backend.database_of(shards).await.expect("a database");
    let options = OpenOptions { shards, ..backend.options() };
    let outbox = SeaOrmOutbox::open(&url, options).await.expect("open");
    let instance = Instance::new(7, Ports::of(outbox.clone()), Fixture::fresh_queue(), 1);
    let sent: Vec<_> = (0..IN_HAND).map(|n| message(instance.queue(), &format!("in hand {n}"))).collect();
    instance.enqueue(&sent).await;
    let in_hand = instance.take_for(IN_HAND, Duration::from_secs(3600)).await;
    assert_eq!(in_hand.len(), sent.len());
    parked(&backend, &outbox, &instance, 0..40_000, &ids(&in_hand)).await;
    let free = message(instance.queue(), "free");
    instance.enqueue(std::slice::from_ref(&free)).await;
    let slow =
        "CREATE TRIGGER claimstream_slow BEFORE DELETE ON claimstream_queue FOR EACH ROW DO SLEEP(0.3)";
    outbox.connection().execute_unprepared(slow).await.expect("settlements take long");
    let settler = instance.clone();
    let settlements = tokio::spawn(async move {
        for claimed in &in_hand {
            assert_eq!(settler.ack(claimed).await, Settled::Accepted);
        }
    });
    tokio::time::sleep(Duration::from_millis(100)).await;
    let mut found = Vec::new();
    while found.is_empty() && !settlements.is_finished() {
        found = instance.claim(100).await;
    }
    assert!(!settlements.is_finished(), "claims came back empty until nothing was settled any more");
    settlements.abort();
    assert_eq!(ids(&found), [free.id]);
}

/// A third of it is shorter than it takes to read what waits.
const SHORT: Duration = Duration::from_millis(300);

/// Two shards. In the one that is claimed from first a message is free; in the other 40,000 wait, and one behind them is free.
async fn two_shards(backend: &SeaOrmBackend) -> (SeaOrmOutbox, Instance, [MessageId; 2]) {
    let shards = ShardCount::new(2).expect("two shards");
    let url = backend.database_of(shards).await.expect("a database");
    let outbox = SeaOrmOutbox::open(&url, OpenOptions { shards, ..backend.options() }).await.expect("open");
    let instance = Instance::new(7, Ports::of(outbox.clone()), Fixture::fresh_queue(), 1);
    park(backend, &outbox, instance.queue(), keys_in(shards, 1).take(40_000), &[]).await;
    let free = [0, 1].map(|shard| {
        let key = keys_in(shards, shard).nth(60_000).expect("no end");
        message(instance.queue(), &key)
    });
    instance.enqueue(&free).await;
    (outbox, instance, free.map(|one| one.id))
}

/// A claim that reads the other shard to its end has a message meanwhile whose lease runs out. What is behind is found by a
/// claim that begins there.
async fn hands_out_in_time(backend: Arc<SeaOrmBackend>) {
    let (_outbox, instance, [first, behind]) = two_shards(&backend).await;
    let found = instance.claim_as(&instance.request(100, SHORT)).await;
    assert_eq!(ids(&found), [first]);
    assert_eq!(instance.ack(&found[0]).await, Settled::Accepted);
    assert_eq!(ids(&claimed_in_the_end(&instance).await), [behind]);
}

/// Keys whose messages are in this shard.
fn keys_in(shards: ShardCount, shard: u16) -> impl Iterator<Item = String> {
    let is_there = move |key: &String| {
        let key = OrderingKey::new(key).expect("a key");
        shards.shard_of(MessageId::new(Uuid::nil()), Some(&key)) == Shard::from_number(shard)
    };
    (0..).map(|n| format!("account-{n}")).filter(is_there)
}

/// Enqueues a message of each key, and parks all that there are but some.
async fn parked(
    backend: &SeaOrmBackend,
    outbox: &SeaOrmOutbox,
    instance: &Instance,
    keys: std::ops::Range<usize>,
    but: &[MessageId],
) {
    let keys = keys.map(|n| format!("account-{n}"));
    park(backend, outbox, instance.queue(), keys, but).await;
}

async fn park(
    backend: &SeaOrmBackend,
    outbox: &SeaOrmOutbox,
    queue: &QueueName,
    keys: impl Iterator<Item = String>,
    but: &[MessageId],
) {
    for some in keys.collect::<Vec<_>>().chunks(1000) {
        let some: Vec<_> = some.iter().map(|key| message(queue, key)).collect();
        outbox.enqueue_now(&some).await.expect("enqueue");
    }
    let until = if backend.name() == "sqlite" { "253402300799000000" } else { "'2100-01-01'" };
    let but: String = but.iter().map(|id| format!(" AND id <> X'{}'", id.uuid().simple())).collect();
    let park = format!("UPDATE claimstream_queue SET parked_until = {until} WHERE parked_until IS NULL{but}");
    outbox.connection().execute_unprepared(&park).await.expect("they wait");
}
