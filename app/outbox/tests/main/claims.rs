//! What is yielded, and how much is held.

use std::{sync::Arc, time::Duration};

use claimstream::{Claim, Pacing, RelayConfig, RelayError, RetryPolicy, Settled, StoreErrorKind};
use claimstream_domain::Disposition;
use claimstream_ports::mock::HandTimer;
use futures::{StreamExt, channel::mpsc};

use crate::{
    play::{Answer, Bench, Play, accepted, id, returned},
    slow_store::SlowStore,
};

const MAX_ATTEMPTS: u32 = 3;

#[test]
fn an_error_that_passes_is_waited_out_and_one_that_does_not_is_yielded() {
    let answers = [
        Answer::Fails(StoreErrorKind::Unavailable),
        Answer::Fails(StoreErrorKind::Corrupt),
        Answer::Fails(StoreErrorKind::Transient),
        Answer::Messages(vec![1]),
    ];
    let play = Play::new(answers);
    let mut bench = Bench::default();
    let mut claims = play.relay(RelayConfig::default()).claims("orders").unwrap();
    let task = bench.start(async move {
        let error = claims.next().await.unwrap().unwrap_err();
        let claim = claims.next().await.unwrap().unwrap();
        (error.kind(), claim.message().id)
    });
    assert_eq!(bench.finish(&play.timer, task), (Some(StoreErrorKind::Corrupt), id(1)));
}

#[test]
fn the_next_batch_is_claimed_before_the_buffer_is_empty() {
    let play = Play::new([Answer::Full, Answer::Full, Answer::Full]);
    let config = RelayConfig { batch: 10, prefetch: 15, ..RelayConfig::default() };
    let mut bench = Bench::default();
    let mut claims = play.relay(config).claims("orders").unwrap();
    let task = bench.start(async move {
        for _ in 0..5 {
            accepted(claims.next().await.unwrap().unwrap().ack().await);
        }
        accepted(claims.next().await.unwrap().unwrap().ack().await);
        claims
    });
    bench.settle();
    assert!(task.is_done());
    let asked: Vec<_> = play.stage().claims.iter().map(|call| call.asked).collect();
    assert_eq!(asked, [10, 5, 5], "room for half a batch is enough to claim again");
}

#[test]
fn a_claim_that_waited_past_its_deadline_is_given_back_and_not_yielded() {
    let play = Play::new([Answer::Messages(vec![1, 1, 1])]);
    let mut bench = Bench::default();
    let mut claims = play.relay(RelayConfig::default()).claims("orders").unwrap();
    let timer = play.timer.clone();
    let task = bench.start(async move {
        let first = claims.next().await.unwrap().unwrap();
        assert_eq!(first.remaining(), Duration::from_millis(28_500), "a lease less a twentieth");
        timer.advance(Duration::from_millis(28_500));
        assert_eq!(first.remaining(), Duration::ZERO);
        assert_eq!(first.ack().await.unwrap(), Settled::Accepted, "the fence decides, not the clock");
        claims.next().await
    });
    bench.settle();
    bench.pass(&play.timer, Duration::from_millis(20));
    assert!(!task.is_done());
    assert_eq!(returned(&play.settled()), [id(2), id(3)]);
}

#[test]
fn a_message_given_back_holds_no_later_settlement_up() {
    let play = Play::new([Answer::Messages(vec![1, 1, 1]), Answer::Messages(vec![1])]);
    let mut bench = Bench::default();
    let mut claims = play.relay(RelayConfig::default()).claims("orders").unwrap();
    let timer = play.timer.clone();
    let task = bench.start(async move {
        drop(claims.next().await.unwrap().unwrap());
        timer.advance(Duration::from_millis(28_500));
        (claims.next().await.unwrap().unwrap(), claims)
    });
    let (fresh, mut claims) = bench.finish(&play.timer, task);
    let _next = bench.start(async move { claims.next().await });
    bench.pass(&play.timer, Duration::from_millis(20));
    assert_eq!(returned(&play.settled()), [id(2), id(3)]);
    let task = bench.start(fresh.ack());
    bench.settle();
    assert_eq!(task.take().expect("an ack without a wait").unwrap(), Settled::Accepted);
}

#[test]
fn what_was_claimed_too_often_is_buried_with_its_last_reason() {
    let play = Play::new([Answer::Messages(vec![4, 3])]);
    let retry = RetryPolicy { max_attempts: MAX_ATTEMPTS, ..RetryPolicy::default() };
    let config = RelayConfig { retry, ..RelayConfig::default() };
    let mut bench = Bench::default();
    let mut claims = play.relay(config).claims("orders").unwrap();
    let task = bench.start(async move {
        let claim = claims.next().await.unwrap().unwrap();
        assert_eq!(claim.last_error().unwrap().as_str(), "attempt 2 of 2 failed");
        (claim.message().id, claim.attempt(), claims.next().await.is_some())
    });
    bench.pass(&play.timer, Duration::from_millis(20));
    assert!(!task.is_done());
    let settled = play.settled();
    assert_eq!(settled[0].receipt.message, id(1));
    let Disposition::Dead { reason, .. } = &settled[0].disposition else { panic!("{settled:?}") };
    assert_eq!(
        reason.as_str(),
        "all 3 attempts used up, the last never ended; before it: attempt 3 of 1 failed"
    );
}

