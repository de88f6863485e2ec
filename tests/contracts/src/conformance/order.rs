//! Promise: messages that the messages of a key emit come in their order; a stream that lost the first
//! message of a key group does not receive the rest; a message written after the commit of another of its key
//! comes after it

use std::time::Duration;

use claimstream_domain::{
    ClaimRequest, Claimed, Disposition, NewMessage, OrderingKey, RunPlace,
    Settled::{Accepted, Superseded, Unknown},
    Settlement, StreamId,
};

use super::transactions::RESET;
use crate::suite::{Case, cases};
use crate::{Fixture, LEASE, ids};

pub const CLAUSES: &[Case<Fixture>] = cases!["order" needs [KeyOrder]:
    messages_of_a_key_are_handed_out_one_at_a_time_the_oldest_first,
    a_message_without_a_key_waits_for_no_other_one needs [HeldKeys],
    another_key_passes_one_that_is_in_flight needs [HeldKeys],
    a_message_that_fails_holds_back_its_key_and_no_other needs [HeldKeys],
    a_message_that_waits_for_its_retry_is_not_due needs [HeldKeys],
    a_message_that_is_put_off_keeps_its_attempts_and_its_error needs [HeldKeys],
    a_retry_in_its_old_place_waits_from_its_own_due_time,
    a_dead_message_lets_its_key_go_on needs [HeldKeys],
    a_released_message_goes_first_again needs [HeldKeys],
    a_key_goes_on_where_it_was_after_a_take_over needs [HeldKeys],
    a_full_claim_of_other_keys_lets_no_message_overtake needs [HeldKeys],
    ten_thousand_that_wait_behind_a_key_hide_no_other_key needs [HeldKeys],
    a_message_that_fails_is_overtaken_while_it_waits needs [Overtaking],
    a_stream_takes_the_run_of_a_key_and_no_other_does,
    ends_of_a_run_are_accepted_in_its_order_alone,
    children_of_a_key_come_in_the_order_of_their_parents,
    what_is_behind_a_message_that_comes_again_can_only_be_given_back needs [HeldKeys],
    a_stream_gets_nothing_from_where_it_gave_back_until_what_is_before_has_ended,
];

pub const LATE: &[Case<Fixture>] = cases!["order" needs [KeyOrder, HeldKeys, ParallelWrites]:
    a_message_committed_late_comes_behind_one_of_its_key_that_was_handed_out,
    a_message_committed_late_is_handed_out_within_two_seconds_though_other_keys_fill_every_claim,
    a_message_that_was_written_after_a_slow_commit_of_its_key_comes_behind_it,
];

pub async fn messages_of_a_key_are_handed_out_one_at_a_time_the_oldest_first(fixture: Fixture) {
    for id in fixture.enqueue(4).await {
        let one = fixture.store.take(9).await;
        assert_eq!(ids(&one), [id]);
        assert_eq!(fixture.store.ack(&one[0]).await, Accepted);
    }
    fixture.store.finds_nothing().await;
}

pub async fn a_message_without_a_key_waits_for_no_other_one(fixture: Fixture) {
    let loose: Vec<_> = (0..20).map(|_| fixture.loose_message()).collect();
    fixture.store.enqueue(&loose).await;
    assert_eq!(fixture.store.take_all().await.len(), 20);
}

pub async fn another_key_passes_one_that_is_in_flight(fixture: Fixture) {
    fixture.enqueue(2).await;
    let others = of_keys(&fixture, 30);
    fixture.store.enqueue(&others).await;
    let taken = fixture.store.take_all().await;
    assert_eq!(taken.len(), 31, "30 keys and the first of ours");
}

pub async fn a_message_that_fails_holds_back_its_key_and_no_other(fixture: Fixture) {
    let sent = fixture.enqueue(3).await;
    let failing = fixture.store.take(9).await.remove(0);
    assert_eq!(fixture.store.nack(&failing, Duration::from_secs(9), "busy").await, Accepted);
    fixture.store.enqueue(&of_keys(&fixture, 5)).await;
    assert_eq!(fixture.store.take_all().await.len(), 5);
    fixture.rival.finds_nothing().await;
    fixture.advance(Duration::from_secs(9)).await;
    for id in sent {
        let one = fixture.store.take(9).await;
        assert_eq!(ids(&one), [id]);
        assert_eq!(fixture.store.ack(&one[0]).await, Accepted);
    }
}

