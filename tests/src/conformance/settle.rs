use std::{collections::HashMap, time::Duration};

use claimstream_domain::{
    ClaimId, Claimed, DedupKey, Disposition, InstanceId, MessageId, NewMessage, Reason, Receipt,
    Settled::{self, Accepted, Superseded},
    Settlement,
};
use futures::future::join_all;

use crate::suite::{Case, cases};
use crate::{Fixture, Instance, LEASE, ids};

pub const CLAUSES: &[Case<Fixture>] = cases!["settle" needs [Claims]:
    an_acked_message_is_gone_for_good,
    a_nacked_message_comes_back_after_its_delay_and_not_after_its_lease,
    a_nack_longer_than_the_lease_holds,
    a_nack_without_a_delay_is_due_at_once,
    a_nacked_message_keeps_its_attempts,
    a_buried_message_is_never_claimed_again_and_lies_with_the_dead_letters,
    a_released_message_is_as_it_was_before_the_claim,
    a_release_restores_the_order,
    a_release_uncounts_only_the_last_attempt,
    a_release_keeps_the_error_of_the_attempt_before,
    an_expired_claim_that_nobody_took_is_still_settled,
    a_settlement_of_a_lost_claim_is_superseded_and_changes_nothing,
    what_is_given_back_too_late_is_taken_off_the_count_once,
    what_is_given_back_too_late_and_then_claimed_twice_is_left_alone,
    an_older_claim_of_the_same_instance_is_superseded,
    a_late_ack_does_not_undo_the_new_holders_ack,
    a_forged_claim_id_is_superseded,
    a_message_that_never_was_is_superseded,
    a_repeated_settlement_is_accepted_at_most_once,
    a_claim_that_stands_twice_in_a_batch_is_accepted_once,
    two_parallel_settlements_of_one_claim_are_accepted_once,
    many_parallel_settlements_are_each_answered_for_themselves,
    a_batch_is_answered_in_the_order_of_its_entries needs [Sharing],
    a_batch_over_shards_and_queues_is_answered_in_the_order_of_its_entries needs [Sharing],
    a_large_batch_is_settled_whole needs [Sharing],
    an_empty_batch_has_an_empty_answer,
    settling_one_message_leaves_the_others_alone,
    the_children_of_a_done_message_exist_once_it_is_accepted,
    the_children_of_a_superseded_settlement_never_exist,
    a_child_goes_where_and_when_it_says,
    a_child_whose_dedup_key_is_taken_is_left_out,
    a_child_that_exists_already_is_not_enqueued_twice needs [Sharing],
    a_reason_of_the_greatest_length_comes_back_whole,
    what_a_burial_emits_exists_once_it_is_accepted,
    what_a_superseded_burial_emits_never_exists,
];

pub async fn an_acked_message_is_gone_for_good(fixture: Fixture) {
    fixture.enqueue(1).await;
    let claimed = fixture.store.take_one().await;
    assert_eq!(fixture.store.ack(&claimed).await, Accepted);
    fixture.advance(2 * LEASE).await;
    fixture.rival.finds_nothing().await;
    assert_eq!(fixture.rival.status().await, None);
    assert_eq!(fixture.rival.dead().await, []);
}

pub async fn a_nacked_message_comes_back_after_its_delay_and_not_after_its_lease(fixture: Fixture) {
    fixture.enqueue(1).await;
    let claimed = fixture.store.take_one().await;
    assert_eq!(fixture.store.nack(&claimed, Duration::from_secs(2), "later").await, Accepted);
    fixture.advance(Duration::from_micros(1_999_999)).await;
    fixture.rival.finds_nothing().await;
    fixture.advance(Duration::from_micros(1)).await;
    fixture.rival.take_one().await;
}

