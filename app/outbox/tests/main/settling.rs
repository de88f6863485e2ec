//! How claims are settled.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use claimstream::{
    Claim, Compose, LocalWakeup, NewMessage, QueueName, Relay, RelayConfig, Settled, StoreError, Timer,
    Verdict, Wakeup,
};
use claimstream_domain::Disposition;
use claimstream_ports::mock::HandTimer;
use futures::{
    FutureExt, StreamExt,
    executor::block_on,
    future::{join_all, pending},
    stream,
};
use proptest::prelude::*;

use crate::taken::{taken, wide};
use crate::{
    play::{Answer, Bench, Play, SettleAnswer, accepted, id, of},
    slow_store::SlowStore,
};

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) })]

    #[test]
    fn each_waiter_gets_the_answer_of_its_own_receipt(
        count in 1..60_usize,
        settle_batch in 1..20_u32,
        superseded in prop::collection::btree_set(1..60_u128, 0..30),
        order in prop::collection::vec(any::<u32>(), 60),
    ) {
        let play = Play::new([Answer::Messages(vec![1; count])]);
        play.stage().superseded = superseded.iter().map(|n| id(*n)).collect();
        let mut bench = Bench::default();
        let (_claims, mut taken) = taken(&play, &mut bench, RelayConfig { settle_batch, ..wide() }, count);
        taken.sort_by_key(|claim| order[(claim.message().id.uuid().as_u128() - 1) as usize]);
        let (timer, mut tasks) = (play.timer.clone(), Vec::new());
        for (n, claim) in taken.into_iter().enumerate() {
            let (timer, message) = (timer.clone(), claim.message().id);
            tasks.push(bench.start(async move {
                timer.sleep(Duration::from_millis(u64::from(order_delay(n)))).await;
                (message, claim.nack(format!("because of {message}")).await.unwrap())
            }));
        }
        for task in tasks {
            let (message, settled) = bench.finish(&timer, task);
            let lost = superseded.contains(&message.uuid().as_u128());
            prop_assert_eq!(settled, if lost { Settled::Superseded } else { Settled::Accepted });
        }
        let settled = play.settled();
        prop_assert_eq!(settled.len(), count);
        for settlement in settled {
            let Disposition::Retry { reason, .. } = settlement.disposition else { panic!("not a nack") };
            prop_assert_eq!(reason.as_str(), format!("because of {}", settlement.receipt.message));
        }
    }
}

fn order_delay(n: usize) -> u8 {
    (n * 7 % 23) as u8
}

#[test]
fn many_instant_acks_at_a_time_are_written_in_full_batches() {
    let play = Play::new(vec![Answer::Full; 10]);
    let mut bench = Bench::default();
    let claims = play.relay(RelayConfig::default()).claims("orders").unwrap();
    let _task = bench.start(claims.for_each_concurrent(100, |claim| async move {
        accepted(claim.unwrap().ack().await);
    }));
    bench.settle();
    let batches = play.batches();
    assert_eq!(batches, [100; 10]);
    assert_eq!(play.timer.now(), Duration::ZERO, "nobody waited for the age of a batch");
}

#[test]
fn one_ack_at_a_time_waits_for_nobody() {
    let play = Play::new([Answer::Messages(vec![1; 50])]);
    let mut bench = Bench::default();
    let mut claims = play.relay(RelayConfig::default()).claims("orders").unwrap();
    let task = bench.start(async move {
        for _ in 0..50 {
            accepted(claims.next().await.unwrap().unwrap().ack().await);
        }
    });
    bench.settle();
    assert!(task.is_done());
    assert_eq!((play.batches(), play.timer.now()), (vec![1; 50], Duration::ZERO));
}

#[test]
fn an_ack_waits_for_others_no_longer_than_the_age() {
    let play = Play::new([Answer::Messages(vec![1, 1])]);
    let mut bench = Bench::default();
    let (_claims, mut taken) = taken(&play, &mut bench, wide(), 2);
    let _idle = taken.pop();
    let task = bench.start(taken.pop().unwrap().ack());
    bench.settle();
    assert!(!task.is_done(), "the other claim might still join");
    accepted(bench.finish(&play.timer, task));
    assert_eq!(play.timer.now(), Duration::from_millis(10));
}

