//! Promise: a claim that breaks half way leaves every message as it was

use std::time::Duration;

use claimstream::Compose;
use claimstream_domain::{Enqueued::New, NewMessage, Settled::Accepted};
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox, Strategy};
use futures::future::try_join_all;
use sea_orm::sqlx::{Executor, Row};

use crate::{
    Fixture, Instance, LEASE, Ports, ServerFixture, ids,
    suite::{Case, cases},
};

pub const SCENARIOS: &[Case<ServerFixture>] = cases!["scenarios" needs [Claims, Server]:
    a0_1_while_a_claim_is_under_way_another_takes_the_next_three_and_a_producer_goes_on needs [Sharing, Unguarded],
    a0_6_a_claim_that_breaks_half_way_leaves_every_message_as_it_was needs [Sharing],
    a0_6_a_claim_that_finds_nothing_is_one_statement needs [Unguarded],
    a1_2_a_row_that_is_put_off_and_not_yet_committed_is_not_taken needs [Sharing, Unguarded],
];

pub async fn a0_1_while_a_claim_is_under_way_another_takes_the_next_three_and_a_producer_goes_on(
    fixture: ServerFixture,
) {
    let outbox = &fixture.outbox;
    let sent = outbox.enqueue(6).await;
    let barrier = fixture.bar().await;
    let (a, b) = (outbox.store.clone(), outbox.rival.clone());
    let first = tokio::spawn(async move { a.claim(3).await });
    fixture.waiting(1).await;
    let next = tokio::spawn(async move { b.take_for(3, ServerFixture::SHORT).await });
    assert_eq!(outbox.store.enqueue(&[outbox.message().deliver_after(ServerFixture::SHORT)]).await, [New]);
    let next = match fixture.strategy {
        Strategy::SkipLocked => {
            let next = next.await.expect("a claim during an open one");
            assert!(!first.is_finished(), "the first claim did not wait");
            barrier.lift().await;
            next
        }
        // A shard lease is not run here: its shards are in one instance's hands.
        Strategy::PreemptiveUpdate | Strategy::ShardLease => {
            fixture.waiting(2).await;
            barrier.lift().await;
            next.await.expect("a claim behind an open one")
        }
    };
    assert_eq!(ids(&first.await.expect("a claim")), sent[..3]);
    assert_eq!(ids(&next), sent[3..]);
}

pub async fn a0_6_a_claim_that_breaks_half_way_leaves_every_message_as_it_was(fixture: ServerFixture) {
    let outbox = &fixture.outbox;
    let sent = outbox.enqueue(6).await;
    let barrier = fixture.bar().await;
    let before = fixture.rows().await;
    let (store, request) = (outbox.store.clone(), outbox.store.request(3, LEASE));
    let broken = tokio::spawn(async move { store.ports.claiming.claim(&request).await });
    fixture.kill(fixture.waiting(1).await[0]).await;
    let answer = broken.await.expect("an answer");
    assert!(answer.is_err(), "a claim whose connection broke was answered with {answer:?}");
    assert_eq!(fixture.rows().await, before);
    assert_eq!(outbox.rival.status().await.map(|status| status.leased), Some(0));
    barrier.lift().await;
    let taken = outbox.rival.take(6).await;
    assert_eq!(ids(&taken), sent);
    assert!(taken.iter().all(|claimed| claimed.attempt == 1), "an attempt was counted: {taken:?}");
}

pub async fn a0_6_a_claim_that_finds_nothing_is_one_statement(fixture: ServerFixture) {
    let options = OpenOptions { relay_connections: CONNECTIONS, ..fixture.options };
    let outbox = SeaOrmOutbox::open(&fixture.empty, options).await.expect("open");
    let instance = Instance::new(1, Ports::of(outbox.clone()), Fixture::fresh_queue(), 1);
    // The first claim of an instance also says who it is.
    assert!(instance.claim(10).await.is_empty());
    let before = statements(&outbox).await;
    assert!(instance.claim(10).await.is_empty());
    assert_eq!(statements(&outbox).await - before, 1);
    let message = NewMessage::json(instance.queue().clone(), &1).expect("a message");
    instance.enqueue(&[message]).await;
    let before = statements(&outbox).await;
    instance.take_one().await;
    assert!(statements(&outbox).await - before > 1, "statements go uncounted");
}

/// Two are what a probe of the server needs.
const CONNECTIONS: u32 = 2;

/// How many statements the connections of claims have sent, roll-backs at their return to the pool aside.
async fn statements(outbox: &SeaOrmOutbox) -> u64 {
    let pool = outbox.relay_connection().get_mysql_connection_pool();
    let mut all = try_join_all((0..CONNECTIONS).map(|_| pool.acquire())).await.expect("all connections");
    let mut sent = 0;
    for connection in &mut all {
        let counters = connection.fetch_all(COUNTERS).await.expect("counters");
        assert_eq!(counters.len(), 8, "not every counter is there");
        sent +=
            counters.iter().map(|row| row.get::<String, _>(1).parse::<u64>().expect("a count")).sum::<u64>();
    }
    sent
}

const COUNTERS: &str = "SHOW SESSION STATUS WHERE Variable_name IN ('Com_select', 'Com_insert', 'Com_update', \
                        'Com_update_multi', 'Com_delete', 'Com_delete_multi', 'Com_begin', 'Com_commit')";

pub async fn a1_2_a_row_that_is_put_off_and_not_yet_committed_is_not_taken(fixture: ServerFixture) {
    let outbox = &fixture.outbox;
    let sent = outbox.enqueue(3).await;
    let held = outbox.store.take(3).await.remove(0);
    outbox.advance(LEASE).await;
    let barrier = fixture.bar().await;
    let (holder, claimer) = (outbox.store.clone(), outbox.rival.clone());
    let an_hour = Duration::from_secs(3600);
    let put_off = tokio::spawn(async move { holder.nack(&held, an_hour, "in an hour").await });
    fixture.waiting(1).await;
    let taken = tokio::spawn(async move { claimer.take_for(3, ServerFixture::SHORT).await });
    let taken = match fixture.strategy {
        Strategy::SkipLocked => {
            let taken = taken.await.expect("a claim during an open settlement");
            assert!(!put_off.is_finished(), "the settlement did not wait");
            barrier.lift().await;
            taken
        }
        // A shard lease is not run here: its shards are in one instance's hands.
        Strategy::PreemptiveUpdate | Strategy::ShardLease => {
            fixture.waiting(2).await;
            barrier.lift().await;
            taken.await.expect("a claim behind an open settlement")
        }
    };
    assert_eq!(put_off.await.expect("a settlement"), Accepted);
    assert_eq!(ids(&taken), sent[1..]);
    outbox.advance(an_hour).await;
    assert!(ids(&outbox.rival.take_all().await).contains(&sent[0]), "it was put off for good");
}