pub async fn a_nack_longer_than_the_lease_holds(fixture: Fixture) {
    fixture.enqueue(1).await;
    let claimed = fixture.store.take_one().await;
    let hour = Duration::from_secs(3600);
    assert_eq!(fixture.store.nack(&claimed, hour, "much later").await, Accepted);
    fixture.advance(hour - Duration::from_micros(1)).await;
    fixture.rival.finds_nothing().await;
    fixture.advance(Duration::from_micros(1)).await;
    fixture.rival.take_one().await;
}

pub async fn a_nack_without_a_delay_is_due_at_once(fixture: Fixture) {
    fixture.enqueue(1).await;
    let claimed = fixture.store.take_one().await;
    assert_eq!(fixture.store.nack(&claimed, Duration::ZERO, "again").await, Accepted);
    assert_eq!(fixture.store.take_one().await.attempt, 2);
}

pub async fn a_nacked_message_keeps_its_attempts(fixture: Fixture) {
    fixture.enqueue(1).await;
    for attempt in 1..=4 {
        let claimed = fixture.store.take_one().await;
        assert_eq!(claimed.attempt, attempt);
        assert_eq!(fixture.store.nack(&claimed, Duration::from_secs(1), "no").await, Accepted);
        fixture.advance(Duration::from_secs(1)).await;
    }
}

pub async fn a_buried_message_is_never_claimed_again_and_lies_with_the_dead_letters(fixture: Fixture) {
    let id = fixture.enqueue(1).await[0];
    let claimed = fixture.store.take_one().await;
    assert_eq!(fixture.store.bury(&claimed, "unreadable").await, Accepted);
    fixture.advance(2 * LEASE).await;
    fixture.rival.finds_nothing().await;
    let dead = fixture.rival.dead().await;
    assert_eq!(
        dead.iter().map(|d| (d.message.id, d.reason.as_str())).collect::<Vec<_>>(),
        [(id, "unreadable")]
    );
}

pub async fn a_released_message_is_as_it_was_before_the_claim(fixture: Fixture) {
    fixture.enqueue(1).await;
    let before = fixture.store.take_one().await;
    assert_eq!(fixture.store.release(&before).await, Accepted);
    let status = fixture.rival.status().await.expect("the queue holds a message");
    assert_eq!((status.due, status.leased, status.oldest), (1, 0, Some(Duration::from_micros(1))));
    let after = fixture.rival.take_one().await;
    assert_eq!(after.attempt, 1);
    assert_eq!(after.message, before.message);
    assert_eq!(after.last_error, None);
}

pub async fn a_release_restores_the_order(fixture: Fixture) {
    let sent = fixture.enqueue(4).await;
    let first = fixture.store.take(2).await;
    fixture.advance(Duration::from_secs(5)).await;
    assert_eq!(fixture.store.release(&first[0]).await, Accepted);
    assert_eq!(ids(&fixture.store.take(3).await), [sent[0], sent[2], sent[3]]);
}

pub async fn a_release_uncounts_only_the_last_attempt(fixture: Fixture) {
    fixture.enqueue(1).await;
    let first = fixture.store.take_one().await;
    let _ = fixture.store.nack(&first, Duration::ZERO, "no").await;
    let second = fixture.store.take_one().await;
    assert_eq!(fixture.store.release(&second).await, Accepted);
    assert_eq!(fixture.rival.take_one().await.attempt, 2);
}

pub async fn a_release_keeps_the_error_of_the_attempt_before(fixture: Fixture) {
    fixture.enqueue(1).await;
    let first = fixture.store.take_one().await;
    let _ = fixture.store.nack(&first, Duration::ZERO, "the first time").await;
    let second = fixture.store.take_one().await;
    assert_eq!(fixture.store.release(&second).await, Accepted);
    let third = fixture.rival.take_one().await;
    assert_eq!(third.last_error, Some(Reason::new("the first time")));
}

pub async fn an_expired_claim_that_nobody_took_is_still_settled(fixture: Fixture) {
    fixture.enqueue(4).await;
    let claimed = fixture.store.take(4).await;
    fixture.advance(2 * LEASE).await;
    for (claimed, disposition) in claimed.iter().zip(dispositions()) {
        assert_eq!(fixture.store.settle(&claimed.receipt, disposition).await, Accepted);
    }
}

