//! Which commits are received, by whom, and how soon.
//! Promise: the binary log wakes the relays of a queue for each commit that makes a message due there, by any
//! writer, and for nothing else

use std::{sync::Arc, time::Duration};

use claimstream::{Compose, Enqueue, Relay, RelayConfig};
use claimstream_domain::{NewMessage, Pacing, QueueName};
use claimstream_tokio::TokioTimer;
use futures::StreamExt;
use sea_orm::{ConnectionTrait, TransactionTrait};
use tokio::time::{Instant, sleep, timeout};
use uuid::Uuid;

use super::site::{LoggingServer, Site, plain_insert};
use crate::{
    Fixture, Suite,
    streams::listener::{Listener, keeps_the_contract},
    suite::RUNTIME,
};

pub(super) fn add_to(suite: &mut Suite, name: &impl Fn(&str) -> String, logging: &Arc<LoggingServer>) {
    let [queues, waits, handled, timed] = [(); 4].map(|()| Arc::clone(logging));
    // Guard: an event of the binary log is followed by a second claim | adapters/binlog/src/tail.rs `read`:
    // nothing is added to it
    // Guard: a row of the log wakes its queue alone | adapters/binlog/src/news.rs `of`: any queue
    // Guard: a row that is due later wakes no relay | adapters/binlog/src/news.rs `is_later`: never
    suite.add_async_test(&name("a_commit_is_received_on_its_queue_and_nowhere_else"), async move {
        is_received_on_its_queue(&Site::readable(&queues.url().await).await).await;
    });
    suite.add_async_test(&name("waits_keep_the_contract_of_the_port"), async move {
        let site = Site::readable(&waits.url().await).await;
        let (queue, writer) = (Fixture::fresh_queue(), site.writer().await);
        let reader = site.reader();
        Listener::on(&reader, &queue).is_connected().await;
        keeps_the_contract(&reader, &queue, || async {
            writer.execute_unprepared(&plain_insert(&queue, 0)).await.expect("insert");
        })
        .await;
    });
    suite.add_async_test(&name("a_relay_that_does_not_poll_handles_what_plain_sql_writes"), async move {
        is_handled(&Site::readable(&handled.url().await).await).await;
    });
    let server = logging.server.name;
    suite.add_long("latency", &name("how_long_a_commit_takes_to_be_received"), move || {
        let took = RUNTIME.block_on(async { takes(&Site::readable(&timed.url().await).await).await });
        println!("{server}: from the answer to the commit until it is received, p50 and p99: {took}");
    });
}

fn message(queue: &QueueName) -> NewMessage {
    NewMessage::json(queue.clone(), &7).expect("a message")
}

/// What is due is received when it commits; what is due later, claims and settlements are not.
async fn is_received_on_its_queue(site: &Site) {
    let (queue, other) = (Fixture::fresh_queue(), Fixture::fresh_queue());
    let (reader, outbox) = (site.reader(), Arc::new(site.outbox.clone()));
    let (mut listener, mut other_listener) = (Listener::on(&reader, &queue), Listener::on(&reader, &other));
    listener.is_connected().await;
    other_listener.is_quiet().await;

    let tx = outbox.begin().await.expect("begin");
    outbox.enqueue(&tx, &[message(&queue)]).await.expect("enqueue");
    assert_eq!(listener.is_quiet().await, 0, "before the commit");
    outbox.commit(tx).await.expect("commit");
    listener.receives("a message of the library").await;
    listener.receives("a second look").await;
    assert_eq!(
        (listener.is_quiet().await, other_listener.is_quiet().await),
        (0, 0),
        "one second look, and no other listener"
    );

    let later = message(&queue).deliver_after(Duration::from_secs(30));
    outbox.enqueue_now(&[later]).await.expect("enqueue");
    let mut claims = Relay::new(outbox.clone(), TokioTimer::new(), RelayConfig::default())
        .claims(queue.clone())
        .expect("claims");
    let claim = claims.next().await.expect("a claim").expect("a claim");
    claim.nack("later").await.expect("nack");
    claims.close().await.expect("close");
    outbox.enqueue_now(&[message(&other)]).await.expect("enqueue");
    other_listener.receives("a message after them").await;
    assert_eq!(listener.is_quiet().await, 0, "a delay, a claim and a settlement");

    outbox.enqueue_now(&[message(&queue), message(&other), message(&queue)]).await.expect("enqueue");
    listener.receives("one of a batch").await;
    other_listener.is_quiet().await;
    let writer = site.writer().await;
    let plain = writer.begin().await.expect("begin");
    plain.execute_unprepared(&plain_insert(&other, 0)).await.expect("insert");
    plain.execute_unprepared(&plain_insert(&queue, 60)).await.expect("insert");
    listener.is_quiet().await;
    plain.commit().await.expect("commit");
    other_listener.receives("plain SQL").await;
}

/// Every message is handled long before the relay would look by itself.
async fn is_handled(site: &Site) {
    const MESSAGES: usize = 50;
    let (queue, outbox) = (Fixture::fresh_queue(), Arc::new(site.outbox.clone()));
    let never = Duration::from_secs(3_600);
    let config =
        RelayConfig { pacing: Pacing { idle_min: never, idle_max: never }, ..RelayConfig::default() };
    let relay = Relay::new(outbox, TokioTimer::new(), config).with_wakeup(site.reader());
    let mut claims = relay.claims(queue.clone()).expect("claims");
    let writer = site.writer().await;
    let writing = async {
        // The relay is idle by then.
        sleep(Duration::from_secs(1)).await;
        for _ in 0..MESSAGES {
            let id = Uuid::now_v7().simple();
            let tx = writer.begin().await.expect("begin");
            for insert in [
                format!(
                    "INSERT INTO claimstream_message (id, queue, shard, content_type, payload, created_at) \
                     VALUES (X'{id}', '{queue}', 0, 'application/json', '7', UTC_TIMESTAMP(6))"
                ),
                format!(
                    "INSERT INTO claimstream_queue (queue, shard, available_at, id) \
                     VALUES ('{queue}', 0, UTC_TIMESTAMP(6), X'{id}')"
                ),
            ] {
                tx.execute_unprepared(&insert).await.expect("insert");
            }
            tx.commit().await.expect("commit");
            sleep(Duration::from_millis(20)).await;
        }
    };
    let handling = async {
        for handled in 0..MESSAGES {
            let claim = timeout(Listener::STUCK, claims.next()).await;
            let claim = claim.unwrap_or_else(|_| panic!("{handled} of {MESSAGES} were handled"));
            claim.expect("a claim").expect("a claim").ack().await.expect("ack");
        }
    };
    futures::join!(writing, handling);
    claims.close().await.expect("close");
}

async fn takes(site: &Site) -> String {
    let (queue, reader, writer) = (Fixture::fresh_queue(), site.reader(), site.writer().await);
    let mut listener = Listener::on(&reader, &queue);
    listener.is_connected().await;
    let mut times = Vec::new();
    for _ in 0..200 {
        writer.execute_unprepared(&plain_insert(&queue, 0)).await.expect("insert");
        let committed = Instant::now().into_std();
        let at = listener.receives("a commit").await;
        // A server may send the event before it answers the commit.
        times.push(at.saturating_duration_since(committed));
        // The second look.
        listener.receives("a second look").await;
    }
    times.sort_unstable();
    format!("{:?} and {:?}", times[times.len() / 2], times[times.len() * 99 / 100])
}