/// Guard: messages that wait in place for their retry are not due |
/// adapters/sea-orm/src/sql/observe/live.sql: `parked_until` ignored
pub async fn a_message_that_waits_for_its_retry_is_not_due(fixture: Fixture) {
    let loose = fixture.loose_message();
    fixture.store.enqueue(&[fixture.message(), loose]).await;
    let day = Duration::from_secs(86_400);
    for failing in fixture.store.take_all().await {
        assert_eq!(fixture.store.nack(&failing, day, "busy").await, Accepted);
    }
    fixture.advance(Duration::from_secs(600)).await;
    let status = fixture.rival.status().await.expect("the queue holds messages");
    assert_eq!((status.depth, status.due, status.oldest, status.seems_unread()), (2, 0, None, false));
    fixture.advance(day - Duration::from_secs(597)).await;
    let status = fixture.rival.status().await.expect("the queue holds messages");
    assert_eq!((status.due, status.oldest), (2, Some(Duration::from_secs(3))));
}

pub async fn a_message_that_is_put_off_keeps_its_attempts_and_its_error(fixture: Fixture) {
    fixture.enqueue(1).await;
    for attempt in 1..=3 {
        let claimed = fixture.rival.take_one().await;
        assert_eq!(claimed.attempt, attempt);
        let error = claimed.last_error.as_ref().map(|error| error.as_str().to_owned());
        assert_eq!(error, (attempt > 1).then(|| format!("failure {}", attempt - 1)));
        let why = format!("failure {attempt}");
        assert_eq!(fixture.rival.nack(&claimed, Duration::from_secs(1), &why).await, Accepted);
        fixture.rival.finds_nothing().await;
        fixture.advance(Duration::from_secs(1)).await;
    }
}

/// Guard: a retry in its old place waits from its own due time |
/// adapters/sea-orm/src/strategy/shard_lease/claim/due_row.rs `candidate`: `waited` without `parked_until`
pub async fn a_retry_in_its_old_place_waits_from_its_own_due_time(fixture: Fixture) {
    fixture.store.enqueue(&[fixture.message()]).await;
    fixture.advance(Duration::from_secs(5)).await;
    let failing = fixture.store.take_one().await;
    assert_eq!(failing.waited, Duration::from_secs(5));
    assert_eq!(fixture.store.nack(&failing, Duration::from_secs(60), "busy").await, Accepted);
    fixture.advance(Duration::from_secs(62)).await;
    assert_eq!(fixture.store.take_one().await.waited, Duration::from_secs(2));
}

pub async fn a_dead_message_lets_its_key_go_on(fixture: Fixture) {
    let sent = fixture.enqueue(2).await;
    let first = fixture.store.take(9).await.remove(0);
    assert_eq!(fixture.store.bury(&first, "no").await, Accepted);
    assert_eq!(ids(&fixture.rival.take(9).await), sent[1..]);
}

pub async fn a_released_message_goes_first_again(fixture: Fixture) {
    let sent = fixture.enqueue(3).await;
    let first = fixture.store.take(9).await.remove(0);
    assert_eq!(fixture.store.release(&first).await, Accepted);
    let again = fixture.rival.take(9).await;
    assert_eq!((ids(&again), again[0].attempt), (vec![sent[0]], 1));
}

pub async fn a_key_goes_on_where_it_was_after_a_take_over(fixture: Fixture) {
    let sent = fixture.enqueue(3).await;
    let first = fixture.store.take(9).await.remove(0);
    assert_eq!(fixture.store.ack(&first).await, Accepted);
    fixture.store.take_one().await;
    fixture.advance(LEASE).await;
    for (id, attempt) in [(sent[1], 2), (sent[2], 1)] {
        let one = fixture.rival.take(9).await;
        assert_eq!((ids(&one), one[0].attempt), (vec![id], attempt));
        assert_eq!(fixture.rival.ack(&one[0]).await, Accepted);
    }
}

pub async fn a_message_committed_late_comes_behind_one_of_its_key_that_was_handed_out(fixture: Fixture) {
    let late = fixture.message();
    let tx = fixture.rival.begin().await;
    tx.enqueue(std::slice::from_ref(&late)).await.expect("enqueue");
    fixture.advance(Duration::from_secs(1)).await;
    let younger = fixture.enqueue(2).await;
    let first = fixture.store.take(9).await;
    assert_eq!(ids(&first), younger[..1]);
    tx.commit().await.expect("commit");
    fixture.store.finds_nothing().await;
    assert_eq!(fixture.store.ack(&first[0]).await, Accepted);
    fixture.advance(RESET).await;
    for id in [late.id, younger[1]] {
        let one = fixture.store.take(9).await;
        assert_eq!(ids(&one), [id]);
        assert_eq!(fixture.store.ack(&one[0]).await, Accepted);
    }
}

