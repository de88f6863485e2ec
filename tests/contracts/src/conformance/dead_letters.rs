//! Promise: a list of dead letters names each one once, whatever leaves in between

use std::time::Duration;

use claimstream_domain::{DeadLetterFilter, DeadLetterGroup, MessageId, NewMessage, QueueName, Reason};
use futures::future::join_all;

use crate::suite::{Case, cases};
use crate::{Fixture, Instance, LEASE};

pub const CLAUSES: &[Case<Fixture>] = cases!["dead_letters" needs [Claims, Settlements, Unguarded]:
    a_dead_letter_tells_what_why_how_often_and_how_long_ago,
    the_newest_come_first_and_at_most_the_limit needs [Store],
    a_filter_by_queue_finds_only_that_queue needs [Store],
    a_filter_by_ids_finds_only_those needs [Store],
    a_filter_by_age_is_exact_to_the_microsecond needs [Store],
    a_filter_means_all_its_parts_together needs [Store],
    an_empty_filter_means_every_queue needs [Store],
    a_revived_message_is_due_at_once_with_no_attempts_counted,
    a_revived_message_has_left_the_dead_letters needs [Store],
    a_revived_message_keeps_who_may_have_accepted_it_and_no_other_reason needs [Store],
    a_revived_message_can_die_again,
    revive_says_how_many_and_leaves_the_rest needs [Store],
    a_letter_is_revived_once_by_many_at_a_time needs [Store],
    a_purged_letter_is_gone_for_good needs [Store],
    purge_says_how_many_and_leaves_the_rest needs [Store],
    many_letters_are_revived_in_one_call needs [Store],
    nothing_else_leaves_the_dead_letters needs [Store],
    pages_name_each_letter_once_whatever_leaves_meanwhile needs [Store],
    a_page_of_all_queues_is_in_one_order needs [Store],
    a_count_is_exact_up_to_its_limit needs [Store],
    letters_are_chosen_and_grouped_by_their_reason needs [Store],
];

pub async fn a_dead_letter_tells_what_why_how_often_and_how_long_ago(fixture: Fixture) {
    let sent = fixture.message();
    fixture.store.enqueue(std::slice::from_ref(&sent)).await;
    fixture.store.take_one().await;
    fixture.advance(LEASE).await;
    let claimed = fixture.store.take_one().await;
    let _ = fixture.store.bury(&claimed, "cannot be read").await;
    fixture.advance(Duration::from_micros(5_000_003)).await;
    let dead = fixture.rival.dead().await;
    assert_eq!(dead.len(), 1);
    assert_eq!(dead[0].message, claimed.message);
    assert_eq!(dead[0].message.payload, sent.payload);
    assert_eq!((dead[0].attempts, &dead[0].reason), (2, &Reason::new("cannot be read")));
    assert_eq!(dead[0].dead_for, Duration::from_micros(5_000_003));
}

pub async fn the_newest_come_first_and_at_most_the_limit(fixture: Fixture) {
    let mut buried = bury(&fixture, &fixture.store, 4).await;
    buried.reverse();
    assert_eq!(ids(&fixture.rival, &fixture.rival.own_dead(), 1000).await, buried);
    assert_eq!(ids(&fixture.rival, &fixture.rival.own_dead(), 3).await, buried[..3]);
    assert_eq!(ids(&fixture.rival, &fixture.rival.own_dead(), 1).await, buried[..1]);
}

pub async fn a_filter_by_queue_finds_only_that_queue(fixture: Fixture) {
    let elsewhere = fixture.store.on(&Fixture::fresh_queue());
    let (here, there) = (bury(&fixture, &fixture.store, 2).await, bury(&fixture, &elsewhere, 1).await);
    assert_eq!(sorted(ids(&fixture.rival, &fixture.rival.own_dead(), 9).await), here);
    assert_eq!(sorted(ids(&fixture.rival, &elsewhere.own_dead(), 9).await), there);
    assert_eq!(ids(&fixture.rival, &of_queue(&Fixture::fresh_queue()), 9).await, []);
}

pub async fn a_filter_by_ids_finds_only_those(fixture: Fixture) {
    let buried = bury(&fixture, &fixture.store, 4).await;
    let unknown = fixture.message().id;
    let filter = DeadLetterFilter { ids: vec![buried[3], buried[1], unknown], ..DeadLetterFilter::default() };
    assert_eq!(ids(&fixture.rival, &filter, 9).await, [buried[3], buried[1]]);
    let none = DeadLetterFilter { ids: vec![unknown], ..DeadLetterFilter::default() };
    assert_eq!(ids(&fixture.rival, &none, 9).await, []);
}

