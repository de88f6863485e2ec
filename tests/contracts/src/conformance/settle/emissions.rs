//! Messages that a settlement enqueues.
//! Promise: a dead letter's event exists if and only if the burial commits

use std::time::Duration;

use claimstream_domain::{
    DedupKey, Disposition, NewMessage, Reason,
    Settled::{Accepted, Superseded},
    Settlement,
};

use super::dispositions::done;
use crate::{
    Fixture, LEASE, ids,
    suite::{Case, cases},
};

pub const CLAUSES: &[Case<Fixture>] = cases!["settle" needs [Claims, Settlements]:
    the_children_of_a_done_message_exist_once_it_is_accepted,
    the_children_of_a_superseded_settlement_never_exist,
    a_child_goes_where_and_when_it_says,
    a_child_whose_dedup_key_is_taken_is_left_out,
    a_child_that_exists_already_is_not_enqueued_twice needs [Sharing],
    what_a_burial_emits_exists_once_it_is_accepted,
    what_a_superseded_burial_emits_never_exists,
];

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

/// Guard: a burial's messages are enqueued with it | domain/src/settlement.rs `emitted`: nothing of a `Dead`
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
    let again = fixture.rival.take_one().await;
    let events = fixture.rival.on(&Fixture::fresh_queue());
    let event = NewMessage { queue: events.queue().clone(), ..fixture.message() };
    let dead = Disposition::Dead { reason: Reason::new("bad"), emit: vec![event.clone()] };
    assert_eq!(fixture.store.settle(&lost.receipt, dead.clone()).await, Superseded);
    events.finds_nothing().await;
    assert_eq!(fixture.rival.settle(&again.receipt, dead).await, Accepted);
    assert_eq!(ids(&events.take_all().await), [event.id]);
}
