use std::time::Duration;

use claimstream_domain::{NewMessage, OrderingKey, Settled::Accepted};

use super::{Clause, clauses, transactions::RESET};
use crate::{LEASE, Stage, ids};

pub const CLAUSES: &[Clause<Stage>] = clauses!["order":
    messages_of_a_key_are_handed_out_one_at_a_time_the_oldest_first,
    a_message_without_a_key_waits_for_nobody,
    another_key_passes_one_that_is_in_flight,
    a_message_that_fails_holds_back_its_key_and_no_other,
    a_message_that_waits_for_its_retry_is_not_due,
    a_message_that_is_put_off_keeps_its_attempts_and_its_error,
    a_dead_message_lets_its_key_go_on,
    a_released_message_goes_first_again,
    a_key_goes_on_where_it_was_after_a_take_over,
    a_full_claim_of_other_keys_lets_nobody_overtake,
    ten_thousand_that_wait_behind_a_key_hide_no_other_key,
];

pub const LATE: &[Clause<Stage>] = clauses!["order":
    a_message_committed_late_comes_behind_one_of_its_key_that_was_handed_out,
    a_message_committed_late_is_handed_out_within_two_seconds_though_other_keys_fill_every_claim,
];

pub const SKIPPING: &[Clause<Stage>] = clauses!["order":
    messages_of_a_key_are_handed_out_one_at_a_time_the_oldest_first,
    a_message_that_fails_is_overtaken_while_it_waits,
];

pub async fn messages_of_a_key_are_handed_out_one_at_a_time_the_oldest_first(stage: Stage) {
    for id in stage.enqueue(4).await {
        let one = stage.store.take(9).await;
        assert_eq!(ids(&one), [id]);
        assert_eq!(stage.store.ack(&one[0]).await, Accepted);
    }
    stage.store.finds_nothing().await;
}

pub async fn a_message_without_a_key_waits_for_nobody(stage: Stage) {
    let loose: Vec<_> = (0..20).map(|_| stage.loose_message()).collect();
    stage.store.enqueue(&loose).await;
    assert_eq!(stage.store.take_all().await.len(), 20);
}

pub async fn another_key_passes_one_that_is_in_flight(stage: Stage) {
    stage.enqueue(2).await;
    let others = of_keys(&stage, 30);
    stage.store.enqueue(&others).await;
    let taken = stage.store.take_all().await;
    assert_eq!(taken.len(), 31, "30 keys and the first of ours");
}

pub async fn a_message_that_fails_holds_back_its_key_and_no_other(stage: Stage) {
    let sent = stage.enqueue(3).await;
    let failing = stage.store.take(9).await.remove(0);
    assert_eq!(stage.store.nack(&failing, Duration::from_secs(9), "busy").await, Accepted);
    stage.store.enqueue(&of_keys(&stage, 5)).await;
    assert_eq!(stage.store.take_all().await.len(), 5);
    stage.rival.finds_nothing().await;
    stage.advance(Duration::from_secs(9)).await;
    for id in sent {
        let one = stage.store.take(9).await;
        assert_eq!(ids(&one), [id]);
        assert_eq!(stage.store.ack(&one[0]).await, Accepted);
    }
}

pub async fn a_message_that_waits_for_its_retry_is_not_due(stage: Stage) {
    let loose = stage.loose_message();
    stage.store.enqueue(&[stage.message(), loose]).await;
    let day = Duration::from_secs(86_400);
    for failing in stage.store.take_all().await {
        assert_eq!(stage.store.nack(&failing, day, "busy").await, Accepted);
    }
    stage.advance(Duration::from_secs(600)).await;
    let status = stage.rival.status().await.expect("the queue holds messages");
    assert_eq!((status.depth, status.due, status.oldest, status.seems_unread()), (2, 0, None, false));
    stage.advance(day - Duration::from_secs(597)).await;
    let status = stage.rival.status().await.expect("the queue holds messages");
    assert_eq!((status.due, status.oldest), (2, Some(Duration::from_secs(3))));
}

pub async fn a_message_that_is_put_off_keeps_its_attempts_and_its_error(stage: Stage) {
    stage.enqueue(1).await;
    for attempt in 1..=3 {
        let claimed = stage.rival.take_one().await;
        assert_eq!(claimed.attempt, attempt);
        let error = claimed.last_error.as_ref().map(|error| error.as_str().to_owned());
        assert_eq!(error, (attempt > 1).then(|| format!("failure {}", attempt - 1)));
        let why = format!("failure {attempt}");
        assert_eq!(stage.rival.nack(&claimed, Duration::from_secs(1), &why).await, Accepted);
        stage.rival.finds_nothing().await;
        stage.advance(Duration::from_secs(1)).await;
    }
}

pub async fn a_dead_message_lets_its_key_go_on(stage: Stage) {
    let sent = stage.enqueue(2).await;
    let first = stage.store.take(9).await.remove(0);
    assert_eq!(stage.store.bury(&first, "no").await, Accepted);
    assert_eq!(ids(&stage.rival.take(9).await), sent[1..]);
}

