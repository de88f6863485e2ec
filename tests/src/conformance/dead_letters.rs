use std::time::Duration;

use claimstream_domain::{DeadLetterFilter, MessageId, NewMessage, QueueName, Reason};
use futures::future::join_all;

use super::{Clause, clauses};
use crate::{Instance, LEASE, Stage};

pub const CLAUSES: &[Clause<Stage>] = clauses!["dead_letters":
    a_dead_letter_tells_what_why_how_often_and_how_long_ago,
    the_newest_come_first_and_at_most_the_limit,
    a_filter_by_queue_finds_only_that_queue,
    a_filter_by_ids_finds_only_those,
    a_filter_by_age_is_exact_to_the_microsecond,
    a_filter_means_all_its_parts_together,
    an_empty_filter_means_every_queue,
    a_revived_message_is_due_at_once_with_no_attempts_counted,
    a_revived_message_has_left_the_dead_letters,
    a_revived_message_can_die_again,
    revive_says_how_many_and_leaves_the_rest,
    a_letter_is_revived_once_by_many_at_a_time,
    a_purged_letter_is_gone_for_good,
    purge_says_how_many_and_leaves_the_rest,
    many_letters_are_revived_in_one_call,
    nothing_else_leaves_the_dead_letters,
];

pub async fn a_dead_letter_tells_what_why_how_often_and_how_long_ago(stage: Stage) {
    let sent = stage.message();
    stage.store.enqueue(std::slice::from_ref(&sent)).await;
    stage.store.take_one().await;
    stage.advance(LEASE).await;
    let claimed = stage.store.take_one().await;
    let _ = stage.store.bury(&claimed, "cannot be read").await;
    stage.advance(Duration::from_micros(5_000_003)).await;
    let dead = stage.rival.dead().await;
    assert_eq!(dead.len(), 1);
    assert_eq!(dead[0].message, claimed.message);
    assert_eq!(dead[0].message.payload, sent.payload);
    assert_eq!((dead[0].attempts, &dead[0].reason), (2, &Reason::new("cannot be read")));
    assert_eq!(dead[0].dead_for, Duration::from_micros(5_000_003));
}

pub async fn the_newest_come_first_and_at_most_the_limit(stage: Stage) {
    let mut buried = bury(&stage, &stage.store, 4).await;
    buried.reverse();
    assert_eq!(ids(&stage.rival, &stage.rival.own_dead(), 1000).await, buried);
    assert_eq!(ids(&stage.rival, &stage.rival.own_dead(), 3).await, buried[..3]);
    assert_eq!(ids(&stage.rival, &stage.rival.own_dead(), 1).await, buried[..1]);
}

pub async fn a_filter_by_queue_finds_only_that_queue(stage: Stage) {
    let elsewhere = stage.store.on(&Stage::fresh_queue());
    let (here, there) = (bury(&stage, &stage.store, 2).await, bury(&stage, &elsewhere, 1).await);
    assert_eq!(sorted(ids(&stage.rival, &stage.rival.own_dead(), 9).await), here);
    assert_eq!(sorted(ids(&stage.rival, &elsewhere.own_dead(), 9).await), there);
    assert_eq!(ids(&stage.rival, &of_queue(&Stage::fresh_queue()), 9).await, []);
}

pub async fn a_filter_by_ids_finds_only_those(stage: Stage) {
    let buried = bury(&stage, &stage.store, 4).await;
    let unknown = stage.message().id;
    let filter = DeadLetterFilter { ids: vec![buried[3], buried[1], unknown], ..DeadLetterFilter::default() };
    assert_eq!(ids(&stage.rival, &filter, 9).await, [buried[3], buried[1]]);
    let nobody = DeadLetterFilter { ids: vec![unknown], ..DeadLetterFilter::default() };
    assert_eq!(ids(&stage.rival, &nobody, 9).await, []);
}

pub async fn a_filter_by_age_is_exact_to_the_microsecond(stage: Stage) {
    let old = bury(&stage, &stage.store, 1).await;
    let own = stage.store.own_dead();
    stage.advance(Duration::from_secs(60) - STEP).await;
    let aged = |micros| DeadLetterFilter { dead_for: Some(Duration::from_micros(micros)), ..own.clone() };
    assert_eq!(ids(&stage.rival, &aged(60_000_000), 9).await, old);
    assert_eq!(ids(&stage.rival, &aged(60_000_001), 9).await, []);
    assert_eq!(ids(&stage.rival, &aged(0), 9).await, old);
}

pub async fn a_filter_means_all_its_parts_together(stage: Stage) {
    let elsewhere = stage.store.on(&Stage::fresh_queue());
    let old = bury(&stage, &stage.store, 2).await;
    let other = bury(&stage, &elsewhere, 1).await;
    stage.advance(Duration::from_secs(60)).await;
    let young = bury(&stage, &stage.store, 1).await;
    let filter = DeadLetterFilter {
        queue: Some(stage.queue().clone()),
        ids: vec![old[1], other[0], young[0]],
        dead_for: Some(Duration::from_secs(30)),
    };
    assert_eq!(ids(&stage.rival, &filter, 9).await, [old[1]]);
    assert_eq!(stage.rival.revive(&filter).await, 1);
    assert_eq!(stage.rival.purge(&filter).await, 0);
    assert_eq!(stage.rival.take_one().await.message.id, old[1]);
}

pub async fn an_empty_filter_means_every_queue(stage: Stage) {
    let elsewhere = stage.store.on(&Stage::fresh_queue());
    let here = bury(&stage, &stage.store, 1).await;
    let there = bury(&stage, &elsewhere, 1).await;
    let all = ids(&stage.rival, &DeadLetterFilter::default(), 100_000).await;
    assert!(all.contains(&here[0]) && all.contains(&there[0]), "{all:?}");
}

