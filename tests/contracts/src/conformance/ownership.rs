//! Promise: one instance holds a shard; attempts are counted for messages in flight and for no others

use std::time::Duration;

use claimstream_domain::{
    Disposition, Reason, Renewed,
    Settled::{Accepted, Superseded},
    Settlement,
};

use crate::suite::{Case, cases};
use crate::{Fixture, LEASE, ids};

pub const CLAUSES: &[Case<Fixture>] = cases!["ownership" needs [Claims, Ownership]:
    a_held_shard_is_not_entered,
    a_shard_is_free_once_its_last_message_is_settled,
    other_shards_are_free_meanwhile,
    a0_9_no_owner_crosses_shards_and_those_of_the_stopped_are_taken_over,
    a_take_over_counts_an_attempt_for_what_was_in_flight_and_for_nothing_else,
    what_was_in_flight_at_a_take_over_is_handed_out_alone,
    what_the_old_holder_settles_after_a_take_over_is_superseded,
    a_renewal_after_a_take_over_is_superseded,
    a_batch_with_something_lost_is_answered_in_order,
    a_message_that_ends_its_process_each_time_is_found_alone,
    of_all_that_a_process_has_in_flight_one_at_most_was_cut_off_before,
    in_flight_counts_as_leased_and_what_waited_longest_is_not_in_flight,
    a_closed_claim_comes_back_to_its_own_instance_with_one_attempt_more,
    what_its_own_instance_has_let_go_holds_nothing_up,
    who_has_survived_what_was_cut_off_before_suspects_it_no_more,
];

pub async fn a_held_shard_is_not_entered(fixture: Fixture) {
    let sent = fixture.enqueue(6).await;
    assert_eq!(ids(&fixture.store.take(3).await), sent[..3]);
    fixture.rival.finds_nothing().await;
    assert_eq!(ids(&fixture.store.take(3).await), sent[3..]);
}

pub async fn a_shard_is_free_once_its_last_message_is_settled(fixture: Fixture) {
    let sent = fixture.enqueue(4).await;
    let held = fixture.store.take(2).await;
    assert_eq!(fixture.store.ack(&held[0]).await, Accepted);
    fixture.rival.finds_nothing().await;
    assert_eq!(fixture.store.ack(&held[1]).await, Accepted);
    assert_eq!(ids(&fixture.rival.take_all().await), sent[2..]);
    fixture.store.finds_nothing().await;
}

pub async fn other_shards_are_free_meanwhile(fixture: Fixture) {
    let loose: Vec<_> = (0..40).map(|_| fixture.loose_message()).collect();
    fixture.store.enqueue(&loose).await;
    let held = fixture.store.claim(1).await;
    let rest = fixture.rival.take_all().await;
    assert!(rest.iter().all(|claimed| claimed.message.shard != held[0].message.shard));
    let shards: std::collections::HashSet<_> = rest.iter().map(|claimed| claimed.message.shard).collect();
    assert_eq!(shards.len(), usize::from(fixture.facts.shards.get()) - 1);
}

pub async fn a0_9_no_owner_crosses_shards_and_those_of_the_stopped_are_taken_over(fixture: Fixture) {
    let loose: Vec<_> = (0..60).map(|_| fixture.loose_message()).collect();
    fixture.store.enqueue(&loose).await;
    let ours = fixture.store.claim(1).await;
    let theirs = fixture.rival.take_all().await;
    let more = fixture.store.take_all().await;
    let shard = ours[0].message.shard;
    assert!(more.iter().all(|claimed| claimed.message.shard == shard));
    assert!(theirs.iter().all(|claimed| claimed.message.shard != shard));
    assert_eq!(1 + more.len() + theirs.len(), 60);
    // The rival stops, and its leases run out.
    for claimed in ours.iter().chain(&more) {
        assert_eq!(fixture.store.ack(claimed).await, Accepted);
    }
    fixture.store.finds_nothing().await;
    fixture.advance(LEASE).await;
    let mut taken_over = 0;
    while let Some(claimed) = fixture.store.take(1).await.pop() {
        assert_eq!((claimed.attempt, fixture.store.ack(&claimed).await), (2, Accepted));
        taken_over += 1;
    }
    assert_eq!(taken_over, theirs.len());
}