pub async fn a_settlement_of_a_lost_claim_is_superseded_and_changes_nothing(fixture: Fixture) {
    fixture.enqueue(4).await;
    let lost = fixture.store.take(4).await;
    fixture.advance(LEASE).await;
    let held = fixture.rival.take(4).await;
    for (lost, disposition) in lost.iter().zip(dispositions()) {
        assert_eq!(fixture.store.settle(&lost.receipt, disposition).await, Superseded);
    }
    fixture.store.finds_nothing().await;
    assert_eq!(fixture.store.dead().await, []);
    fixture.advance(LEASE - Duration::from_micros(1)).await;
    fixture.store.finds_nothing().await;
    for held in &held {
        assert_eq!((held.attempt, fixture.rival.ack(held).await), (2, Accepted));
    }
}

pub async fn what_is_given_back_too_late_is_taken_off_the_count_once(fixture: Fixture) {
    fixture.enqueue(1).await;
    for _ in 0..2 {
        let failed = fixture.store.take_one().await;
        assert_eq!(fixture.store.nack(&failed, Duration::from_secs(1), "busy").await, Accepted);
        fixture.advance(Duration::from_secs(1)).await;
    }
    let late = fixture.store.take_one().await;
    fixture.advance(LEASE).await;
    let held = fixture.rival.take_one().await;
    assert_eq!((late.attempt, held.attempt), (3, 4));
    for _ in 0..3 {
        assert_eq!(fixture.store.release(&late).await, Superseded);
    }
    assert_eq!(fixture.rival.nack(&held, Duration::from_secs(1), "busy").await, Accepted);
    fixture.advance(Duration::from_secs(1)).await;
    let next = fixture.rival.take_one().await;
    assert_eq!(next.attempt, 4, "three have failed");
    assert_eq!(fixture.rival.ack(&next).await, Accepted);
}

pub async fn what_is_given_back_too_late_and_then_claimed_twice_is_left_alone(fixture: Fixture) {
    fixture.enqueue(1).await;
    let late = fixture.store.take_one().await;
    fixture.advance(LEASE).await;
    let held = fixture.rival.take_one().await;
    assert_eq!(fixture.rival.nack(&held, Duration::from_secs(1), "busy").await, Accepted);
    fixture.advance(Duration::from_secs(1)).await;
    let next = fixture.rival.take_one().await;
    assert_eq!(next.attempt, 3);
    assert_eq!(fixture.store.release(&late).await, Superseded);
    assert_eq!(fixture.rival.nack(&next, Duration::ZERO, "busy").await, Accepted);
    assert_eq!(fixture.rival.take_one().await.attempt, 4);
}

pub async fn an_older_claim_of_the_same_instance_is_superseded(fixture: Fixture) {
    fixture.enqueue(1).await;
    let older = fixture.store.take_one().await;
    fixture.advance(LEASE).await;
    let newer = fixture.store.take_one().await;
    assert_eq!(older.receipt.claim.instance(), newer.receipt.claim.instance());
    for disposition in dispositions() {
        assert_eq!(fixture.store.settle(&older.receipt, disposition).await, Superseded);
    }
    assert_eq!(fixture.store.ack(&newer).await, Accepted);
}

pub async fn a_late_ack_does_not_undo_the_new_holders_ack(fixture: Fixture) {
    fixture.enqueue(1).await;
    let late = fixture.store.take_one().await;
    fixture.advance(LEASE + Duration::from_secs(10)).await;
    let held = fixture.rival.take_one().await;
    assert_eq!(fixture.rival.ack(&held).await, Accepted);
    assert_eq!(fixture.store.ack(&late).await, Superseded);
    assert_eq!(fixture.store.nack(&late, Duration::ZERO, "late").await, Superseded);
    assert_eq!(fixture.store.release(&late).await, Superseded);
    fixture.store.finds_nothing().await;
    assert_eq!(fixture.store.status().await, None);
}