pub async fn a_released_message_goes_first_again(stage: Stage) {
    let sent = stage.enqueue(3).await;
    let first = stage.store.take(9).await.remove(0);
    assert_eq!(stage.store.release(&first).await, Accepted);
    let again = stage.rival.take(9).await;
    assert_eq!((ids(&again), again[0].attempt), (vec![sent[0]], 1));
}

pub async fn a_key_goes_on_where_it_was_after_a_take_over(stage: Stage) {
    let sent = stage.enqueue(3).await;
    let first = stage.store.take(9).await.remove(0);
    assert_eq!(stage.store.ack(&first).await, Accepted);
    stage.store.take_one().await;
    stage.advance(LEASE).await;
    for (id, attempt) in [(sent[1], 2), (sent[2], 1)] {
        let one = stage.rival.take(9).await;
        assert_eq!((ids(&one), one[0].attempt), (vec![id], attempt));
        assert_eq!(stage.rival.ack(&one[0]).await, Accepted);
    }
}

pub async fn a_message_committed_late_comes_behind_one_of_its_key_that_was_handed_out(stage: Stage) {
    let late = stage.message();
    let tx = stage.rival.begin().await;
    tx.enqueue(std::slice::from_ref(&late)).await.expect("enqueue");
    stage.advance(Duration::from_secs(1)).await;
    let younger = stage.enqueue(2).await;
    let first = stage.store.take(9).await;
    assert_eq!(ids(&first), younger[..1]);
    tx.commit().await.expect("commit");
    stage.store.finds_nothing().await;
    assert_eq!(stage.store.ack(&first[0]).await, Accepted);
    stage.advance(RESET).await;
    for id in [late.id, younger[1]] {
        let one = stage.store.take(9).await;
        assert_eq!(ids(&one), [id]);
        assert_eq!(stage.store.ack(&one[0]).await, Accepted);
    }
}

pub async fn a_message_committed_late_is_handed_out_within_two_seconds_though_other_keys_fill_every_claim(
    stage: Stage,
) {
    let late = stage.message();
    let tx = stage.rival.begin().await;
    tx.enqueue(std::slice::from_ref(&late)).await.expect("enqueue");
    stage.advance(Duration::from_secs(1)).await;
    let others = neighbours(&stage).map(|key| stage.message().ordered_by(key)).take(9).collect::<Vec<_>>();
    for other in &others {
        stage.store.enqueue(std::slice::from_ref(other)).await;
        stage.advance(Duration::from_micros(1)).await;
    }
    for other in &others[..3] {
        assert_eq!(ids(&stage.store.take(1).await), [other.id]);
    }
    tx.commit().await.expect("commit");
    stage.advance(RESET).await;
    assert_eq!(ids(&stage.store.take(1).await), [late.id]);
}

pub async fn a_full_claim_of_other_keys_lets_nobody_overtake(stage: Stage) {
    stage.enqueue(2).await;
    let failing = stage.store.take(1).await.remove(0);
    assert_eq!(stage.store.nack(&failing, Duration::from_secs(9), "busy").await, Accepted);
    let beside = neighbours(&stage).next().expect("a key in every shard");
    stage.store.enqueue(&[stage.message().ordered_by(beside.clone())]).await;
    stage.enqueue(1).await;
    let other = stage.store.claim(1).await;
    assert_eq!(other[0].message.ordering_key, Some(beside));
    stage.store.finds_nothing().await;
}

pub async fn ten_thousand_that_wait_behind_a_key_hide_no_other_key(stage: Stage) {
    let behind: Vec<_> = (0..10_000).map(|_| stage.message()).collect();
    for some in behind.chunks(500) {
        stage.store.enqueue(some).await;
    }
    stage.advance(Duration::from_secs(1)).await;
    stage.store.enqueue(&of_keys(&stage, 30)).await;
    assert_eq!(stage.store.take_all().await.len(), 31);
}

pub async fn a_message_that_fails_is_overtaken_while_it_waits(stage: Stage) {
    let sent = stage.enqueue(2).await;
    let first = stage.store.take(9).await.remove(0);
    assert_eq!(stage.store.nack(&first, Duration::from_secs(9), "busy").await, Accepted);
    let second = stage.store.take(9).await;
    assert_eq!(ids(&second), sent[1..]);
    assert_eq!(stage.store.ack(&second[0]).await, Accepted);
    stage.advance(Duration::from_secs(9)).await;
    assert_eq!(ids(&stage.store.take(9).await), sent[..1]);
}

/// Other keys whose messages lie in the same shard as those of the stage.
fn neighbours(stage: &Stage) -> impl Iterator<Item = OrderingKey> {
    let shard = |message: &NewMessage| stage.facts.shards.shard_of(message.id, message.ordering_key.as_ref());
    let home = shard(&stage.message());
    let keys = (0..).map(|n| OrderingKey::new(&format!("neighbour-{n}")).expect("a key"));
    keys.filter(move |key| shard(&stage.message().ordered_by(key.clone())) == home)
}

/// Messages with a key each.
fn of_keys(stage: &Stage, count: usize) -> Vec<NewMessage> {
    let key = |n: usize| OrderingKey::new(&format!("account-of-{n}")).expect("a key");
    (0..count).map(|n| stage.message().ordered_by(key(n))).collect()
}