pub async fn a_take_over_counts_an_attempt_for_what_was_in_flight_and_for_nothing_else(fixture: Fixture) {
    fixture.enqueue(4).await;
    let held = fixture.store.take(3).await;
    assert_eq!(fixture.store.nack(&held[0], Duration::ZERO, "busy").await, Accepted);
    fixture.advance(LEASE).await;
    let mut attempts = Vec::new();
    while let Some(claimed) = fixture.rival.take(1).await.pop() {
        attempts.push((claimed.message.id, claimed.attempt));
        assert_eq!(fixture.rival.ack(&claimed).await, Accepted);
    }
    attempts.sort();
    let id = |n: usize| held[n].message.id;
    let mut expected = vec![(id(0), 2), (id(1), 2), (id(2), 2)];
    expected.extend(attempts.iter().copied().filter(|(id, _)| !ids(&held).contains(id)));
    expected.sort();
    assert_eq!(attempts, expected);
    assert_eq!(attempts.iter().map(|(_, attempt)| attempt).sum::<u32>(), 7);
}

pub async fn what_was_in_flight_at_a_take_over_is_handed_out_alone(fixture: Fixture) {
    let sent = fixture.enqueue(4).await;
    fixture.store.take(2).await;
    fixture.advance(LEASE).await;
    for suspect in &sent[..2] {
        let alone = fixture.rival.take(9).await;
        assert_eq!(ids(&alone), [*suspect]);
        assert_eq!(fixture.rival.ack(&alone[0]).await, Accepted);
    }
    assert_eq!(ids(&fixture.rival.take(9).await), sent[2..]);
}

pub async fn what_the_old_holder_settles_after_a_take_over_is_superseded(fixture: Fixture) {
    fixture.enqueue(2).await;
    let held = fixture.store.take(2).await;
    fixture.advance(LEASE).await;
    let again = fixture.rival.take_one().await;
    for claimed in &held {
        assert_eq!(fixture.store.ack(claimed).await, Superseded);
    }
    assert_eq!(fixture.rival.status().await.map(|status| status.depth), Some(2));
    assert_eq!(fixture.rival.ack(&again).await, Accepted);
}

pub async fn a_renewal_after_a_take_over_is_superseded(fixture: Fixture) {
    fixture.enqueue(1).await;
    let held = fixture.store.take_one().await;
    fixture.advance(LEASE).await;
    fixture.rival.take_one().await;
    let renewed = fixture.store.renew_all(std::slice::from_ref(&held.receipt), LEASE).await;
    assert_eq!(renewed, [Renewed::Superseded]);
}

pub async fn a_batch_with_something_lost_is_answered_in_order(fixture: Fixture) {
    let sent = fixture.enqueue(5).await;
    let claimed = fixture.store.take(5).await;
    assert_eq!(fixture.store.ack(&claimed[1]).await, Accepted);
    let child = fixture.message();
    let end = |n: usize, disposition| Settlement { receipt: claimed[n].receipt.clone(), disposition };
    let batch = [
        end(4, Disposition::Returned),
        end(1, Disposition::Done { emit: vec![fixture.message()] }),
        end(2, Disposition::dead(Reason::new("bad"))),
        end(3, Disposition::Retry { after: Duration::from_secs(9), reason: Reason::new("busy") }),
        end(0, Disposition::Done { emit: vec![child.clone()] }),
    ];
    let answers = fixture.store.settle_all(&batch).await;
    assert_eq!(answers, [Accepted, Superseded, Accepted, Accepted, Accepted]);
    let mut due = ids(&fixture.rival.take_all().await);
    due.sort();
    let mut expected = vec![sent[4], child.id];
    expected.sort();
    assert_eq!(due, expected);
    assert_eq!(fixture.store.dead().await[0].message.id, sent[2]);
}

pub async fn a_message_that_ends_its_process_each_time_is_found_alone(fixture: Fixture) {
    let sent = fixture.enqueue(5).await;
    let poison = sent[2];
    let instances = [&fixture.store, &fixture.rival];
    let (mut crashes, mut handled) = (0, Vec::new());
    'processes: for n in 0.. {
        let process = instances[n % 2];
        loop {
            let claimed = process.take(9).await;
            if claimed.is_empty() {
                break 'processes;
            }
            if claimed.iter().any(|claimed| claimed.message.id == poison && claimed.attempt > 3) {
                assert_eq!(claimed.len(), 1, "it is not alone");
                assert_eq!(process.bury(&claimed[0], "it ends its process").await, Accepted);
                continue;
            }
            if claimed.iter().any(|claimed| claimed.message.id == poison) {
                crashes += 1;
                fixture.advance(LEASE).await;
                continue 'processes;
            }
            for claimed in &claimed {
                assert!(claimed.attempt <= 2, "an innocent is charged again and again: {claimed:?}");
                assert_eq!(process.ack(claimed).await, Accepted);
                handled.push(claimed.message.id);
            }
        }
    }
    handled.sort();
    let innocent: Vec<_> = sent.iter().copied().filter(|id| *id != poison).collect();
    assert_eq!((crashes, handled), (3, innocent));
}