pub async fn a_forged_claim_id_is_superseded(fixture: Fixture) {
    fixture.enqueue(1).await;
    let claimed = fixture.store.take_one().await;
    let forged = Receipt { claim: ClaimId::new(InstanceId(33), 7), ..claimed.receipt.clone() };
    for disposition in dispositions() {
        assert_eq!(fixture.rival.settle(&forged, disposition).await, Superseded);
    }
    assert_eq!(fixture.store.ack(&claimed).await, Accepted);
}

pub async fn a_message_that_never_was_is_superseded(fixture: Fixture) {
    fixture.enqueue(1).await;
    let claimed = fixture.store.take_one().await;
    let nowhere = Receipt { message: fixture.message().id, ..claimed.receipt };
    for disposition in dispositions() {
        assert_eq!(fixture.store.settle(&nowhere, disposition).await, Superseded);
    }
}

pub async fn a_repeated_settlement_is_accepted_at_most_once(fixture: Fixture) {
    fixture.enqueue(4).await;
    let claimed = fixture.store.take(4).await;
    for (claimed, disposition) in claimed.iter().zip(dispositions()) {
        let settle = |by: &Instance| {
            let (by, receipt, disposition) = (by.clone(), claimed.receipt.clone(), disposition.clone());
            async move { by.settle(&receipt, disposition).await }
        };
        let answers =
            [settle(&fixture.store).await, settle(&fixture.store).await, settle(&fixture.rival).await];
        assert_eq!(accepted(&answers), 1, "{disposition:?}: {answers:?}");
    }
    assert_eq!(fixture.store.dead().await.len(), 1);
}

pub async fn a_claim_that_stands_twice_in_a_batch_is_accepted_once(fixture: Fixture) {
    fixture.enqueue(4).await;
    let claimed = fixture.store.take(4).await;
    for (claimed, disposition) in claimed.iter().zip(dispositions()) {
        let ack = Settlement { receipt: claimed.receipt.clone(), disposition: done() };
        let other = Settlement { receipt: claimed.receipt.clone(), disposition };
        let answers = fixture.store.settle_all(&[other, ack]).await;
        assert_eq!((answers.len(), accepted(&answers)), (2, 1), "{answers:?}");
    }
}

pub async fn two_parallel_settlements_of_one_claim_are_accepted_once(fixture: Fixture) {
    for disposition in dispositions().iter().cycle().take(20) {
        fixture.store.enqueue(&[fixture.message()]).await;
        let claimed = fixture.store.take_one().await;
        let settlers = [&fixture.store, &fixture.rival, &fixture.store, &fixture.rival].map(|settler| {
            let (settler, receipt) = (settler.clone(), claimed.receipt.clone());
            let disposition = disposition.clone();
            tokio::spawn(async move { settler.settle(&receipt, disposition).await })
        });
        let answers: Vec<_> = join_all(settlers).await.into_iter().map(|a| a.expect("a settler")).collect();
        assert_eq!(accepted(&answers), 1, "{disposition:?}: {answers:?}");
        for left in fixture.store.take_all().await {
            let _ = fixture.store.ack(&left).await;
        }
    }
}

/// What goes on in one shard may be written together: who has lost a message must not cost the others theirs.
pub async fn many_parallel_settlements_are_each_answered_for_themselves(fixture: Fixture) {
    fixture.enqueue(40).await;
    let claimed = fixture.store.take(40).await;
    let (lost, twice) = (&claimed[13], &claimed[22]);
    assert_eq!(fixture.store.release(lost).await, Accepted);
    let mut batches: Vec<Vec<&Claimed>> = claimed.chunks(5).map(|five| five.iter().collect()).collect();
    batches[6].push(twice);
    let settle = |batch: &Vec<&Claimed>| {
        let end = |claimed: &&Claimed| Settlement { receipt: claimed.receipt.clone(), disposition: done() };
        let ends: Vec<_> = batch.iter().map(end).collect();
        let store = &fixture.store;
        async move { store.settle_all(&ends).await }
    };
    let answers = join_all(batches.iter().map(settle)).await;
    let mut accepted = Vec::new();
    for (claimed, settled) in batches.iter().flatten().zip(answers.iter().flatten()) {
        match settled {
            Accepted => accepted.push(claimed.message.id),
            Superseded => assert!([lost.message.id, twice.message.id].contains(&claimed.message.id)),
            Settled::Unknown => panic!("nothing is in its way"),
        }
    }
    accepted.sort();
    let mut ours = ids(&claimed);
    ours.retain(|id| *id != lost.message.id);
    ours.sort();
    assert_eq!(accepted, ours, "each once");
    assert_eq!(fixture.rival.status().await.map_or(0, |status| status.depth), 1);
}

