//! Closing a stream and stopping a pipeline.
//! Promise: a shutdown ends soon after `drain`

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use claimstream::{PipelineReport, Relay, RelayConfig, StoreErrorKind, Timer, Verdict, handler_fn};
use claimstream_domain::Disposition;
use claimstream_ports::mock::HandTimer;
use futures::{FutureExt, StreamExt, channel::oneshot};
use proptest::prelude::*;

use crate::{
    play::{Answer, Bench, Play, SettleAnswer, accepted, id, of, returned},
    slow_store::SlowStore,
};

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) })]

    #[test]
    fn close_gives_back_exactly_what_was_not_yielded(
        count in 0..50_usize, taken in 0..50_usize, batch in 1..60_u32, settle_batch in 1..60_u32, fails in 0..4_usize,
    ) {
        let taken = taken.min(count).min(batch as usize);
        let play = Play::new([Answer::Messages(vec![1; count])]);
        play.stage().settle_answers.extend(vec![SettleAnswer::Fails(StoreErrorKind::Unavailable); fails]);
        let mut bench = Bench::default();
        let config = RelayConfig { batch, settle_batch, ..RelayConfig::default() };
        let mut claims = play.relay(config).claims("orders").unwrap();
        let task = bench.start(async move {
            let mut yielded = Vec::new();
            while yielded.len() < taken {
                yielded.push(claims.next().await.unwrap().unwrap());
            }
            if taken == 0 {
                assert!(futures::poll!(claims.next()).is_pending() == (count == 0));
            }
            (claims.close().await.unwrap(), yielded)
        });
        let (released, yielded) = bench.finish(&play.timer, task);
        let mut given_back = Vec::new();
        for settlement in play.settled() {
            prop_assert_eq!(&settlement.disposition, &Disposition::Returned);
            given_back.push(settlement.receipt.message);
        }
        given_back.sort();
        given_back.dedup();
        let first = if taken == 0 && count > 0 { 2 } else { taken as u128 + 1 };
        let claimed = count.min(batch as usize) as u128;
        prop_assert_eq!(&given_back, &(first..=claimed).map(id).collect::<Vec<_>>());
        prop_assert_eq!(released, given_back.len() as u64);
        prop_assert_eq!(yielded.len(), taken);
    }
}

#[test]
fn close_waits_for_a_claim_under_way_and_gives_back_what_it_brings() {
    let (store, timer, mut bench) = (SlowStore::default(), HandTimer::default(), Bench::default());
    let relay = Relay::new(Arc::new(store.clone()), timer.clone(), RelayConfig::default());
    let mut claims = relay.claims("orders").unwrap();
    let task = bench.start(async move {
        assert!(futures::poll!(claims.next()).is_pending());
        claims.close().await
    });
    bench.settle();
    assert_eq!(store.waiting(), (1, 0, 0));
    timer.advance(Duration::from_secs(3));
    bench.settle();
    assert_eq!(store.rests(), 0, "it may still lease something ahead");
    store.bring([1, 2]);
    bench.settle();
    assert_eq!(store.rests(), 1);
    assert_eq!(returned(&store.accept()), [id(1), id(2)]);
    bench.settle();
    assert_eq!(task.take().unwrap().unwrap(), 2);
    assert_eq!(store.rests(), 1);
    assert_eq!(store.waiting(), (0, 0, 0));
}

/// The consumer catches the panic of its store and closes the stream.
#[test]
fn close_waits_for_no_claim_that_panicked() {
    let (store, timer, mut bench) = (SlowStore::default(), HandTimer::default(), Bench::default());
    let relay = Relay::new(Arc::new(store.clone()), timer.clone(), RelayConfig::default());
    let mut claims = relay.claims("orders").unwrap();
    assert!(claims.next().now_or_never().is_none());
    store.panic_in_claim();
    let polled = catch_unwind(AssertUnwindSafe(|| claims.next().now_or_never().is_some()));
    assert!(polled.is_err(), "the panic reaches the consumer");
    let closing = bench.start(claims.close());
    bench.pass(&timer, Duration::from_secs(1));
    assert!(closing.is_done());
}