pub async fn a_filter_by_age_is_exact_to_the_microsecond(fixture: Fixture) {
    let old = bury(&fixture, &fixture.store, 1).await;
    let own = fixture.store.own_dead();
    fixture.advance(Duration::from_secs(60) - STEP).await;
    let aged = |micros| DeadLetterFilter { dead_for: Some(Duration::from_micros(micros)), ..own.clone() };
    assert_eq!(ids(&fixture.rival, &aged(60_000_000), 9).await, old);
    assert_eq!(ids(&fixture.rival, &aged(60_000_001), 9).await, []);
    assert_eq!(ids(&fixture.rival, &aged(0), 9).await, old);
}

pub async fn a_filter_means_all_its_parts_together(fixture: Fixture) {
    let elsewhere = fixture.store.on(&Fixture::fresh_queue());
    let old = bury(&fixture, &fixture.store, 2).await;
    let other = bury(&fixture, &elsewhere, 1).await;
    fixture.advance(Duration::from_secs(60)).await;
    let young = bury(&fixture, &fixture.store, 1).await;
    let filter = DeadLetterFilter {
        queue: Some(fixture.queue().clone()),
        ids: vec![old[1], other[0], young[0]],
        dead_for: Some(Duration::from_secs(30)),
        reason: None,
    };
    assert_eq!(ids(&fixture.rival, &filter, 9).await, [old[1]]);
    assert_eq!(fixture.rival.revive(&filter).await, 1);
    assert_eq!(fixture.rival.purge(&filter).await, 0);
    assert_eq!(fixture.rival.take_one().await.message.id, old[1]);
}

pub async fn an_empty_filter_means_every_queue(fixture: Fixture) {
    let elsewhere = fixture.store.on(&Fixture::fresh_queue());
    let here = bury(&fixture, &fixture.store, 1).await;
    let there = bury(&fixture, &elsewhere, 1).await;
    let all = ids(&fixture.rival, &DeadLetterFilter::default(), 100_000).await;
    assert!(all.contains(&here[0]) && all.contains(&there[0]), "{all:?}");
}

pub async fn a_revived_message_is_due_at_once_with_no_attempts_counted(fixture: Fixture) {
    let sent = fixture.message();
    fixture.store.enqueue(std::slice::from_ref(&sent)).await;
    let claimed = fixture.store.take_one().await;
    let _ = fixture.store.bury(&claimed, "no").await;
    fixture.advance(Duration::from_secs(7)).await;
    assert_eq!(fixture.rival.revive(&fixture.rival.own_dead()).await, 1);
    let status = fixture.rival.status().await.expect("the queue holds a message");
    assert_eq!((status.due, status.dead, status.oldest), (1, 0, Some(Duration::ZERO)));
    let revived = fixture.store.take_one().await;
    assert_eq!((revived.attempt, &revived.message), (1, &claimed.message));
}

pub async fn a_revived_message_has_left_the_dead_letters(fixture: Fixture) {
    bury(&fixture, &fixture.store, 1).await;
    assert_eq!(fixture.rival.revive(&fixture.rival.own_dead()).await, 1);
    assert_eq!(fixture.rival.dead().await, []);
    assert_eq!(fixture.rival.revive(&fixture.rival.own_dead()).await, 0);
    assert_eq!(fixture.store.take_all().await.len(), 1);
}

pub async fn a_revived_message_keeps_who_may_have_accepted_it_and_no_other_reason(fixture: Fixture) {
    for (reason, is_kept) in
        [("may have been accepted by mail-1, mail-2; HTTP 504", true), ("HTTP 504", false)]
    {
        fixture.store.enqueue(&[fixture.message()]).await;
        let claimed = fixture.store.take_one().await;
        let _ = fixture.store.bury(&claimed, reason).await;
        assert_eq!(fixture.rival.revive(&fixture.rival.own_dead()).await, 1);
        let revived = fixture.store.take_one().await;
        assert_eq!(revived.last_error, is_kept.then(|| Reason::new(reason)));
        let _ = fixture.store.ack(&revived).await;
    }
}

pub async fn a_revived_message_can_die_again(fixture: Fixture) {
    let buried = bury(&fixture, &fixture.store, 1).await;
    fixture.rival.revive(&fixture.rival.own_dead()).await;
    let claimed = fixture.store.take_one().await;
    let _ = fixture.store.bury(&claimed, "still no").await;
    let dead = fixture.rival.dead().await;
    assert_eq!((dead.len(), dead[0].message.id, dead[0].attempts), (1, buried[0], 1));
    assert_eq!(dead[0].reason, Reason::new("still no"));
}