pub async fn a_revived_message_is_due_at_once_with_no_attempts_counted(stage: Stage) {
    let sent = stage.message();
    stage.store.enqueue(std::slice::from_ref(&sent)).await;
    let claimed = stage.store.take_one().await;
    let _ = stage.store.bury(&claimed, "no").await;
    stage.advance(Duration::from_secs(7)).await;
    assert_eq!(stage.rival.revive(&stage.rival.own_dead()).await, 1);
    let status = stage.rival.status().await.expect("the queue holds a message");
    assert_eq!((status.due, status.dead, status.oldest), (1, 0, Some(Duration::ZERO)));
    let revived = stage.store.take_one().await;
    assert_eq!((revived.attempt, &revived.message), (1, &claimed.message));
}

pub async fn a_revived_message_has_left_the_dead_letters(stage: Stage) {
    bury(&stage, &stage.store, 1).await;
    assert_eq!(stage.rival.revive(&stage.rival.own_dead()).await, 1);
    assert_eq!(stage.rival.dead().await, []);
    assert_eq!(stage.rival.revive(&stage.rival.own_dead()).await, 0);
    assert_eq!(stage.store.take_all().await.len(), 1);
}

pub async fn a_revived_message_can_die_again(stage: Stage) {
    let buried = bury(&stage, &stage.store, 1).await;
    stage.rival.revive(&stage.rival.own_dead()).await;
    let claimed = stage.store.take_one().await;
    let _ = stage.store.bury(&claimed, "still no").await;
    let dead = stage.rival.dead().await;
    assert_eq!((dead.len(), dead[0].message.id, dead[0].attempts), (1, buried[0], 1));
    assert_eq!(dead[0].reason, Reason::new("still no"));
}

pub async fn revive_says_how_many_and_leaves_the_rest(stage: Stage) {
    let buried = bury(&stage, &stage.store, 5).await;
    let filter = DeadLetterFilter { ids: buried[1..4].to_vec(), ..stage.store.own_dead() };
    assert_eq!(stage.rival.revive(&filter).await, 3);
    let found = stage.store.take_all().await.iter().map(|c| c.message.id).collect();
    assert_eq!(sorted(found), buried[1..4]);
    assert_eq!(ids(&stage.store, &stage.store.own_dead(), 9).await, [buried[4], buried[0]]);
}

pub async fn a_letter_is_revived_once_by_many_at_a_time(stage: Stage) {
    bury(&stage, &stage.store, 3).await;
    let revivals = (0..4).map(|n| {
        let side = if n % 2 == 0 { &stage.store } else { &stage.rival };
        let side = side.clone();
        tokio::spawn(async move { side.revive(&side.own_dead()).await })
    });
    let revived: u64 = join_all(revivals).await.into_iter().map(|r| r.expect("a revival")).sum();
    assert_eq!((revived, stage.store.take_all().await.len()), (3, 3));
}

pub async fn a_purged_letter_is_gone_for_good(stage: Stage) {
    bury(&stage, &stage.store, 1).await;
    assert_eq!(stage.rival.purge(&stage.rival.own_dead()).await, 1);
    assert_eq!(stage.store.dead().await, []);
    assert_eq!(stage.store.revive(&stage.store.own_dead()).await, 0);
    assert_eq!(stage.store.status().await, None);
    stage.store.finds_nothing().await;
}

pub async fn purge_says_how_many_and_leaves_the_rest(stage: Stage) {
    let old = bury(&stage, &stage.store, 3).await;
    stage.advance(Duration::from_secs(3600)).await;
    let young = bury(&stage, &stage.store, 2).await;
    let filter = DeadLetterFilter { dead_for: Some(Duration::from_secs(1800)), ..stage.store.own_dead() };
    assert_eq!((old.len() as u64, stage.rival.purge(&filter).await), (3, 3));
    assert_eq!(sorted(ids(&stage.store, &stage.store.own_dead(), 9).await), young);
}

pub async fn many_letters_are_revived_in_one_call(stage: Stage) {
    let buried = bury(&stage, &stage.store, 300).await;
    let filter = DeadLetterFilter { ids: buried.clone(), ..DeadLetterFilter::default() };
    assert_eq!(stage.rival.revive(&filter).await, 300);
    let found = stage.store.take_all().await.iter().map(|c| c.message.id).collect();
    assert_eq!(sorted(found), buried);
}

pub async fn nothing_else_leaves_the_dead_letters(stage: Stage) {
    stage.enqueue(1).await;
    let claimed = stage.store.take_one().await;
    let _ = stage.store.bury(&claimed, "no").await;
    let _ = stage.store.ack(&claimed).await;
    let _ = stage.store.release(&claimed).await;
    let _ = stage.store.renew(&claimed.receipt, LEASE).await;
    stage.advance(Duration::from_secs(400 * 86_400)).await;
    stage.rival.take_all().await;
    assert_eq!(stage.rival.dead().await.len(), 1);
}

const STEP: Duration = Duration::from_micros(1);

/// Buries messages one microsecond after the other and says which, oldest first.
async fn bury(stage: &Stage, by: &Instance, count: usize) -> Vec<MessageId> {
    let messages: Vec<_> =
        (0..count).map(|_| NewMessage { queue: by.queue().clone(), ..stage.message() }).collect();
    by.enqueue(&messages).await;
    let mut claimed = by.take(count).await;
    claimed.sort_by_key(|c| c.message.id);
    for claimed in &claimed {
        let _ = by.bury(claimed, "no").await;
        stage.advance(STEP).await;
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
