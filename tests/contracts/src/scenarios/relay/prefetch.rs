//! A1.4: a stream holds no more than its prefetch, and gives back what was not handled.
//! Promise: a stream holds no more than its prefetch; what `shard_lease` reads ahead is not counted

use std::time::Duration;

use claimstream::RelayConfig;
use claimstream_domain::{ByteBudget, MessageId, Settled::Accepted};

use super::process::{Process, config};
use crate::{
    Fixture, LEASE,
    suite::{Case, cases},
};

pub const SCENARIOS: &[Case<Fixture>] = cases!["scenarios" needs [Claims, Settlements]:
    a1_4_a_consumer_that_stops_pulling_holds_no_more_than_its_prefetch,
    a1_4_a_consumer_that_stops_pulling_holds_no_more_bytes_than_its_prefetch,
    a1_4_a_closed_stream_frees_what_was_not_handled needs [Sharing],
    a1_4_a_dropped_stream_frees_what_was_not_handled_when_the_lease_ends needs [Sharing],
    a1_4_a_closed_stream_leaves_nothing_leased_ahead,
];

pub async fn a1_4_a_consumer_that_stops_pulling_holds_no_more_than_its_prefetch(fixture: Fixture) {
    fixture.enqueue(25).await;
    let mut process = Process::new(&fixture.store, config(10));
    let mut held = Vec::new();
    for _ in 0..5 {
        held.push(process.next().await.expect("a claim"));
    }
    assert!(leased(&fixture).await <= 10);
    for claim in held.drain(..) {
        assert_eq!(process.ack(claim).await, Accepted);
    }
    assert!(leased(&fixture).await <= 10);
    assert_eq!(fixture.rival.status().await.map(|status| status.depth), Some(20));
}

pub async fn a1_4_a_consumer_that_stops_pulling_holds_no_more_bytes_than_its_prefetch(fixture: Fixture) {
    for _ in 0..6 {
        fixture.store.enqueue(&[fixture.message_of(40_000)]).await;
        fixture.advance(Duration::from_micros(1)).await;
    }
    let prefetch_bytes = ByteBudget::new(100_000).expect("a budget");
    let mut process = Process::new(&fixture.store, RelayConfig { prefetch_bytes, ..config(10) });
    let mut done = 0;
    while done < 6 {
        let mut held = Vec::new();
        while let Some(claim) = process.next().await {
            held.push(claim);
        }
        assert!((1..=3).contains(&held.len()), "{} messages of 40 kB are held", held.len());
        done += held.len();
        for claim in held {
            assert_eq!(claim.attempt(), 1);
            assert_eq!(process.ack(claim).await, Accepted);
        }
    }
}

pub async fn a1_4_a_closed_stream_frees_what_was_not_handled(fixture: Fixture) {
    let sent = fixture.enqueue(25).await;
    let mut process = Process::new(&fixture.store, config(10));
    let mut held = Vec::new();
    for _ in 0..5 {
        held.push(process.next().await.expect("a claim"));
    }
    process.close().await;
    let rest = fixture.rival.take_all().await;
    let handled: Vec<MessageId> = held.iter().map(|claim| claim.message().id).collect();
    let expected: Vec<_> = sent.into_iter().filter(|id| !handled.contains(id)).collect();
    assert_eq!(rest.iter().map(|c| c.message.id).collect::<Vec<_>>(), expected);
    assert!(rest.iter().all(|claimed| claimed.attempt == 1), "an attempt was counted: {rest:?}");
}

pub async fn a1_4_a_dropped_stream_frees_what_was_not_handled_when_the_lease_ends(fixture: Fixture) {
    fixture.enqueue(25).await;
    let mut process = Process::new(&fixture.store, config(10));
    process.next().await.expect("a claim");
    let before = leased(&fixture).await;
    drop(process);
    fixture.advance(LEASE).await;
    assert!((1..=10).contains(&before), "{before} were leased");
    assert_eq!(fixture.rival.take_all().await.len(), 25);
}

/// Guard: a stopped stream releases what it read ahead | app/outbox/src/stream/returns.rs `release_read_ahead`:
/// calls nothing
pub async fn a1_4_a_closed_stream_leaves_nothing_leased_ahead(fixture: Fixture) {
    let sent = fixture.enqueue(600).await;
    let mut process = Process::new(&fixture.store, RelayConfig { batch: 100, ..config(200) });
    let mut handled = 0;
    while handled < 220 {
        let claim = process.next().await.expect("a claim");
        assert_eq!(process.ack(claim).await, Accepted);
        handled += 1;
    }
    process.close().await;
    let rest = fixture.rival.take_all().await;
    assert_eq!(rest.len(), sent.len() - handled);
    assert!(rest.iter().all(|claimed| claimed.attempt == 1), "an attempt was counted");
}

async fn leased(fixture: &Fixture) -> u64 {
    fixture.rival.status().await.map_or(0, |status| status.leased)
}
