use std::time::Duration;

use claimstream_domain::{NewMessage, QueueStatus};

use super::{Clause, clauses};
use crate::{LEASE, Stage};

pub const CLAUSES: &[Clause<Stage>] = clauses!["observe":
    every_number_is_exact,
    a_queue_without_message_and_dead_letter_is_not_listed,
    a_queue_with_only_dead_letters_is_listed,
    an_expired_lease_counts_as_due,
    the_oldest_is_the_longest_waiting_due_message,
    a_queue_with_nothing_due_has_no_oldest,
    each_queue_is_counted_alone,
    queues_are_listed_by_name,
];

pub async fn every_number_is_exact(stage: Stage) {
    let later = Duration::from_secs(500);
    let mut messages: Vec<_> = (0..9).map(|_| stage.loose_message()).collect();
    messages.extend((0..5).map(|_| stage.loose_message().deliver_after(later)));
    stage.store.enqueue(&messages).await;
    let claimed = stage.store.take(6).await;
    let _ = stage.store.bury(&claimed[0], "no").await;
    let _ = stage.store.ack(&claimed[1]).await;
    let _ = stage.store.release(&claimed[2]).await;
    let _ = stage.store.nack(&claimed[3], later, "busy").await;
    stage.advance(Duration::from_micros(2_000_001)).await;
    let expected = QueueStatus {
        queue: stage.queue().clone(),
        depth: 9 + 5 - 2,
        due: 3 + 1,
        leased: 2,
        oldest: Some(Duration::from_micros(2_000_001)),
        dead: 1,
        stray: 0,
    };
    assert_eq!(stage.rival.status().await, Some(expected));
}

pub async fn a_queue_without_message_and_dead_letter_is_not_listed(stage: Stage) {
    assert_eq!(stage.store.status().await, None);
    stage.enqueue(1).await;
    assert!(stage.rival.status().await.is_some());
    let claimed = stage.store.take_one().await;
    let _ = stage.store.ack(&claimed).await;
    assert_eq!(stage.rival.status().await, None);
}

pub async fn a_queue_with_only_dead_letters_is_listed(stage: Stage) {
    stage.enqueue(2).await;
    for claimed in stage.store.take(2).await {
        let _ = stage.store.bury(&claimed, "no").await;
    }
    let queue = stage.queue().clone();
    let expected = QueueStatus { queue, depth: 0, due: 0, leased: 0, oldest: None, dead: 2, stray: 0 };
    assert_eq!(stage.rival.status().await, Some(expected));
}

pub async fn an_expired_lease_counts_as_due(stage: Stage) {
    stage.enqueue(1).await;
    stage.store.take_one().await;
    stage.advance(LEASE - Duration::from_micros(1)).await;
    let status = stage.rival.status().await.expect("a status");
    assert_eq!((status.due, status.leased, status.oldest), (0, 1, None));
    stage.advance(Duration::from_micros(1)).await;
    let status = stage.rival.status().await.expect("a status");
    assert_eq!((status.due, status.leased, status.oldest), (1, 0, Some(Duration::ZERO)));
}

pub async fn the_oldest_is_the_longest_waiting_due_message(stage: Stage) {
    let delays = [7_u64, 3, 5, 900];
    let messages: Vec<_> =
        delays.iter().map(|s| stage.loose_message().deliver_after(Duration::from_secs(*s))).collect();
    stage.store.enqueue(&messages).await;
    stage.advance(Duration::from_secs(10)).await;
    let status = stage.rival.status().await.expect("a status");
    assert_eq!((status.due, status.depth, status.oldest), (3, 4, Some(Duration::from_secs(7))));
}

pub async fn a_queue_with_nothing_due_has_no_oldest(stage: Stage) {
    stage.store.enqueue(&[stage.message().deliver_after(Duration::from_secs(1))]).await;
    let status = stage.rival.status().await.expect("a status");
    assert_eq!((status.depth, status.due, status.leased, status.oldest), (1, 0, 0, None));
}

pub async fn each_queue_is_counted_alone(stage: Stage) {
    let elsewhere = stage.rival.on(&Stage::fresh_queue());
    let there = |_| NewMessage { queue: elsewhere.queue().clone(), ..stage.loose_message() };
    stage.store.enqueue(&(0..3).map(there).collect::<Vec<_>>()).await;
    stage.enqueue(2).await;
    let _ = elsewhere.bury(&elsewhere.take_one().await, "no").await;
    let numbers = |s: QueueStatus| (s.depth, s.due, s.dead);
    assert_eq!(stage.store.status().await.map(numbers), Some((2, 2, 0)));
    assert_eq!(elsewhere.status().await.map(numbers), Some((2, 2, 1)));
}

pub async fn queues_are_listed_by_name(stage: Stage) {
    let mut queues = [Stage::fresh_queue(), Stage::fresh_queue(), Stage::fresh_queue()];
    queues.sort();
    for n in [1, 2, 0] {
        stage.store.enqueue(&[NewMessage { queue: queues[n].clone(), ..stage.message() }]).await;
    }
    let listed = stage.rival.ports.observe.observe().await.expect("observe");
    let own = listed.iter().map(|s| &s.queue).filter(|queue| queues.contains(queue));
    assert_eq!(own.collect::<Vec<_>>(), queues.iter().collect::<Vec<_>>());
    assert!(listed.is_sorted_by_key(|status| status.queue.clone()), "{listed:?}");
}