pub async fn a_message_committed_late_is_handed_out_within_two_seconds_though_other_keys_fill_every_claim(
    fixture: Fixture,
) {
    let late = fixture.message();
    let tx = fixture.rival.begin().await;
    tx.enqueue(std::slice::from_ref(&late)).await.expect("enqueue");
    fixture.advance(Duration::from_secs(1)).await;
    let others =
        neighbours(&fixture).map(|key| fixture.message().ordered_by(key)).take(9).collect::<Vec<_>>();
    for other in &others {
        fixture.store.enqueue(std::slice::from_ref(other)).await;
        fixture.advance(Duration::from_micros(1)).await;
    }
    for other in &others[..3] {
        assert_eq!(ids(&fixture.store.take(1).await), [other.id]);
    }
    tx.commit().await.expect("commit");
    fixture.advance(RESET).await;
    assert_eq!(ids(&fixture.store.take(1).await), [late.id]);
}

/// The first one's transaction is open while other keys fill the claims, so that it lies below all that they have read.
pub async fn a_message_that_was_written_after_a_slow_commit_of_its_key_comes_behind_it(fixture: Fixture) {
    let slow = fixture.message();
    let tx = fixture.rival.begin().await;
    tx.enqueue(std::slice::from_ref(&slow)).await.expect("enqueue");
    fixture.advance(Duration::from_secs(60)).await;
    for key in neighbours(&fixture).take(2) {
        fixture.store.enqueue(&[fixture.message().ordered_by(key)]).await;
        fixture.advance(Duration::from_micros(1)).await;
    }
    assert_eq!((fixture.store.take(1).await.len(), fixture.store.take(1).await.len()), (1, 1));
    tx.commit().await.expect("commit");
    fixture.advance(Duration::from_millis(1)).await;
    let after = fixture.enqueue(1).await;
    for id in [slow.id, after[0]] {
        let one = fixture.store.take(1).await;
        assert_eq!(ids(&one), [id]);
        assert_eq!(fixture.store.ack(&one[0]).await, Accepted);
    }
}

pub async fn a_full_claim_of_other_keys_lets_no_message_overtake(fixture: Fixture) {
    fixture.enqueue(2).await;
    let failing = fixture.store.take(1).await.remove(0);
    assert_eq!(fixture.store.nack(&failing, Duration::from_secs(9), "busy").await, Accepted);
    let neighbour = neighbours(&fixture).next().expect("a key in every shard");
    fixture.store.enqueue(&[fixture.message().ordered_by(neighbour.clone())]).await;
    fixture.enqueue(1).await;
    let other = fixture.store.claim(1).await;
    assert_eq!(other[0].message.ordering_key, Some(neighbour));
    fixture.store.finds_nothing().await;
}

pub async fn ten_thousand_that_wait_behind_a_key_hide_no_other_key(fixture: Fixture) {
    let behind: Vec<_> = (0..10_000).map(|_| fixture.message()).collect();
    for some in behind.chunks(500) {
        fixture.store.enqueue(some).await;
    }
    fixture.advance(Duration::from_secs(1)).await;
    fixture.store.enqueue(&of_keys(&fixture, 30)).await;
    assert_eq!(fixture.store.take_all().await.len(), 31);
}

pub async fn a_message_that_fails_is_overtaken_while_it_waits(fixture: Fixture) {
    let sent = fixture.enqueue(2).await;
    let first = fixture.store.take(9).await.remove(0);
    assert_eq!(fixture.store.nack(&first, Duration::from_secs(9), "busy").await, Accepted);
    let second = fixture.store.take(9).await;
    assert_eq!(ids(&second), sent[1..]);
    assert_eq!(fixture.store.ack(&second[0]).await, Accepted);
    fixture.advance(Duration::from_secs(9)).await;
    assert_eq!(ids(&fixture.store.take(9).await), sent[..1]);
}

pub async fn a_stream_takes_the_run_of_a_key_and_no_other_does(fixture: Fixture) {
    let sent = fixture.enqueue(5).await;
    let first = claim_run(&fixture, 1, 2).await;
    assert_eq!((ids(&first), first[0].place), (sent[..2].to_vec(), RunPlace::Head));
    assert_eq!(first[1].place, RunPlace::Behind(sent[0]));
    assert_eq!((claim_run(&fixture, 2, 9).await, fixture.store.claim(9).await), (vec![], vec![]));
    fixture.rival.finds_nothing().await;
    let rest = claim_run(&fixture, 1, 9).await;
    assert_eq!((ids(&rest), rest[0].place), (sent[2..].to_vec(), RunPlace::Behind(sent[1])));
    for claimed in first.iter().chain(&rest) {
        assert_eq!(fixture.store.ack(claimed).await, Accepted);
    }
    fixture.store.finds_nothing().await;
}

