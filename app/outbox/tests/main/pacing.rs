//! When the stream claims.
//! Promise: a wakeup during a claim is not missed

use std::{sync::Arc, time::Duration};

use claimstream::{
    Compose, Enqueued, Hint, LocalWakeup, NewMessage, Pacing, Relay, RelayConfig, StoreErrorKind, Timer,
    Verdict, Wakeup, handler_fn,
};
use claimstream_ports::mock::HandTimer;
use futures::{StreamExt, executor::block_on};
use proptest::prelude::*;

use crate::{
    play::{Answer, Bench, ClaimCall, Play, accepted, queue},
    slow_store::SlowStore,
};

/// Acks whatever comes, at once, until `calls` claim calls were made.
fn claim_calls(play: &Play, config: RelayConfig, calls: usize) -> Vec<ClaimCall> {
    let mut bench = Bench::default();
    let claims = play.relay(config).claims("orders").unwrap();
    let _task = bench.start(claims.for_each_concurrent(None, |claim| async move {
        if let Ok(claim) = claim {
            accepted(claim.ack().await);
        }
    }));
    bench.settle();
    while play.stage().claims.len() < calls {
        assert!(play.timer.advance_to_next());
        bench.settle();
    }
    play.stage().claims.clone()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) })]

    #[test]
    fn a_full_batch_is_followed_at_once_and_any_other_after_a_wait_within_bounds(
        answers in prop::collection::vec(
            prop_oneof![
                Just(Answer::Full),
                (0..3_usize).prop_map(|n| Answer::Messages(vec![1; n])),
                Just(Answer::Fails(StoreErrorKind::Transient)),
                Just(Answer::Fails(StoreErrorKind::Corrupt)),
            ],
            0..40,
        ),
        idle_min in 1..100_u64, more in 0..10_000_u64,
    ) {
        let pacing = Pacing {
            idle_min: Duration::from_millis(idle_min),
            idle_max: Duration::from_millis(idle_min + more),
        };
        let config = RelayConfig { batch: 4, prefetch: 8, pacing: pacing.clone(), ..RelayConfig::default() };
        let calls = claim_calls(&Play::new(answers.clone()), config, answers.len() + 5);
        for pair in calls.windows(2) {
            let gap = pair[1].at - pair[0].at;
            if pair[0].found == Some(pair[0].asked) {
                prop_assert_eq!(gap, Duration::ZERO);
            } else {
                prop_assert!(gap >= pacing.idle_min && gap <= pacing.idle_max, "{:?}", gap);
            }
        }
    }
}

#[test]
fn an_empty_queue_is_asked_ever_less_often() {
    let calls = claim_calls(&Play::default(), RelayConfig::default(), 15);
    let last = calls[14].at - calls[13].at;
    assert!(last >= Duration::from_millis(2500), "{last:?}");
}

#[test]
fn instances_wait_differently() {
    let at = || claim_calls(&Play::default(), RelayConfig::default(), 8).last().unwrap().at;
    assert_ne!(at(), at());
}

/// Guard: many wakeups that find nothing are delayed | src/wakeup/listener.rs `wait`: never
#[test]
fn a_wakeup_cuts_the_wait_but_not_right_after_several_in_vain() {
    let (play, wakeup) = (Play::default(), Arc::new(LocalWakeup::new()));
    let mut bench = Bench::default();
    let relay = play.relay(RelayConfig::default()).with_wakeup(Arc::clone(&wakeup) as _);
    let _task = bench.start(relay.claims("orders").unwrap().for_each(|_| async {}));
    bench.pass(&play.timer, Duration::from_secs(60));
    let rest = play.stage().claims.len() + 1;
    while play.stage().claims.len() < rest {
        bench.pass(&play.timer, Duration::from_millis(5));
    }

    bench.pass(&play.timer, Duration::from_millis(100));
    assert_eq!(play.stage().claims.len(), rest);
    let heard = Pacing::FRUITLESS_WAKEUPS as usize + 1;
    for n in 1..=heard {
        block_on(wakeup.wake(&queue())).unwrap();
        bench.settle();
        assert_eq!(play.stage().claims.len(), rest + n, "at once");
    }

    for _ in 0..100 {
        block_on(wakeup.wake(&queue())).unwrap();
        bench.settle();
    }
    assert_eq!(play.stage().claims.len(), rest + heard, "asked in vain again and again");
    let asked = play.timer.now();
    bench.pass(&play.timer, Duration::from_millis(20));
    assert_eq!(play.stage().claims.len(), rest + heard + 1, "and still heard");
    assert_eq!(play.stage().claims[rest + heard].at, asked + Duration::from_millis(20));
}

