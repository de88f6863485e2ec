//! A paused queue: nothing more is claimed from it, and nothing else changes.
//! Promise: every strategy and process leaves a paused queue alone within two seconds, whatever wakes its
//! relays; claims in hand stay

use std::{collections::BTreeSet, time::Duration};

use claimstream_domain::{Claimed, Lease, MessageId, PauseNote, PausedQueue, QueueName, Renewed, Settled};
use claimstream_ports::PauseQueues;

use crate::suite::{Case, cases};
use crate::{Fixture, Instance, LEASE, ids};

pub const CLAUSES: &[Case<Fixture>] = cases!["pauses" needs [Claims, Settlements]:
    nothing_is_claimed_from_a_paused_queue_until_it_is_resumed,
    a_pause_stops_claims_that_come_back_full_within_two_seconds,
    claims_that_are_held_outlive_a_pause_and_messages_are_enqueued,
    other_queues_are_claimed_from_during_a_pause,
    a_queue_is_paused_once_and_its_first_note_stays needs [Store],
];

/// From then on a pause holds everywhere.
const SOON: Duration = Duration::from_secs(2);

/// Guard: nothing is claimed from a paused queue | adapters/sea-orm/src/sql/claim/peek.sql: no look at
/// `claimstream_pause`; the same in shard_lease/peek.sql
pub async fn nothing_is_claimed_from_a_paused_queue_until_it_is_resumed(fixture: Fixture) {
    let sent = fixture.enqueue(3).await;
    assert!(pause(&fixture.store).await);
    fixture.advance(SOON).await;
    fixture.store.finds_nothing().await;
    fixture.rival.finds_nothing().await;
    fixture.advance(Duration::from_secs(3600)).await;
    fixture.rival.finds_nothing().await;
    assert!(resume(&fixture.rival).await);
    let claimed = fixture.store.take_all().await;
    assert_eq!(set(&ids(&claimed)), set(&sent));
    assert!(claimed.iter().all(|claimed| claimed.attempt == 1), "an attempt was counted");
}

pub async fn a_pause_stops_claims_that_come_back_full_within_two_seconds(fixture: Fixture) {
    const BATCH: u32 = 60;
    let sent = fixture.enqueue(600).await;
    let mut claimed: Vec<Claimed> = Vec::new();
    for _ in 0..2 {
        claimed.extend(fixture.store.claim(BATCH).await);
        claimed.extend(fixture.rival.claim(BATCH).await);
    }
    assert!(claimed.len() >= 2 * BATCH as usize, "{} were claimed", claimed.len());
    assert!(pause(&fixture.rival).await);
    fixture.advance(SOON).await;
    for _ in 0..5 {
        assert_eq!(fixture.store.claim(BATCH).await, []);
        assert_eq!(fixture.rival.claim(BATCH).await, []);
        fixture.advance(Duration::from_millis(700)).await;
    }
    for claimed in &claimed {
        assert_eq!(fixture.store.ack(claimed).await, Settled::Accepted);
    }
    assert!(resume(&fixture.rival).await);
    let left = fixture.store.take_all().await;
    assert_eq!(set(&[ids(&claimed), ids(&left)].concat()), set(&sent));
    assert!(left.iter().all(|claimed| claimed.attempt == 1), "an attempt was counted");
}

pub async fn claims_that_are_held_outlive_a_pause_and_messages_are_enqueued(fixture: Fixture) {
    let sent = fixture.enqueue(2).await;
    let claimed = fixture.store.take(2).await;
    assert!(pause(&fixture.rival).await);
    fixture.advance(SOON).await;
    let lease = Lease::new(LEASE).expect("a lease");
    let receipts: Vec<_> = claimed.iter().map(|claimed| claimed.receipt.clone()).collect();
    let renewed = fixture.store.ports.settlements.renew(&receipts, lease).await.expect("renewed");
    assert!(renewed.iter().all(|renewed| matches!(renewed, Renewed::Extended { .. })), "{renewed:?}");
    assert_eq!(fixture.store.ack(&claimed[0]).await, Settled::Accepted);
    assert_eq!(fixture.store.nack(&claimed[1], Duration::ZERO, "busy").await, Settled::Accepted);
    let later = fixture.enqueue(1).await;
    fixture.advance(SOON).await;
    fixture.store.finds_nothing().await;
    fixture.rival.finds_nothing().await;
    assert!(resume(&fixture.store).await);
    let left: BTreeSet<MessageId> = set(&ids(&fixture.rival.take_all().await));
    assert_eq!(left, BTreeSet::from([claimed[1].message.id, later[0]]));
    assert!(sent.contains(&claimed[1].message.id));
}

pub async fn other_queues_are_claimed_from_during_a_pause(fixture: Fixture) {
    let other = Fixture::fresh_queue();
    let message = claimstream_domain::NewMessage { queue: other.clone(), ..fixture.message() };
    fixture.store.enqueue(std::slice::from_ref(&message)).await;
    assert!(pause(&fixture.store).await);
    fixture.advance(SOON).await;
    assert_eq!(ids(&fixture.store.on(&other).take_all().await), [message.id]);
}

/// Guard: the first record of a pause stays | adapters/sea-orm/src/sql/pauses/again.sql: no
/// `resumed_at IS NOT NULL`
pub async fn a_queue_is_paused_once_and_its_first_note_stays(fixture: Fixture) {
    let queue = fixture.queue();
    assert!(!resume(&fixture.store).await, "it was not paused");
    assert!(pause(&fixture.store).await);
    fixture.advance(SOON).await;
    let second = PauseNote::new("ben", None).expect("a note");
    assert!(!pauses(&fixture.rival).pause(queue, &second).await.expect("an answer"));
    let listed = listed(&fixture.rival, queue).await.expect("it is listed");
    assert_eq!(listed, PausedQueue { queue: queue.clone(), since: SOON, note: note() });
    assert!(resume(&fixture.rival).await);
    assert!(!resume(&fixture.store).await);
    assert_eq!(self::listed(&fixture.store, queue).await, None);
    assert!(pauses(&fixture.rival).pause(queue, &second).await.expect("paused again"));
    let listed = self::listed(&fixture.store, queue).await.expect("it is listed");
    assert_eq!((listed.since, listed.note), (Duration::ZERO, second));
    assert!(resume(&fixture.store).await);
}

fn note() -> PauseNote {
    PauseNote::new("ann", Some("the gateway is moved")).expect("a note")
}

fn pauses(instance: &Instance) -> &dyn PauseQueues {
    &*instance.ports.pauses
}

async fn pause(instance: &Instance) -> bool {
    pauses(instance).pause(instance.queue(), &note()).await.expect("paused")
}

async fn resume(instance: &Instance) -> bool {
    pauses(instance).resume(instance.queue(), "ben").await.expect("resumed")
}

async fn listed(instance: &Instance, queue: &QueueName) -> Option<PausedQueue> {
    let all = pauses(instance).paused().await.expect("a list");
    all.into_iter().find(|paused| paused.queue == *queue)
}

fn set(ids: &[MessageId]) -> BTreeSet<MessageId> {
    ids.iter().copied().collect()
}