#[test]
fn a_stream_that_is_taken_until_a_word_to_stop_can_be_closed() {
    let (play, mut bench) = (Play::new([Answer::Messages(vec![1; 5])]), Bench::default());
    let (stop, stopped) = oneshot::channel::<()>();
    let mut claims = play.relay(RelayConfig::default()).claims("orders").unwrap();
    let task = bench.start(async move {
        let mut until_told = claims.until(stopped);
        for _ in 0..2 {
            accepted(until_told.next().await.unwrap().unwrap().ack().await);
        }
        stop.send(()).unwrap();
        assert!(until_told.next().await.is_none());
        claims.close().await
    });
    assert_eq!(bench.finish(&play.timer, task).unwrap(), 3);
    assert!(play.stage().leased.is_empty());
}

#[test]
fn close_waits_for_a_claim_no_longer_than_its_lease() {
    let (store, timer, mut bench) = (SlowStore::default(), HandTimer::default(), Bench::default());
    let relay = Relay::new(Arc::new(store.clone()), timer.clone(), RelayConfig::default());
    let mut claims = relay.claims("orders").unwrap();
    let task = bench.start(async move {
        assert!(futures::poll!(claims.next()).is_pending());
        claims.close().await
    });
    assert_eq!(bench.finish(&timer, task).unwrap(), 0);
    assert_eq!(timer.now(), Duration::from_millis(28_500));
}

#[test]
fn close_tells_when_something_could_not_be_given_back() {
    let play = Play::new([Answer::Messages(vec![1; 3])]);
    play.stage().settle_answers.push_back(SettleAnswer::Fails(StoreErrorKind::Corrupt));
    let mut bench = Bench::default();
    let mut claims = play.relay(RelayConfig::default()).claims("orders").unwrap();
    let task = bench.start(async move {
        claims.next().await.unwrap().unwrap().ack().await.unwrap_err();
        // Together, and then each alone.
        play.stage().settle_answers.extend([SettleAnswer::Fails(StoreErrorKind::Corrupt); 3]);
        claims.close().await.unwrap_err().kind()
    });
    bench.settle();
    assert_eq!(task.take(), Some(Some(StoreErrorKind::Corrupt)));
}

#[test]
fn a_pipeline_gives_back_the_unstarted_and_lets_the_running_finish() {
    let (play, mut bench) = (Play::new([Answer::Messages(vec![1; 10])]), Bench::default());
    let (stop, stopped) = oneshot::channel::<()>();
    let timer = play.timer.clone();
    let handler = handler_fn(move |claimed| {
        let timer = timer.clone();
        async move {
            // The first needs longer than its lease.
            let long = claimed.message.id == id(1);
            timer.sleep(Duration::from_secs(if long { 29 } else { 5 })).await;
            Verdict::ack()
        }
    });
    let pipeline = play.relay(RelayConfig::default()).pipeline("orders", handler).unwrap().concurrency(3);
    let task = bench.start(pipeline.run_until(async move { stopped.await.unwrap() }));
    bench.pass(&play.timer, Duration::from_secs(2));
    let claims = play.stage().claims.len();
    stop.send(()).unwrap();
    bench.pass(&play.timer, Duration::from_millis(20));
    assert_eq!(returned(&play.settled()), (4..=10).map(id).collect::<Vec<_>>(), "given back at once");
    let report = bench.finish(&play.timer, task).unwrap();
    assert_eq!(report, PipelineReport { claimed: 10, acked: 3, released: 7, ..PipelineReport::default() });
    assert_eq!(play.stage().claims.len(), claims, "nothing was claimed after the word to stop");
    let renewed: Vec<_> =
        play.stage().renewals.iter().map(|(at, receipts)| (at.as_secs(), receipts.len())).collect();
    assert_eq!(renewed, [(10, 1), (20, 1)], "renewals go on while a handler runs");
}