/// What a wakeup was rung for may have been committed after the claim under way has looked.
/// Guard: a wakeup that found nothing does not delay the next | src/wakeup/listener.rs `wait`: delayed after
/// the first
#[test]
fn a_wakeup_during_a_claim_that_a_wakeup_led_to_is_followed_by_a_claim_at_once() {
    let (store, timer, mut bench) = (SlowStore::default(), HandTimer::default(), Bench::default());
    let wakeup = Arc::new(LocalWakeup::new());
    let relay = Relay::new(Arc::new(store.clone()), timer.clone(), RelayConfig::default());
    let relay = relay.with_wakeup(Arc::clone(&wakeup) as _);
    let _task = bench.start(relay.claims("orders").unwrap().for_each(|_| async {}));
    bench.settle();
    store.bring([]);
    bench.settle();
    for _ in 0..3 {
        block_on(wakeup.wake(&queue())).unwrap();
        bench.settle();
        assert_eq!(store.waiting().0, 1, "not woken");
        block_on(wakeup.wake(&queue())).unwrap();
        bench.settle();
        store.bring([]);
        bench.settle();
        assert_eq!(store.waiting().0, 1, "slept over a wakeup that came during the claim");
        store.bring([1]);
        bench.settle();
        assert_eq!(store.waiting().0, 0, "a wakeup is heard once");
    }
}

/// The claim looks after the wakeup was rung, so it finds what the wakeup was rung for.
/// Guard: wakeups are noticed from before the claim on | src/wakeup/listener.rs `listen`: the wait is not
/// polled
#[test]
fn a_wakeup_before_a_claim_is_answered_by_that_claim() {
    let (store, timer, mut bench) = (SlowStore::default(), HandTimer::default(), Bench::default());
    let wakeup = Arc::new(LocalWakeup::new());
    let relay = Relay::new(Arc::new(store.clone()), timer.clone(), RelayConfig::default());
    let relay = relay.with_wakeup(Arc::clone(&wakeup) as _);
    block_on(wakeup.wake(&queue())).unwrap();
    let _task = bench.start(relay.claims("orders").unwrap().for_each(|_| async {}));
    bench.settle();
    store.bring([1]);
    bench.settle();
    assert_eq!(store.waiting().0, 0, "claimed again for what was claimed already");
    timer.advance(Duration::from_millis(10));
    block_on(wakeup.wake(&queue())).unwrap();
    bench.settle();
    assert_eq!(store.waiting().0, 1, "deaf after a claim for a wakeup");
}

/// Two relays of one process, of which one is at work while the other hears the wakeup.
#[test]
fn a_wakeup_that_another_relay_has_heard_is_heard_by_one_that_was_claiming() {
    let (store, timer, mut bench) = (SlowStore::default(), HandTimer::default(), Bench::default());
    let wakeup = Arc::new(LocalWakeup::new());
    let relay = Relay::new(Arc::new(store.clone()), timer.clone(), RelayConfig::default());
    let relay = relay.with_wakeup(Arc::clone(&wakeup) as _);
    let _resting = bench.start(relay.claims("orders").unwrap().for_each(|_| async {}));
    bench.settle();
    store.bring([]);
    bench.settle();
    let _claiming = bench.start(relay.claims("orders").unwrap().for_each(|_| async {}));
    bench.settle();
    block_on(wakeup.wake(&queue())).unwrap();
    bench.settle();
    assert_eq!(store.waiting().0, 2, "one still claims, the other one was woken");
    store.bring([]);
    bench.settle();
    assert_eq!(store.waiting().0, 2, "the one that was claiming has missed the wakeup");
}