pub async fn a_batch_is_answered_in_the_order_of_its_entries(fixture: Fixture) {
    let sent = fixture.enqueue(6).await;
    let lost = fixture.store.take(1).await.remove(0);
    fixture.advance(LEASE).await;
    let claimed: HashMap<MessageId, Claimed> =
        fixture.rival.take(6).await.into_iter().map(|c| (c.message.id, c)).collect();
    let child = fixture.message();
    let of = |n: usize| claimed[&sent[n]].receipt.clone();
    let batch = [
        (of(5), Disposition::Returned),
        (lost.receipt, done()),
        (of(2), Disposition::dead(Reason::new("bad"))),
        (of(1), Disposition::Done { emit: vec![child.clone()] }),
        (of(2), done()),
        (of(3), Disposition::Retry { after: Duration::from_secs(9), reason: Reason::new("busy") }),
        (of(0), done()),
    ]
    .map(|(receipt, disposition)| Settlement { receipt, disposition });
    let answers = fixture.rival.settle_all(&batch).await;
    assert_eq!(answers, [Accepted, Superseded, Accepted, Accepted, Superseded, Accepted, Accepted]);
    let due: std::collections::HashSet<_> = ids(&fixture.store.take_all().await).into_iter().collect();
    assert_eq!(due, [sent[5], child.id].into());
    fixture.advance(Duration::from_secs(9)).await;
    assert_eq!(ids(&fixture.store.take_all().await), [sent[3]]);
    assert_eq!(fixture.store.dead().await[0].message.id, sent[2]);
}

pub async fn a_batch_over_shards_and_queues_is_answered_in_the_order_of_its_entries(fixture: Fixture) {
    let elsewhere = fixture.rival.on(&Fixture::fresh_queue());
    let here: Vec<_> = (0..8).map(|_| fixture.loose_message()).collect();
    let there: Vec<_> = here
        .iter()
        .map(|_| NewMessage { queue: elsewhere.queue().clone(), ..fixture.loose_message() })
        .collect();
    fixture.store.enqueue(&here).await;
    fixture.store.enqueue(&there).await;
    let (mine, theirs) = (fixture.store.take_all().await, elsewhere.take_all().await);
    assert_eq!((mine.len(), theirs.len()), (8, 8));
    let _ = elsewhere.ack(&theirs[3]).await;
    let mixed = theirs.iter().zip(&mine).flat_map(|(t, m)| [t, m]);
    let batch: Vec<_> =
        mixed.map(|c| Settlement { receipt: c.receipt.clone(), disposition: done() }).collect();
    let answers = fixture.store.settle_all(&batch).await;
    let superseded: Vec<usize> = (0..16).filter(|n| answers[*n] == Superseded).collect();
    assert_eq!((answers.len(), superseded), (16, vec![6]));
    assert_eq!((fixture.rival.status().await, elsewhere.status().await), (None, None));
}

pub async fn a_large_batch_is_settled_whole(fixture: Fixture) {
    let sent: Vec<_> = (0..700).map(|_| fixture.loose_message()).collect();
    fixture.store.enqueue(&sent).await;
    let claimed = fixture.store.take_all().await;
    let _ = fixture.rival.ack(&claimed[650]).await;
    let batch: Vec<_> =
        claimed.iter().map(|c| Settlement { receipt: c.receipt.clone(), disposition: done() }).collect();
    let answers = fixture.store.settle_all(&batch).await;
    assert_eq!((answers.len(), accepted(&answers), answers[650]), (700, 699, Superseded));
    assert_eq!(fixture.rival.status().await, None);
}