#[test]
fn handlers_that_use_up_the_drain_time_are_dropped_and_their_attempts_have_failed() {
    let (play, mut bench) = (Play::new([Answer::Messages(vec![1; 2])]), Bench::default());
    let (stop, stopped) = oneshot::channel::<()>();
    let timer = play.timer.clone();
    let handler = handler_fn(move |_| {
        let timer = timer.clone();
        async move {
            timer.sleep(Duration::from_secs(100)).await;
            Verdict::ack()
        }
    });
    let config = RelayConfig { drain: Duration::from_secs(7), ..RelayConfig::default() };
    let pipeline = play.relay(config).pipeline("orders", handler).unwrap();
    let task = bench.start(pipeline.run_until(async move { stopped.await.unwrap() }));
    bench.pass(&play.timer, Duration::from_secs(1));
    stop.send(()).unwrap();
    let report = bench.finish(&play.timer, task).unwrap();
    assert_eq!(report, PipelineReport { claimed: 2, nacked: 2, ..PipelineReport::default() });
    assert_eq!(play.timer.now(), Duration::from_secs(8));
    let stopped = of(
        &play.settled(),
        |disposition| matches!(disposition, Disposition::Retry { reason, .. } if reason.as_str() == "stopped at shutdown"),
    );
    assert_eq!(stopped, [id(1), id(2)]);
}

/// The drain time and a little for the last writes, though the lease of what is to be settled is longer.
/// Guard: a shutdown lasts little longer than its drain time | src/pipelines/run.rs `poll_phase`: never gives up
#[test]
fn a_pipeline_ends_after_its_drain_time_though_the_store_is_away() {
    let (play, mut bench) = (Play::new([Answer::Messages(vec![1; 5])]), Bench::default());
    play.stage().settle_answers.extend([SettleAnswer::Fails(StoreErrorKind::Unavailable); 1000]);
    let (stop, stopped) = oneshot::channel::<()>();
    let config = RelayConfig { drain: Duration::from_secs(7), concurrency: 2, ..RelayConfig::default() };
    let handler = handler_fn(|_| async { Verdict::ack() });
    let pipeline = play.relay(config).pipeline("orders", handler).unwrap();
    let task = bench.start(pipeline.run_until(async move { stopped.await.unwrap() }));
    bench.pass(&play.timer, Duration::from_secs(1));
    stop.send(()).unwrap();
    let report = bench.finish(&play.timer, task).unwrap();
    assert_eq!(report, PipelineReport { claimed: 5, unsettled: 5, ..PipelineReport::default() });
    assert_eq!(play.timer.now(), Duration::from_secs(10));
    assert_eq!(play.timer.sleepers(), 0);
}

#[test]
fn a_pipeline_ends_after_its_drain_time_though_a_call_is_never_answered() {
    for stage in ["a claim", "a settlement"] {
        let (store, timer, mut bench) = (SlowStore::default(), HandTimer::default(), Bench::default());
        let config = RelayConfig { drain: Duration::from_secs(7), ..RelayConfig::default() };
        let relay = Relay::new(Arc::new(store.clone()), timer.clone(), config);
        let (stop, stopped) = oneshot::channel::<()>();
        let pipeline = relay.pipeline("orders", handler_fn(|_| async { Verdict::ack() })).unwrap();
        let task = bench.start(pipeline.run_until(async move { stopped.await.unwrap() }));
        bench.settle();
        if stage == "a settlement" {
            store.bring([1]);
            bench.pass(&timer, Duration::from_millis(100));
        }
        let told = timer.now();
        stop.send(()).unwrap();
        let report = bench.finish(&timer, task).unwrap();
        assert_eq!(report.claimed, report.unsettled, "{stage}");
        assert_eq!(timer.now() - told, Duration::from_secs(9), "{stage}");
        assert_eq!(timer.sleepers(), 0, "{stage}");
    }
}