pub async fn revive_says_how_many_and_leaves_the_rest(fixture: Fixture) {
    let buried = bury(&fixture, &fixture.store, 5).await;
    let filter = DeadLetterFilter { ids: buried[1..4].to_vec(), ..fixture.store.own_dead() };
    assert_eq!(fixture.rival.revive(&filter).await, 3);
    let found = fixture.store.take_all().await.iter().map(|c| c.message.id).collect();
    assert_eq!(sorted(found), buried[1..4]);
    assert_eq!(ids(&fixture.store, &fixture.store.own_dead(), 9).await, [buried[4], buried[0]]);
}

pub async fn a_letter_is_revived_once_by_many_at_a_time(fixture: Fixture) {
    bury(&fixture, &fixture.store, 3).await;
    let revivals = (0..4).map(|n| {
        let side = if n % 2 == 0 { &fixture.store } else { &fixture.rival };
        let side = side.clone();
        tokio::spawn(async move { side.revive(&side.own_dead()).await })
    });
    let revived: u64 = join_all(revivals).await.into_iter().map(|r| r.expect("a revival")).sum();
    assert_eq!((revived, fixture.store.take_all().await.len()), (3, 3));
}

pub async fn a_purged_letter_is_gone_for_good(fixture: Fixture) {
    bury(&fixture, &fixture.store, 1).await;
    assert_eq!(fixture.rival.purge(&fixture.rival.own_dead()).await, 1);
    assert_eq!(fixture.store.dead().await, []);
    assert_eq!(fixture.store.revive(&fixture.store.own_dead()).await, 0);
    assert_eq!(fixture.store.status().await, None);
    fixture.store.finds_nothing().await;
}

pub async fn purge_says_how_many_and_leaves_the_rest(fixture: Fixture) {
    let old = bury(&fixture, &fixture.store, 3).await;
    fixture.advance(Duration::from_secs(3600)).await;
    let young = bury(&fixture, &fixture.store, 2).await;
    let filter = DeadLetterFilter { dead_for: Some(Duration::from_secs(1800)), ..fixture.store.own_dead() };
    assert_eq!((old.len() as u64, fixture.rival.purge(&filter).await), (3, 3));
    assert_eq!(sorted(ids(&fixture.store, &fixture.store.own_dead(), 9).await), young);
}

pub async fn many_letters_are_revived_in_one_call(fixture: Fixture) {
    let buried = bury(&fixture, &fixture.store, 300).await;
    let filter = DeadLetterFilter { ids: buried.clone(), ..DeadLetterFilter::default() };
    assert_eq!(fixture.rival.revive(&filter).await, 300);
    let found = fixture.store.take_all().await.iter().map(|c| c.message.id).collect();
    assert_eq!(sorted(found), buried);
}

pub async fn nothing_else_leaves_the_dead_letters(fixture: Fixture) {
    fixture.enqueue(1).await;
    let claimed = fixture.store.take_one().await;
    let _ = fixture.store.bury(&claimed, "no").await;
    let _ = fixture.store.ack(&claimed).await;
    let _ = fixture.store.release(&claimed).await;
    let _ = fixture.store.renew(&claimed.receipt, LEASE).await;
    fixture.advance(Duration::from_secs(400 * 86_400)).await;
    fixture.rival.take_all().await;
    assert_eq!(fixture.rival.dead().await.len(), 1);
}