pub async fn an_empty_batch_has_an_empty_answer(fixture: Fixture) {
    assert_eq!(fixture.store.settle_all(&[]).await, []);
}

pub async fn settling_one_message_leaves_the_others_alone(fixture: Fixture) {
    let sent = fixture.enqueue(5).await;
    let claimed = fixture.store.take(5).await;
    for (claimed, disposition) in claimed.iter().zip(dispositions()) {
        assert_eq!(fixture.store.settle(&claimed.receipt, disposition).await, Accepted);
    }
    assert_eq!(claimed[4].message.id, sent[4]);
    assert_eq!(fixture.store.ack(&claimed[4]).await, Accepted);
}

pub async fn the_children_of_a_done_message_exist_once_it_is_accepted(fixture: Fixture) {
    fixture.enqueue(1).await;
    let claimed = fixture.store.take_one().await;
    let children = [fixture.message(), fixture.message()];
    let emit = Disposition::Done { emit: children.to_vec() };
    assert_eq!(fixture.store.settle(&claimed.receipt, emit).await, Accepted);
    let found = fixture.rival.take_all().await;
    let mut found: Vec<_> = found.into_iter().map(|c| (c.message.id, c.message.payload, c.attempt)).collect();
    found.sort_by_key(|(id, ..)| *id);
    let expected = children.map(|child| (child.id, child.payload, 1));
    assert_eq!(found, expected);
}

pub async fn the_children_of_a_superseded_settlement_never_exist(fixture: Fixture) {
    fixture.enqueue(1).await;
    let lost = fixture.store.take_one().await;
    fixture.advance(LEASE).await;
    let held = fixture.rival.take_one().await;
    let emit = Disposition::Done { emit: vec![fixture.message()] };
    assert_eq!(fixture.store.settle(&lost.receipt, emit.clone()).await, Superseded);
    assert_eq!(fixture.rival.ack(&held).await, Accepted);
    assert_eq!(fixture.rival.settle(&held.receipt, emit).await, Superseded);
    fixture.store.finds_nothing().await;
    assert_eq!(fixture.store.status().await, None);
}

pub async fn a_child_goes_where_and_when_it_says(fixture: Fixture) {
    fixture.enqueue(1).await;
    let claimed = fixture.store.take_one().await;
    let elsewhere = fixture.rival.on(&Fixture::fresh_queue());
    let child = NewMessage { queue: elsewhere.queue().clone(), ..fixture.message() };
    let child = child.deliver_after(Duration::from_secs(60));
    let emit = Disposition::Done { emit: vec![child.clone()] };
    assert_eq!(fixture.store.settle(&claimed.receipt, emit).await, Accepted);
    elsewhere.finds_nothing().await;
    fixture.advance(Duration::from_secs(60)).await;
    fixture.store.finds_nothing().await;
    let found = elsewhere.take_one().await.message;
    assert_eq!((found.id, found.headers, found.ordering_key), (child.id, child.headers, child.ordering_key));
}

pub async fn a_child_whose_dedup_key_is_taken_is_left_out(fixture: Fixture) {
    let key = DedupKey::new("invoice-5").expect("a key");
    let first = fixture.message().unique_by(key.clone());
    fixture.store.enqueue(std::slice::from_ref(&first)).await;
    let claimed = fixture.store.take_one().await;
    let (twin, single) = (fixture.message().unique_by(key), fixture.message());
    let emit = Disposition::Done { emit: vec![twin, single.clone()] };
    assert_eq!(fixture.store.settle(&claimed.receipt, emit).await, Accepted);
    assert_eq!(ids(&fixture.rival.take_all().await), [single.id]);
}