pub async fn ends_of_a_run_are_accepted_in_its_order_alone(fixture: Fixture) {
    fixture.enqueue(3).await;
    let run = claim_run(&fixture, 1, 9).await;
    let done = |n: usize| Settlement { receipt: run[n].receipt.clone(), disposition: done() };
    let settle = |some: Vec<Settlement>| fixture.store.try_settle(some);
    assert!(settle(vec![done(1)]).await.is_none_or(|answers| answers == [Unknown]));
    assert!(settle(vec![done(0), done(2)]).await.is_some_and(|answers| answers == [Accepted, Unknown]));
    assert_eq!(settle(vec![done(2), done(1)]).await, Some(vec![Accepted; 2]), "together in any order");
    fixture.rival.finds_nothing().await;
}

/// Guard: children of a key are due in the order of their parents | adapters/sea-orm/src/strategy/shared/children.rs
/// `children`: no `keep_order`
pub async fn children_of_a_key_come_in_the_order_of_their_parents(fixture: Fixture) {
    fixture.enqueue(3).await;
    let run = claim_run(&fixture, 1, 9).await;
    let copies = fixture.store.on(&Fixture::fresh_queue());
    // As those of producers whose clocks differ, the ids are not in the order in which the parents were written.
    let mut children: Vec<_> =
        run.iter().map(|_| NewMessage { queue: copies.queue().clone(), ..fixture.message() }).collect();
    children.swap(0, 1);
    let end = |(parent, child): (&Claimed, &NewMessage)| {
        let disposition = Disposition::Done { emit: vec![child.clone()] };
        Settlement { receipt: parent.receipt.clone(), disposition }
    };
    let ends: Vec<_> = run.iter().zip(&children).map(end).collect();
    assert_eq!(fixture.store.settle_all(&ends).await, [Accepted; 3]);
    fixture.advance(Duration::from_millis(1)).await;
    for child in children {
        let one = copies.take(9).await;
        assert_eq!(ids(&one), [child.id]);
        assert_eq!(copies.ack(&one[0]).await, Accepted);
    }
}

pub async fn what_is_behind_a_message_that_comes_again_can_only_be_given_back(fixture: Fixture) {
    let sent = fixture.enqueue(4).await;
    let run = claim_run(&fixture, 1, 9).await;
    assert_eq!(fixture.store.nack(&run[0], Duration::from_secs(9), "busy").await, Accepted);
    assert_eq!(fixture.store.ack(&run[1]).await, Superseded);
    for behind in &run[2..] {
        assert_eq!(fixture.store.release(behind).await, Accepted);
    }
    assert_eq!(claim_run(&fixture, 1, 9).await, []);
    fixture.advance(Duration::from_secs(9)).await;
    let again = claim_run(&fixture, 1, 9).await;
    let attempts: Vec<_> = again.iter().map(|claimed| claimed.attempt).collect();
    assert_eq!((ids(&again), attempts), (sent, vec![2, 1, 1, 1]));
}

pub async fn a_stream_gets_nothing_from_where_it_gave_back_until_what_is_before_has_ended(fixture: Fixture) {
    let sent = fixture.enqueue(3).await;
    let run = claim_run(&fixture, 1, 9).await;
    for behind in &run[1..] {
        assert_eq!(fixture.store.release(behind).await, Accepted);
    }
    assert_eq!(claim_run(&fixture, 1, 9).await, [], "it would go back again");
    assert_eq!(fixture.store.ack(&run[0]).await, Accepted);
    let rest = claim_run(&fixture, 1, 9).await;
    assert_eq!((ids(&rest), rest[0].place), (sent[1..].to_vec(), RunPlace::Head));
}

async fn claim_run(fixture: &Fixture, stream: u64, limit: u32) -> Vec<Claimed> {
    let runs = Some(StreamId(stream));
    fixture.store.claim_as(&ClaimRequest { runs, ..fixture.store.request(limit, LEASE) }).await
}

fn done() -> Disposition {
    Disposition::Done { emit: vec![] }
}

/// Other keys whose messages lie in the same shard as those of the fixture.
fn neighbours(fixture: &Fixture) -> impl Iterator<Item = OrderingKey> {
    let shard =
        |message: &NewMessage| fixture.facts.shards.shard_of(message.id, message.ordering_key.as_ref());
    let home = shard(&fixture.message());
    let keys = (0..).map(|n| OrderingKey::new(&format!("neighbour-{n}")).expect("a key"));
    keys.filter(move |key| shard(&fixture.message().ordered_by(key.clone())) == home)
}

/// Messages with a key each.
fn of_keys(fixture: &Fixture, count: usize) -> Vec<NewMessage> {
    let key = |n: usize| OrderingKey::new(&format!("account-of-{n}")).expect("a key");
    (0..count).map(|n| fixture.message().ordered_by(key(n))).collect()
}