pub async fn of_all_that_a_process_has_in_flight_one_at_most_was_cut_off_before(fixture: Fixture) {
    let loose: Vec<_> = (0..24).map(|_| fixture.loose_message()).collect();
    fixture.store.enqueue(&loose).await;
    let cut_off = fixture.store.take_all().await;
    let shards: std::collections::HashSet<_> = cut_off.iter().map(|claimed| claimed.message.shard).collect();
    assert!(shards.len() > 1, "one shard shows nothing");
    fixture.store.enqueue(&[fixture.loose_message()]).await;
    fixture.advance(LEASE).await;
    let (mut suspects, mut fresh) = (Vec::new(), Vec::new());
    loop {
        let taken = fixture.rival.take_all().await;
        let (again, new): (Vec<_>, Vec<_>) = taken.into_iter().partition(|claimed| claimed.attempt > 1);
        assert!(again.len() <= 1, "{} that were cut off are in flight together", again.len());
        let done = again.is_empty() && new.is_empty();
        fresh.extend(new);
        for claimed in again {
            assert_eq!(fixture.rival.ack(&claimed).await, Accepted);
            suspects.push(claimed.message.id);
        }
        if done {
            break;
        }
        for claimed in fresh.drain(..) {
            assert_eq!(fixture.rival.ack(&claimed).await, Accepted);
        }
    }
    suspects.sort();
    let mut expected = ids(&cut_off);
    expected.sort();
    assert_eq!(suspects, expected);
}

pub async fn in_flight_counts_as_leased_and_what_waited_longest_is_not_in_flight(fixture: Fixture) {
    fixture.enqueue(1).await;
    fixture.store.take_one().await;
    fixture.advance(Duration::from_secs(5)).await;
    fixture.enqueue(2).await;
    fixture.advance(Duration::from_secs(4)).await;
    let status = fixture.rival.status().await.expect("a queue");
    assert_eq!((status.depth, status.due, status.leased), (3, 2, 1));
    assert_eq!(status.oldest.map(|oldest| oldest.as_secs()), Some(4));
    fixture.advance(LEASE).await;
    let status = fixture.rival.status().await.expect("a queue");
    assert_eq!((status.due, status.leased), (3, 0));
}

pub async fn a_closed_claim_comes_back_to_its_own_instance_with_one_attempt_more(fixture: Fixture) {
    let sent = fixture.enqueue(2).await;
    let first = fixture.store.take(2).await;
    fixture.advance(LEASE).await;
    let again = fixture.store.take(2).await;
    assert_eq!((ids(&again), again[0].attempt), (sent, 2));
    assert_eq!(fixture.store.ack(&first[0]).await, Superseded);
    assert_eq!(fixture.store.ack(&again[0]).await, Accepted);
}

pub async fn what_its_own_instance_has_let_go_holds_nothing_up(fixture: Fixture) {
    let sent = fixture.enqueue(6).await;
    for attempt in 1..=4 {
        let claimed = fixture.store.take(9).await;
        assert_eq!(ids(&claimed), sent, "others wait behind what was let go");
        let attempts: Vec<_> = claimed.iter().map(|claimed| claimed.attempt).collect();
        assert_eq!(attempts, [attempt, attempt, 1, 1, 1, 1]);
        for claimed in &claimed[2..] {
            assert_eq!(fixture.store.release(claimed).await, Accepted);
        }
        fixture.advance(LEASE).await;
    }
}

pub async fn who_has_survived_what_was_cut_off_before_suspects_it_no_more(fixture: Fixture) {
    let sent = fixture.enqueue(3).await;
    fixture.store.take(3).await;
    fixture.advance(LEASE).await;
    assert_eq!(ids(&fixture.rival.take(9).await), sent[..1], "what was cut off goes alone");
    fixture.advance(LEASE).await;
    let mut again = fixture.rival.take(9).await;
    assert_eq!((again[0].message.id, again[0].attempt), (sent[0], 3));
    assert_eq!(fixture.rival.ack(&again.remove(0)).await, Accepted);
    let mut rest: Vec<_> = again.iter().map(|claimed| claimed.message.id).collect();
    for claimed in again {
        assert_eq!(fixture.rival.ack(&claimed).await, Accepted);
    }
    while let Some(claimed) = fixture.rival.take(1).await.pop() {
        rest.push(claimed.message.id);
        assert_eq!((claimed.attempt, fixture.rival.ack(&claimed).await), (2, Accepted));
    }
    assert_eq!(rest, sent[1..]);
}