/// What was cut off at the end of the drain time is still written.
#[test]
fn settlements_that_fail_at_the_end_of_the_drain_time_are_repeated_for_a_little() {
    let (play, mut bench) = (Play::new([Answer::Messages(vec![1])]), Bench::default());
    play.stage().settle_answers.extend([SettleAnswer::Fails(StoreErrorKind::Transient); 4]);
    let (stop, stopped) = oneshot::channel::<()>();
    let config = RelayConfig { drain: Duration::from_secs(3), ..RelayConfig::default() };
    let never = handler_fn(|_| futures::future::pending::<Verdict>());
    let pipeline = play.relay(config).pipeline("orders", never).unwrap();
    let task = bench.start(pipeline.run_until(async move { stopped.await.unwrap() }));
    bench.pass(&play.timer, Duration::from_secs(1));
    stop.send(()).unwrap();
    let report = bench.finish(&play.timer, task).unwrap();
    assert_eq!(report, PipelineReport { claimed: 1, nacked: 1, ..PipelineReport::default() });
    assert!(play.timer.now() < Duration::from_secs(6));
}

#[test]
fn a_pipeline_that_is_stopped_during_a_claim_gives_back_what_it_brings() {
    let (store, timer, mut bench) = (SlowStore::default(), HandTimer::default(), Bench::default());
    let relay = Relay::new(Arc::new(store.clone()), timer.clone(), RelayConfig::default());
    let (stop, stopped) = oneshot::channel::<()>();
    let pipeline = relay.pipeline("orders", handler_fn(|_| async { panic!("never started") })).unwrap();
    let task = bench.start(pipeline.run_until(async move { stopped.await.unwrap() }));
    bench.settle();
    stop.send(()).unwrap();
    bench.settle();
    assert_eq!((store.waiting(), task.is_done()), ((1, 0, 0), false));
    store.bring([1]);
    bench.settle();
    assert_eq!(returned(&store.accept()), [id(1)]);
    bench.settle();
    let report = task.take().unwrap().unwrap();
    assert_eq!(report, PipelineReport { claimed: 1, released: 1, ..PipelineReport::default() });
}

#[test]
fn a_pipeline_that_is_told_to_stop_before_it_begins_claims_nothing() {
    let (play, mut bench) = (Play::new([Answer::Full]), Bench::default());
    let pipeline =
        play.relay(RelayConfig::default()).pipeline("orders", handler_fn(|_| async { Verdict::ack() }));
    let task = bench.start(pipeline.unwrap().run_until(async {}));
    bench.settle();
    assert_eq!(task.take().unwrap().unwrap(), PipelineReport::default());
    assert!(play.stage().claims.is_empty());
}

#[test]
fn what_is_dropped_in_the_middle_leaves_nothing_behind() {
    let (timer, mut bench) = (HandTimer::default(), Bench::default());
    let kept = SlowStore::default();
    let store = Arc::new(kept.clone());
    let alive = Arc::downgrade(&store);
    let relay = Relay::new(store, timer.clone(), RelayConfig { concurrency: 1, ..RelayConfig::default() });

    let mut claims = relay.claims("orders").unwrap();
    let acked = bench.start(async move {
        let claim = claims.next().await.unwrap().unwrap();
        let mut ack = Box::pin(claim.ack());
        assert!(futures::poll!(&mut ack).is_pending());
        (claims, ack)
    });
    bench.settle();
    kept.bring([1, 2, 3]);
    bench.settle();

    let never = handler_fn(|_| futures::future::pending::<Verdict>());
    let mut run = Box::pin(relay.pipeline("orders", never).unwrap().run_until(futures::future::pending()));
    assert!((&mut run).now_or_never().is_none());
    kept.bring([4, 5, 6]);
    assert!((&mut run).now_or_never().is_none());
    timer.advance(Duration::from_secs(10));
    assert!((&mut run).now_or_never().is_none());
    assert_eq!(kept.waiting().2, 1, "a renewal is under way");

    drop((relay, run, acked.take().unwrap()));
    assert_eq!((alive.strong_count(), timer.sleepers()), (0, 0));
}