pub async fn pages_name_each_letter_once_whatever_leaves_meanwhile(fixture: Fixture) {
    let mut buried = bury(&fixture, &fixture.store, 7).await;
    buried.reverse();
    let (own, letters) = (fixture.store.own_dead(), &fixture.rival.ports.dead_letters);
    let (mut named, mut after) = (Vec::new(), None);
    loop {
        let page = letters.page(&own, after, 2).await.expect("a page");
        assert!(page.letters.len() <= 2, "{page:?}");
        // The letter at whose place the list is read on leaves, and another one dies.
        if let Some(last) = page.letters.last() {
            let last = DeadLetterFilter { ids: vec![last.id], ..DeadLetterFilter::default() };
            assert_eq!(fixture.rival.purge(&last).await, 1);
            bury(&fixture, &fixture.store, 1).await;
        }
        named.extend(page.letters.iter().map(|letter| letter.id));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(named, buried);
    let listed = letters.page(&own, None, 1).await.expect("a page").letters;
    let whole = letters.list(&own, 1).await.expect("a list");
    assert_eq!((listed[0].id, &listed[0].queue), (whole[0].message.id, &whole[0].message.queue));
    assert_eq!((listed[0].attempts, &listed[0].reason), (whole[0].attempts, &whole[0].reason));
    assert_eq!(listed[0].dead_for, whole[0].dead_for);
}

pub async fn a_page_of_all_queues_is_in_one_order(fixture: Fixture) {
    let elsewhere = fixture.store.on(&Fixture::fresh_queue());
    let mut buried = Vec::new();
    for n in 0..6 {
        let by = if n % 2 == 0 { &fixture.store } else { &elsewhere };
        buried.extend(bury(&fixture, by, 1).await);
    }
    let (all, letters) = (DeadLetterFilter::default(), &fixture.rival.ports.dead_letters);
    let (mut named, mut after) = (Vec::new(), None);
    while named.len() < 100_000 {
        let page = letters.page(&all, after, 4).await.expect("a page");
        named.extend(page.letters.iter().map(|letter| letter.id));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    named.retain(|id| buried.contains(id));
    buried.reverse();
    assert_eq!(named, buried);
    let given = DeadLetterFilter { ids: buried.clone(), ..DeadLetterFilter::default() };
    assert_eq!(ids(&fixture.rival, &given, 5).await, buried[..5]);
}

pub async fn a_count_is_exact_up_to_its_limit(fixture: Fixture) {
    let buried = bury(&fixture, &fixture.store, 5).await;
    let (own, letters) = (fixture.store.own_dead(), &fixture.rival.ports.dead_letters);
    let named = DeadLetterFilter { ids: buried[..2].to_vec(), ..own.clone() };
    let old = DeadLetterFilter { dead_for: Some(Duration::from_secs(60)), ..own.clone() };
    let for_nothing = DeadLetterFilter { reason: Some(Reason::new("for nothing")), ..own.clone() };
    for (filter, most, expected) in
        [(&own, 9, 5), (&own, 3, 3), (&own, 0, 0), (&named, 9, 2), (&old, 9, 0), (&for_nothing, 9, 0)]
    {
        assert_eq!(letters.count(filter, most).await.expect("a count"), expected, "{filter:?}");
    }
    assert!(letters.count(&DeadLetterFilter::default(), u64::MAX).await.expect("a count") >= 5);
}

pub async fn letters_are_chosen_and_grouped_by_their_reason(fixture: Fixture) {
    fixture.enqueue(5).await;
    let claimed = fixture.store.take(5).await;
    for (claimed, why) in claimed.iter().zip(["busy", "gone", "busy", "busy", "gone"]) {
        let _ = fixture.store.bury(claimed, why).await;
        fixture.advance(STEP).await;
    }
    let (own, letters) = (fixture.store.own_dead(), &fixture.rival.ports.dead_letters);
    let found = letters.groups(&own, 100).await.expect("groups");
    let counted = |found: &[DeadLetterGroup]| {
        found.iter().map(|group| (group.reason.as_str().to_owned(), group.letters)).collect::<Vec<_>>()
    };
    assert_eq!(counted(&found.groups), [("busy".to_owned(), 3), ("gone".to_owned(), 2)]);
    assert!(found.is_complete && found.groups[0].newest < found.groups[0].oldest, "{found:?}");
    let newest = letters.groups(&own, 1).await.expect("groups");
    assert_eq!((counted(&newest.groups), newest.is_complete), (vec![("gone".to_owned(), 1)], false));
    let gone = DeadLetterFilter { reason: Some(Reason::new("gone")), ..own.clone() };
    assert_eq!(letters.count(&gone, 9).await.expect("a count"), 2);
    assert_eq!(ids(&fixture.rival, &gone, 9).await.len(), 2);
    assert_eq!(fixture.rival.purge(&gone).await, 2);
    assert_eq!(fixture.rival.revive(&gone).await, 0);
    assert_eq!(letters.count(&own, 9).await.expect("a count"), 3);
}

const STEP: Duration = Duration::from_micros(1);

/// Buries messages one microsecond after the other and says which, oldest first.
async fn bury(fixture: &Fixture, by: &Instance, count: usize) -> Vec<MessageId> {
    let messages: Vec<_> =
        (0..count).map(|_| NewMessage { queue: by.queue().clone(), ..fixture.message() }).collect();
    by.enqueue(&messages).await;
    let mut claimed = by.take(count).await;
    claimed.sort_by_key(|c| c.message.id);
    for claimed in &claimed {
        let _ = by.bury(claimed, "no").await;
        fixture.advance(STEP).await;
    }
    claimed.iter().map(|c| c.message.id).collect()
}

fn of_queue(queue: &QueueName) -> DeadLetterFilter {
    DeadLetterFilter { queue: Some(queue.clone()), ..DeadLetterFilter::default() }
}

async fn ids(instance: &Instance, filter: &DeadLetterFilter, limit: u32) -> Vec<MessageId> {
    let dead = instance.ports.dead_letters.list(filter, limit).await.expect("list");
    dead.into_iter().map(|dead| dead.message.id).collect()
}

fn sorted(mut ids: Vec<MessageId>) -> Vec<MessageId> {
    ids.sort();
    ids
}
