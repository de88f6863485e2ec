use std::time::Duration;

use claimstream_domain::{NewMessage, QueueStatus};

use crate::suite::{Case, cases};
use crate::{Fixture, LEASE};

pub const CLAUSES: &[Case<Fixture>] = cases!["observe" needs [Claims, Settlements, Unguarded]:
    every_number_is_exact,
    a_queue_without_message_and_dead_letter_is_not_listed,
    a_queue_with_only_dead_letters_is_listed,
    an_expired_lease_counts_as_due needs [Sharing],
    the_oldest_is_the_longest_waiting_due_message needs [Store],
    a_queue_with_nothing_due_has_no_oldest needs [Store],
    each_queue_is_counted_alone,
    queues_are_listed_by_name needs [Store],
];

pub async fn every_number_is_exact(fixture: Fixture) {
    let later = Duration::from_secs(500);
    let mut messages: Vec<_> = (0..9).map(|_| fixture.loose_message()).collect();
    messages.extend((0..5).map(|_| fixture.loose_message().deliver_after(later)));
    fixture.store.enqueue(&messages).await;
    let claimed = fixture.store.take(6).await;
    let _ = fixture.store.bury(&claimed[0], "no").await;
    let _ = fixture.store.ack(&claimed[1]).await;
    let _ = fixture.store.release(&claimed[2]).await;
    let _ = fixture.store.nack(&claimed[3], later, "busy").await;
    fixture.advance(Duration::from_micros(2_000_001)).await;
    let expected = QueueStatus {
        queue: fixture.queue().clone(),
        depth: 9 + 5 - 2,
        due: 3 + 1,
        leased: 2,
        retrying: 1,
        oldest: Some(Duration::from_micros(2_000_001)),
        dead: 1,
        stray: 0,
    };
    assert_eq!(fixture.rival.status().await, Some(expected));
}

pub async fn a_queue_without_message_and_dead_letter_is_not_listed(fixture: Fixture) {
    assert_eq!(fixture.store.status().await, None);
    fixture.enqueue(1).await;
    assert!(fixture.rival.status().await.is_some());
    let claimed = fixture.store.take_one().await;
    let _ = fixture.store.ack(&claimed).await;
    assert_eq!(fixture.rival.status().await, None);
}

pub async fn a_queue_with_only_dead_letters_is_listed(fixture: Fixture) {
    fixture.enqueue(2).await;
    for claimed in fixture.store.take(2).await {
        let _ = fixture.store.bury(&claimed, "no").await;
    }
    let queue = fixture.queue().clone();
    let expected =
        QueueStatus { queue, depth: 0, due: 0, leased: 0, retrying: 0, oldest: None, dead: 2, stray: 0 };
    assert_eq!(fixture.rival.status().await, Some(expected));
}

pub async fn an_expired_lease_counts_as_due(fixture: Fixture) {
    fixture.enqueue(1).await;
    fixture.store.take_one().await;
    fixture.advance(LEASE - Duration::from_micros(1)).await;
    let status = fixture.rival.status().await.expect("a status");
    assert_eq!((status.due, status.leased, status.oldest), (0, 1, None));
    fixture.advance(Duration::from_micros(1)).await;
    let status = fixture.rival.status().await.expect("a status");
    assert_eq!((status.due, status.leased, status.oldest), (1, 0, Some(Duration::ZERO)));
}

pub async fn the_oldest_is_the_longest_waiting_due_message(fixture: Fixture) {
    let delays = [7_u64, 3, 5, 900];
    let messages: Vec<_> =
        delays.iter().map(|s| fixture.loose_message().deliver_after(Duration::from_secs(*s))).collect();
    fixture.store.enqueue(&messages).await;
    fixture.advance(Duration::from_secs(10)).await;
    let status = fixture.rival.status().await.expect("a status");
    assert_eq!((status.due, status.depth, status.oldest), (3, 4, Some(Duration::from_secs(7))));
}

pub async fn a_queue_with_nothing_due_has_no_oldest(fixture: Fixture) {
    fixture.store.enqueue(&[fixture.message().deliver_after(Duration::from_secs(1))]).await;
    let status = fixture.rival.status().await.expect("a status");
    assert_eq!((status.depth, status.due, status.leased, status.oldest), (1, 0, 0, None));
}

pub async fn each_queue_is_counted_alone(fixture: Fixture) {
    let elsewhere = fixture.rival.on(&Fixture::fresh_queue());
    let there = |_| NewMessage { queue: elsewhere.queue().clone(), ..fixture.loose_message() };
    fixture.store.enqueue(&(0..3).map(there).collect::<Vec<_>>()).await;
    fixture.enqueue(2).await;
    let _ = elsewhere.bury(&elsewhere.take_one().await, "no").await;
    let numbers = |s: QueueStatus| (s.depth, s.due, s.dead);
    assert_eq!(fixture.store.status().await.map(numbers), Some((2, 2, 0)));
    assert_eq!(elsewhere.status().await.map(numbers), Some((2, 2, 1)));
}

pub async fn queues_are_listed_by_name(fixture: Fixture) {
    let mut queues = [Fixture::fresh_queue(), Fixture::fresh_queue(), Fixture::fresh_queue()];
    queues.sort();
    for n in [1, 2, 0] {
        fixture.store.enqueue(&[NewMessage { queue: queues[n].clone(), ..fixture.message() }]).await;
    }
    let listed = fixture.rival.ports.observe.observe().await.expect("observe");
    let own = listed.iter().map(|s| &s.queue).filter(|queue| queues.contains(queue));
    assert_eq!(own.collect::<Vec<_>>(), queues.iter().collect::<Vec<_>>());
    assert!(listed.is_sorted_by_key(|status| status.queue.clone()), "{listed:?}");
}