#[test]
fn a_full_stream_goes_on_when_a_claim_is_settled_or_dropped() {
    let play = Play::new([Answer::Full, Answer::Full, Answer::Full]);
    let config = RelayConfig { batch: 2, prefetch: 2, ..RelayConfig::default() };
    let mut bench = Bench::default();
    let mut claims = play.relay(config).claims("orders").unwrap();
    let task = bench.start(async move {
        let one = claims.next().await.unwrap().unwrap();
        let two = claims.next().await.unwrap().unwrap();
        assert!(futures::poll!(claims.next()).is_pending(), "there is no room");
        drop(one);
        let three = claims.next().await.unwrap().unwrap();
        assert!(futures::poll!(claims.next()).is_pending(), "there is no room");
        accepted(two.ack().await);
        let four = claims.next().await.unwrap().unwrap();
        (three.message().id, four.message().id)
    });
    assert_eq!(bench.finish(&play.timer, task), (id(3), id(4)));
}

#[test]
fn a_stream_that_waits_for_room_is_woken_when_a_claim_is_dropped_elsewhere() {
    let play = Play::new([Answer::Full, Answer::Full]);
    let mut bench = Bench::default();
    let config = RelayConfig { prefetch: 1, ..RelayConfig::default() };
    let mut claims = play.relay(config).claims("orders").unwrap();
    let (given, mut taken) = mpsc::unbounded();
    let _task = bench.start(async move {
        while let Some(claim) = claims.next().await {
            given.unbounded_send(claim.unwrap()).unwrap();
        }
    });
    bench.settle();
    let held = taken.try_recv().unwrap();
    assert!(taken.try_recv().is_err());
    drop(held);
    bench.settle();
    assert_eq!(taken.try_recv().unwrap().message().id, id(2));
}

#[test]
fn a_stream_that_has_nothing_to_yield_claims_whatever_there_is_room_for() {
    let play = Play::new([Answer::Full, Answer::Full]);
    let mut bench = Bench::default();
    let config = RelayConfig { batch: 10, prefetch: 10, ..RelayConfig::default() };
    let mut claims = play.relay(config).claims("orders").unwrap();
    let task = bench.start(async move {
        let mut held = Vec::new();
        for _ in 0..11 {
            held.push(claims.next().await.unwrap().unwrap());
            held.truncate(9);
        }
        held.len()
    });
    bench.settle();
    assert!(task.is_done());
    assert_eq!(play.stage().claims[1].asked, 1);
}

#[test]
fn everything_can_be_moved_between_threads() {
    fn moves<T: Send>(thing: T) -> T {
        thing
    }
    fn polls<T: Unpin>(thing: T) -> T {
        thing
    }
    let relay = moves(Play::default().relay(RelayConfig::default()));
    drop(moves(polls(relay.claims("orders").unwrap())).close());
    let handler = claimstream::handler_fn(|_| async { claimstream::Verdict::ack() });
    drop(moves(relay.pipeline("orders", handler).unwrap().run_until(futures::future::pending())));
    let _ = |claim: Claim| drop(moves(moves(claim).ack()));
}

#[test]
fn nothing_is_claimed_before_the_stream_is_polled() {
    let play = Play::new([Answer::Full]);
    let claims = play.relay(RelayConfig::default()).claims("orders").unwrap();
    drop(claims);
    assert!(play.stage().claims.is_empty());
}

#[test]
fn names_and_settings_are_refused_where_a_stream_is_asked_for() {
    let play = Play::default();
    assert!(matches!(play.relay(RelayConfig::default()).claims("or ders"), Err(RelayError::Invalid(_))));
    let pacing = Pacing { idle_max: Duration::from_millis(1), ..Pacing::default() };
    let config = RelayConfig { pacing, ..RelayConfig::default() };
    assert!(matches!(play.relay(config).claims(crate::play::queue()), Err(RelayError::Invalid(_))));
}

#[test]
fn a_wait_for_room_does_not_disturb_a_claim_under_way() {
    let (store, timer) = (SlowStore::default(), HandTimer::default());
    let config = RelayConfig { batch: 4, prefetch: 6, ..RelayConfig::default() };
    let relay = claimstream::Relay::new(Arc::new(store.clone()), timer.clone(), config);
    let mut bench = Bench::default();
    let mut claims = relay.claims("orders").unwrap();
    let task = bench.start(async move {
        let mut taken = Vec::new();
        for _ in 0..6 {
            taken.push(claims.next().await.unwrap().unwrap());
        }
        taken.len()
    });
    bench.settle();
    store.bring(1..=4);
    bench.settle();
    assert_eq!(store.waiting(), (1, 0, 0), "two more have room, which is half a batch");
    store.bring(5..=6);
    bench.settle();
    assert_eq!(task.take(), Some(6));
}

#[test]
fn a_claim_without_an_answer_is_given_up_when_its_lease_is_over() {
    let (store, timer) = (SlowStore::default(), HandTimer::default());
    let relay = claimstream::Relay::new(Arc::new(store.clone()), timer.clone(), RelayConfig::default());
    let mut bench = Bench::default();
    let mut claims = relay.claims("orders").unwrap();
    let task = bench.start(async move { claims.next().await.unwrap().unwrap().message().id });
    bench.pass(&timer, Duration::from_secs(28));
    assert_eq!(store.waiting().0, 1);
    bench.pass(&timer, Duration::from_secs(1));
    assert_eq!(store.waiting().0, 2);
    store.bring([1]);
    bench.settle();
    assert!(!task.is_done(), "nobody may rely on what came too late");
    store.bring([2]);
    bench.settle();
    assert_eq!(task.take(), Some(id(2)));
}