#[test]
fn a_full_batch_does_not_wait() {
    let play = Play::new([Answer::Messages(vec![1; 5])]);
    let mut bench = Bench::default();
    let (_claims, mut taken) = taken(&play, &mut bench, RelayConfig { settle_batch: 2, ..wide() }, 5);
    let _idle = taken.pop();
    let task = bench.start(join_all(taken.into_iter().map(Claim::ack)));
    bench.settle();
    assert!(task.is_done());
    assert_eq!(play.batches(), [2, 2]);
}

#[test]
fn what_is_known_of_a_batch_is_answered_and_the_rest_is_asked_again() {
    let play = Play::new([Answer::Messages(vec![1; 3])]);
    play.stage().settle_answers.extend([SettleAnswer::Knows(1), SettleAnswer::Knows(0)]);
    let mut bench = Bench::default();
    let (_claims, mut taken) = taken(&play, &mut bench, RelayConfig { settle_batch: 3, ..wide() }, 3);
    let first = bench.start(taken.remove(0).ack());
    let others = bench.start(join_all(taken.into_iter().map(Claim::ack)));
    bench.settle();
    assert_eq!(play.batches(), [3]);
    accepted(first.take().expect("its outcome is known"));
    assert!(!others.is_done());
    bench.finish(&play.timer, others).into_iter().for_each(accepted);
    assert_eq!(play.batches(), [3, 2, 2]);
}

#[test]
fn a_waiter_that_is_dropped_does_not_stall_the_others() {
    let play = Play::new([Answer::Messages(vec![1; 3])]);
    let mut bench = Bench::default();
    let (mut claims, mut taken) = taken(&play, &mut bench, wide(), 3);
    let _idle = taken.pop();
    let mut impatient = taken.pop().unwrap().ack().boxed();
    assert!((&mut impatient).now_or_never().is_none());
    let patient = bench.start(taken.pop().unwrap().ack());
    bench.settle();
    drop(impatient);
    assert_eq!(bench.finish(&play.timer, patient).unwrap(), Settled::Accepted);
    assert_eq!(play.batches(), [2], "the impatient one was in the batch already");
    play.stage().answers.push_back(Answer::Messages(vec![1]));
    let next = bench.start(async move { claims.next().await.unwrap().unwrap().message().id });
    assert_eq!(bench.finish(&play.timer, next), id(4));
}

#[test]
fn each_way_to_settle_says_what_it_means() {
    let play = Play::new([Answer::Messages(vec![1, 1, 1, 1, 1, 1, 20])]);
    let mut bench = Bench::default();
    let (_claims, taken) = taken(&play, &mut bench, wide(), 7);
    let child = NewMessage::json("mails", &"dear").unwrap();
    let emitted = child.clone();
    let [ack, emit, nack, later, bury, release, last]: [Claim; 7] = taken.try_into().unwrap();
    let task = bench.start(async move {
        let not_send: Box<dyn std::error::Error> = "no".into();
        let settled = join_all([
            ack.ack().boxed(),
            emit.ack_emitting(vec![emitted]).boxed(),
            nack.nack(not_send).boxed(),
            later.nack_after(Duration::from_secs(7), "busy").boxed(),
            bury.bury("never").boxed(),
            release.release().boxed(),
            last.settle(Verdict::nack("the last time")).boxed(),
        ]);
        settled.await.into_iter().all(|settled| settled.is_ok_and(|settled| settled == Settled::Accepted))
    });
    assert!(bench.finish(&play.timer, task));
    let by_message: BTreeMap<_, _> =
        play.settled().into_iter().map(|s| (s.receipt.message.uuid().as_u128(), s.disposition)).collect();
    assert_eq!(by_message[&1], Disposition::Done { emit: vec![] });
    assert_eq!(by_message[&2], Disposition::Done { emit: vec![child] });
    assert!(matches!(&by_message[&3], Disposition::Retry { after, reason }
        if reason.as_str() == "no" && *after <= Duration::from_secs(2)));
    assert!(matches!(&by_message[&4], Disposition::Retry { after, .. } if *after == Duration::from_secs(7)));
    assert!(matches!(&by_message[&5], Disposition::Dead { reason, .. } if reason.as_str() == "never"));
    assert_eq!(by_message[&6], Disposition::Returned);
    assert!(
        matches!(&by_message[&7], Disposition::Dead { reason, .. } if reason.as_str() == "the last time")
    );
}