#[test]
fn after_a_claim_in_vain_that_nobody_asked_for_a_wakeup_is_heard_at_once() {
    let (play, wakeup) = (Play::new([Answer::Messages(vec![1])]), Arc::new(LocalWakeup::new()));
    let mut bench = Bench::default();
    let relay = play.relay(RelayConfig::default()).with_wakeup(Arc::clone(&wakeup) as _);
    let _task = bench.start(relay.claims("orders").unwrap().for_each(|_| async {}));
    bench.pass(&play.timer, Duration::from_millis(30));
    let calls = play.stage().claims.len();
    assert_eq!(play.stage().claims[calls - 1].found, Some(0), "the relay's own look");
    block_on(wakeup.wake(&queue())).unwrap();
    bench.settle();
    assert_eq!(play.stage().claims.len(), calls + 1);
}

#[test]
fn after_a_claim_that_brought_something_a_wakeup_is_heard_at_once() {
    let (play, wakeup) =
        (Play::new([Answer::Messages(vec![1]), Answer::Messages(vec![1])]), LocalWakeup::new());
    let wakeup = Arc::new(wakeup);
    let mut bench = Bench::default();
    let relay = play.relay(RelayConfig::default()).with_wakeup(Arc::clone(&wakeup) as _);
    let _task = bench.start(relay.claims("orders").unwrap().for_each(|_| async {}));
    bench.settle();
    assert_eq!(play.stage().claims.len(), 1);
    block_on(wakeup.wake(&queue())).unwrap();
    bench.settle();
    assert_eq!(play.stage().claims.len(), 2);
}

#[test]
fn what_a_handler_gives_back_is_not_claimed_again_and_again_without_a_rest() {
    let play = Play::new(vec![Answer::Full; 10_000]);
    let config = RelayConfig { batch: 4, prefetch: 8, concurrency: 8, ..RelayConfig::default() };
    let pipeline = play.relay(config).pipeline("orders", handler_fn(|_| async { Verdict::Release })).unwrap();
    let mut bench = Bench::default();
    let _task = bench.start(pipeline.run_until(futures::future::pending()));
    bench.pass(&play.timer, Duration::from_secs(60));
    let claims = play.stage().claims.len();
    assert!((20..60).contains(&claims), "{claims} claims in a minute");
}

#[test]
fn a_relay_that_has_been_idle_for_ten_seconds_claims_less_than_every_other_second() {
    let play = Play::default();
    let mut bench = Bench::default();
    let relay = play.relay(RelayConfig::default()).with_wakeup(Arc::new(LocalWakeup::new()));
    let _task = bench.start(relay.claims("orders").unwrap().for_each(|_| async {}));
    bench.pass(&play.timer, Duration::from_secs(10));
    let before = play.stage().claims.len();
    bench.pass(&play.timer, Duration::from_secs(100));
    let claims = play.stage().claims.len() - before;
    // From half the longest wait to all of it.
    assert!((20..=40).contains(&claims), "{claims} claims in 100 seconds");
}

/// Messages come at any time, also while the one before is handled, and everybody's commit is followed by a hint.
#[test]
fn what_is_enqueued_in_the_same_process_is_claimed_without_a_wait() {
    let (play, wakeup) = (Play::default(), Arc::new(LocalWakeup::new()));
    let mut bench = Bench::default();
    let relay = play.relay(RelayConfig::default()).with_wakeup(Arc::clone(&wakeup) as _);
    let _task = bench.start(relay.claims("orders").unwrap().for_each_concurrent(None, |claim| async move {
        if let Ok(claim) = claim {
            accepted(claim.ack().await);
        }
    }));
    bench.pass(&play.timer, Duration::from_secs(60));
    let mut waits = Vec::new();
    for n in 0..200_u64 {
        bench.pass(&play.timer, Duration::from_millis(5 + n * 37 % 200));
        let (at, known) = (play.timer.now(), play.stage().claims.len());
        play.stage().answers.push_back(Answer::Messages(vec![1]));
        let message = NewMessage::json("orders", &n).unwrap();
        block_on(Hint::of(&[message], vec![Enqueued::New]).wake(&*wakeup));
        bench.settle();
        while !play.stage().answers.is_empty() {
            assert!(play.timer.advance_to_next());
            bench.settle();
        }
        let claims = play.stage().claims.clone();
        let found = claims[known..].iter().find(|claim| claim.found == Some(1)).unwrap();
        waits.push(found.at - at);
    }
    waits.sort();
    let (median, last) = (waits[100], waits[199]);
    assert!(last.is_zero(), "{median:?}, {last:?}");
}