pub async fn a_child_that_exists_already_is_not_enqueued_twice(fixture: Fixture) {
    fixture.enqueue(1).await;
    let claimed = fixture.store.take_one().await;
    let child = fixture.message();
    fixture.rival.enqueue(std::slice::from_ref(&child)).await;
    let held = fixture.rival.take_one().await;
    let second = fixture.message();
    let emit = Disposition::Done { emit: vec![child, second.clone(), second.clone()] };
    assert_eq!(fixture.store.settle(&claimed.receipt, emit).await, Accepted);
    assert_eq!(ids(&fixture.rival.take_all().await), [second.id]);
    assert_eq!(fixture.rival.ack(&held).await, Accepted);
}

pub async fn a_reason_of_the_greatest_length_comes_back_whole(fixture: Fixture) {
    fixture.enqueue(1).await;
    let why = "\u{1f980}".repeat(Reason::MAX_CHARS);
    let first = fixture.store.take_one().await;
    assert_eq!(fixture.store.nack(&first, Duration::ZERO, &why).await, Accepted);
    let second = fixture.store.take_one().await;
    assert_eq!(second.last_error, Some(Reason::new(&why)));
    assert_eq!(fixture.store.bury(&second, &why).await, Accepted);
    assert_eq!(fixture.rival.dead().await[0].reason.as_str(), why);
}

/// One of each kind; their effects differ in every respect.
pub(super) fn dispositions() -> [Disposition; 4] {
    [
        done(),
        Disposition::Retry { after: Duration::from_secs(77), reason: Reason::new("not yet") },
        Disposition::dead(Reason::new("never")),
        Disposition::Returned,
    ]
}

/// The end of a message that leaves nothing behind.
pub(super) fn done() -> Disposition {
    Disposition::Done { emit: vec![] }
}

fn accepted(answers: &[Settled]) -> usize {
    answers.iter().filter(|answer| **answer == Accepted).count()
}

pub async fn what_a_burial_emits_exists_once_it_is_accepted(fixture: Fixture) {
    let sent = fixture.enqueue(4).await;
    let claimed = fixture.store.take(4).await;
    let events = fixture.rival.on(&Fixture::fresh_queue());
    let event = || NewMessage { queue: events.queue().clone(), ..fixture.message() };
    let (first, second) = (event(), event());
    let dead = |emit: &[NewMessage]| Disposition::Dead { reason: Reason::new("bad"), emit: emit.to_vec() };
    let batch = [
        (&claimed[0], dead(std::slice::from_ref(&first))),
        (&claimed[1], dead(&[])),
        (&claimed[2], dead(std::slice::from_ref(&second))),
        (&claimed[3], done()),
    ]
    .map(|(claimed, disposition)| Settlement { receipt: claimed.receipt.clone(), disposition });
    assert_eq!(fixture.store.settle_all(&batch).await, [Accepted; 4]);
    let mut emitted = ids(&events.take_all().await);
    emitted.sort();
    assert_eq!(emitted, [first.id, second.id]);
    let mut dead: Vec<_> = fixture.rival.dead().await.iter().map(|dead| dead.message.id).collect();
    dead.sort();
    assert_eq!(dead, sent[..3]);
}

pub async fn what_a_superseded_burial_emits_never_exists(fixture: Fixture) {
    fixture.enqueue(1).await;
    let lost = fixture.store.take_one().await;
    fixture.advance(LEASE).await;
    let anew = fixture.rival.take_one().await;
    let events = fixture.rival.on(&Fixture::fresh_queue());
    let event = NewMessage { queue: events.queue().clone(), ..fixture.message() };
    let dead = Disposition::Dead { reason: Reason::new("bad"), emit: vec![event.clone()] };
    assert_eq!(fixture.store.settle(&lost.receipt, dead.clone()).await, Superseded);
    events.finds_nothing().await;
    assert_eq!(fixture.rival.settle(&anew.receipt, dead).await, Accepted);
    assert_eq!(ids(&events.take_all().await), [event.id]);
}