#[test]
fn emitted_children_wake_their_queue_once_they_are_there() {
    let (store, timer, wakeup) = (SlowStore::default(), HandTimer::default(), Arc::new(LocalWakeup::new()));
    let relay = Relay::new(Arc::new(store.clone()), timer, RelayConfig::default())
        .with_wakeup(Arc::clone(&wakeup) as _);
    let mut bench = Bench::default();
    let mut claims = relay.claims("orders").unwrap();
    let child = NewMessage::json("mails", &"dear").unwrap();
    let mails = child.queue.clone();
    let heard = bench.start(async move { wakeup.wait(&mails).await });
    let _task = bench.start(async move {
        let claim = claims.next().await.unwrap().unwrap();
        claim.ack_emitting(vec![child]).await.unwrap()
    });
    bench.settle();
    store.bring([1]);
    bench.settle();
    assert_eq!((store.waiting(), heard.is_done()), ((0, 1, 0), false));
    store.accept();
    bench.settle();
    assert!(heard.is_done());
}

#[test]
fn a_dropped_claim_settles_nothing() {
    let play = Play::new([Answer::Messages(vec![1; 2])]);
    let mut bench = Bench::default();
    let (_claims, taken) = taken(&play, &mut bench, wide(), 2);
    drop(taken);
    bench.settle();
    assert_eq!(of(&play.settled(), |_| true), []);
}

#[test]
fn an_outcome_waits_for_a_wakeup_no_longer_than_for_a_batch() {
    let play = Play::new([Answer::Messages(vec![1])]);
    let mut bench = Bench::default();
    let relay = play.relay(wide()).with_wakeup(Arc::new(Deaf));
    let mut claims = relay.claims("orders").unwrap();
    let child = NewMessage::json("mails", &"dear").unwrap();
    let task = bench.start(async move {
        let settled = claims.next().await.unwrap().unwrap().ack_emitting(vec![child]).await;
        (settled, claims)
    });
    bench.pass(&play.timer, Duration::from_millis(10));
    accepted(task.take().expect("an ack in spite of the wakeup").0);
}

/// A wakeup whose every call hangs.
struct Deaf;

#[async_trait]
impl Wakeup for Deaf {
    async fn wait(&self, _: &QueueName) {
        pending().await
    }

    async fn wake(&self, _: &QueueName) -> Result<(), StoreError> {
        pending().await
    }
}

#[test]
fn many_threads_settle_each_claim_once() {
    const COUNT: usize = 4000;
    let play = Play::new([Answer::Messages(vec![1; COUNT])]);
    let mut bench = Bench::default();
    let config = RelayConfig { batch: COUNT as u32, prefetch: COUNT as u32, ..RelayConfig::default() };
    let (_claims, taken) = taken(&play, &mut bench, config, COUNT);
    let share: Vec<Vec<Claim>> = deal(taken, 4);
    let running = AtomicUsize::new(share.len());
    std::thread::scope(|scope| {
        for claims in share {
            scope.spawn(|| {
                block_on(
                    stream::iter(claims)
                        .for_each_concurrent(50, |claim| async { accepted(claim.ack().await) }),
                );
                running.fetch_sub(1, Ordering::Relaxed);
            });
        }
        while running.load(Ordering::Relaxed) > 0 {
            play.timer.advance(Duration::from_micros(10));
            std::thread::yield_now();
        }
    });
    let mut settled = of(&play.settled(), |_| true);
    settled.sort();
    assert_eq!(settled, (1..=COUNT as u128).map(id).collect::<Vec<_>>());
}

fn deal<T>(items: Vec<T>, hands: usize) -> Vec<Vec<T>> {
    let mut dealt: Vec<Vec<T>> = (0..hands).map(|_| Vec::new()).collect();
    items.into_iter().enumerate().for_each(|(n, item)| dealt[n % hands].push(item));
    dealt
}
