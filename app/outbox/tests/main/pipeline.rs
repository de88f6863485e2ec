//! Handlers: how many run, when they are stopped, and what they come to.
//! Promise: no error of the store ends a pipeline

use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use claimstream::{
    Claimed, Compose, Handler, NewMessage, PipelineReport, PipelineState, RelayConfig, StoreErrorKind, Timer,
    Verdict, handler_fn,
};
use claimstream_domain::Disposition;
use futures::{FutureExt, channel::oneshot};

use crate::play::{Answer, Bench, Play, SettleAnswer, id, of, returned};
use crate::slow_handler::{Slow, start};

#[test]
fn a_panic_is_a_failed_attempt_with_its_text_as_reason() {
    struct Panics;
    // Written out by hand, so that it panics before there is a future.
    impl Handler for Panics {
        fn handle<'a, 'b, 'c>(
            &'a self,
            claimed: &'b Claimed,
        ) -> std::pin::Pin<Box<dyn Future<Output = Verdict> + Send + 'c>>
        where
            'a: 'c,
            'b: 'c,
            Self: 'c,
        {
            let n = claimed.message.id.uuid().as_u128();
            if n == 1 {
                panic!("at {n}");
            }
            Box::pin(async move { panic!("later") })
        }
    }
    let (play, mut bench) = (Play::new([Answer::Messages(vec![1, 20])]), Bench::default());
    let (stop, task) = start(&play, &bench, RelayConfig::default(), Panics);
    bench.pass(&play.timer, Duration::from_millis(20));
    stop.send(()).unwrap();
    let report = bench.finish(&play.timer, task).unwrap();
    let expected =
        PipelineReport { claimed: 2, nacked: 1, buried: 1, panicked: 2, ..PipelineReport::default() };
    assert_eq!(report, expected);
    let reasons: BTreeMap<_, _> = play
        .settled()
        .into_iter()
        .map(|settlement| match settlement.disposition {
            Disposition::Retry { reason, .. } | Disposition::Dead { reason, .. } => {
                (settlement.receipt.message, reason.to_string())
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(reasons[&id(1)], "panicked: at 1");
    assert_eq!(reasons[&id(2)], "panicked: later");
}

#[test]
fn a_handler_of_two_and_a_half_leases_is_renewed_and_acked_once() {
    let (play, mut bench) = (Play::new([Answer::Messages(vec![1])]), Bench::default());
    let (stop, task) =
        start(&play, &bench, RelayConfig::default(), Slow::new(&play.timer, Duration::from_secs(75)));
    bench.pass(&play.timer, Duration::from_secs(76));
    stop.send(()).unwrap();
    let report = bench.finish(&play.timer, task).unwrap();
    assert_eq!(report, PipelineReport { claimed: 1, acked: 1, ..PipelineReport::default() });
    assert_eq!(play.settled().len(), 1);
    let at: Vec<_> = play.stage().renewals.iter().map(|(at, _)| at.as_secs()).collect();
    assert_eq!(at, [10, 20, 30, 40, 50, 60, 70]);
}

#[test]
fn running_and_waiting_claims_are_renewed_in_one_call() {
    let (play, mut bench) = (Play::new([Answer::Messages(vec![1; 7])]), Bench::default());
    let config = RelayConfig { concurrency: 2, ..RelayConfig::default() };
    let (_stop, _task) = start(&play, &bench, config, Slow::new(&play.timer, Duration::from_secs(25)));
    bench.pass(&play.timer, Duration::from_secs(11));
    let sizes: Vec<_> = play.stage().renewals.iter().map(|(_, receipts)| receipts.len()).collect();
    assert_eq!(sizes, [7]);
    bench.pass(&play.timer, Duration::from_secs(100));
    assert_eq!(
        of(&play.settled(), |disposition| *disposition == Disposition::Done { emit: vec![] }).len(),
        7
    );
}

#[test]
fn a_lost_lease_drops_the_handler_and_takes_its_attempt_back() {
    let (play, mut bench) = (Play::new([Answer::Messages(vec![1])]), Bench::default());
    play.stage().superseded.push(id(1));
    let handler = Slow::new(&play.timer, Duration::from_secs(15));
    let ended = Arc::clone(&handler.ended);
    let (stop, task) = start(&play, &bench, RelayConfig::default(), handler);
    bench.pass(&play.timer, Duration::from_secs(60));
    stop.send(()).unwrap();
    let report = bench.finish(&play.timer, task).unwrap();
    assert_eq!(report, PipelineReport { claimed: 1, superseded: 1, ..PipelineReport::default() });
    assert_eq!(ended.load(Ordering::Relaxed), 0);
    assert_eq!(returned(&play.settled()), [id(1)], "more time was asked for, so it is no failed attempt");
}

#[test]
fn a_handler_is_dropped_at_its_deadline_if_renewals_fail() {
    let (play, mut bench) = (Play::new([Answer::Messages(vec![1])]), Bench::default());
    play.stage().renew_fails = true;
    let handler = Slow::new(&play.timer, Duration::from_millis(28_600));
    let ended = Arc::clone(&handler.ended);
    let (stop, task) = start(&play, &bench, RelayConfig::default(), handler);
    bench.pass(&play.timer, Duration::from_secs(60));
    assert!(play.stage().renewals.len() > 5, "it was tried again and again");
    stop.send(()).unwrap();
    let report = bench.finish(&play.timer, task).unwrap();
    assert_eq!(report, PipelineReport { claimed: 1, superseded: 1, ..PipelineReport::default() });
    assert_eq!(ended.load(Ordering::Relaxed), 0);
    assert_eq!(returned(&play.settled()), [id(1)], "more time was asked for, so it is no failed attempt");
}

#[test]
fn a_renewal_that_failed_is_tried_again_in_time() {
    let (play, mut bench) = (Play::new([Answer::Messages(vec![1])]), Bench::default());
    play.stage().renew_fails = true;
    let (stop, task) =
        start(&play, &bench, RelayConfig::default(), Slow::new(&play.timer, Duration::from_secs(40)));
    bench.pass(&play.timer, Duration::from_secs(15));
    play.stage().renew_fails = false;
    bench.pass(&play.timer, Duration::from_secs(30));
    stop.send(()).unwrap();
    assert_eq!(bench.finish(&play.timer, task).unwrap().acked, 1);
}

#[test]
fn instant_handlers_are_settled_in_full_batches() {
    let (play, mut bench) = (Play::new(vec![Answer::Full; 10]), Bench::default());
    let (_stop, _task) =
        start(&play, &bench, RelayConfig::default(), handler_fn(|_| async { Verdict::ack() }));
    bench.settle();
    let batches = play.batches();
    assert_eq!(batches, [100; 10]);
}

#[test]
fn a_handler_that_waits_to_be_settled_takes_no_slot() {
    let (play, mut bench) = (Play::new([Answer::Messages(vec![1; 3])]), Bench::default());
    let config = RelayConfig { settle_age: Duration::from_secs(5), concurrency: 1, ..RelayConfig::default() };
    let handler = Slow::new(&play.timer, Duration::from_millis(100));
    let ended = Arc::clone(&handler.ended);
    let (_stop, _task) = start(&play, &bench, config, handler);
    bench.pass(&play.timer, Duration::from_millis(250));
    assert_eq!((ended.load(Ordering::Relaxed), play.settled().len()), (2, 0));
    bench.pass(&play.timer, Duration::from_millis(60));
    assert_eq!(play.batches(), [3], "the last one hurries them");
}

/// Guard: no error of the store ends a pipeline | src/pipelines/engine/start.rs `poll_next`: nothing begins
/// after an error
#[test]
fn no_error_of_the_store_ends_it_and_the_waits_between_claims_grow() {
    use StoreErrorKind::*;
    for kind in [Transient, Unavailable, Unsupported, Corrupt, Conflict] {
        let answers = vec![Answer::Fails(kind); 9].into_iter().chain([Answer::Messages(vec![1])]);
        let (play, mut bench) = (Play::new(answers), Bench::default());
        let (stop, task) =
            start(&play, &bench, RelayConfig::default(), handler_fn(|_| async { Verdict::ack() }));
        bench.pass(&play.timer, Duration::from_secs(20));
        assert!(!task.is_done(), "{kind} has ended the pipeline");
        stop.send(()).unwrap();
        assert_eq!(bench.finish(&play.timer, task).unwrap().acked, 1, "after {kind}");
        let claims = play.stage().claims.clone();
        let waits: Vec<_> = claims[..10].windows(2).map(|pair| pair[1].at - pair[0].at).collect();
        assert!(waits[8] >= 32 * waits[0], "{kind}: {waits:?}");
    }
}

/// Guard: a monitor shows failed claims | src/stream/claimer.rs `judge`: `failed` is not recorded
#[test]
fn a_monitor_shows_how_a_pipeline_stands() {
    let failure = Answer::Fails(StoreErrorKind::Unsupported);
    let answers = [Answer::Messages(vec![1]), failure.clone(), failure, Answer::Messages(vec![1])];
    let (play, mut bench) = (Play::new(answers), Bench::default());
    let (stop, stopped) = oneshot::channel::<()>();
    let handler = Slow::new(&play.timer, Duration::from_secs(3));
    let pipeline = play.relay(RelayConfig::default()).pipeline("orders", handler).unwrap();
    let monitor = pipeline.monitor();
    assert!(matches!(monitor.state(), PipelineState::NotStarted));
    assert_eq!(monitor.silent_for(), None);
    let task = bench.start(pipeline.run_until(async move { stopped.await.unwrap() }));
    bench.settle();
    assert!(matches!(monitor.state(), PipelineState::Running));
    while play.stage().claims.len() < 3 {
        assert!(play.timer.advance_to_next());
        bench.settle();
    }
    let began = play.stage().claims[1].at;
    assert_eq!(monitor.silent_for(), Some(Duration::ZERO));
    play.timer.advance(Duration::from_millis(1));
    assert_eq!(monitor.silent_for(), Some(Duration::from_millis(1)), "nobody has polled it since");
    match monitor.state() {
        PipelineState::Failing { failures: 2, since, error } => {
            assert_eq!(since, play.timer.now() - began);
            assert_eq!(error.kind(), Some(StoreErrorKind::Unsupported));
        }
        other => panic!("{other:?}"),
    }
    bench.pass(&play.timer, Duration::from_millis(200));
    assert!(matches!(monitor.state(), PipelineState::Running), "the store answers again");
    stop.send(()).unwrap();
    bench.settle();
    assert!(matches!(monitor.state(), PipelineState::Stopping), "handlers are running");
    assert_eq!(monitor.silent_for(), None);
    assert_eq!(bench.finish(&play.timer, task).unwrap().acked, 2);
    assert!(matches!(monitor.state(), PipelineState::Ended));
}

#[test]
fn a_pipeline_that_is_dropped_has_ended() {
    let play = Play::default();
    let pipeline =
        play.relay(RelayConfig::default()).pipeline("orders", handler_fn(|_| async { Verdict::ack() }));
    let pipeline = pipeline.unwrap();
    let monitor = pipeline.monitor();
    let mut running = Box::pin(pipeline.run_until(futures::future::pending()));
    assert!((&mut running).now_or_never().is_none());
    drop(running);
    assert!(matches!(monitor.state(), PipelineState::Ended));
}

/// Guard: settlements are repeated after an error that is not about their message | src/settle/settlement_writer.rs
/// `write_together`: gives up unless retryable
#[test]
fn a_settlement_is_repeated_after_an_error_that_is_not_about_its_message() {
    let (play, mut bench) = (Play::new([Answer::Messages(vec![1])]), Bench::default());
    play.stage().settle_answers.extend([SettleAnswer::Fails(StoreErrorKind::Unsupported); 5]);
    let (stop, task) = start(&play, &bench, RelayConfig::default(), handler_fn(|_| async { Verdict::ack() }));
    bench.pass(&play.timer, Duration::from_secs(10));
    stop.send(()).unwrap();
    let report = bench.finish(&play.timer, task).unwrap();
    assert_eq!(report, PipelineReport { claimed: 1, acked: 1, ..PipelineReport::default() });
}

#[test]
fn a_handler_whose_children_are_refused_for_good_runs_once() {
    let (play, mut bench) = (Play::new([Answer::Messages(vec![1])]), Bench::default());
    play.stage().refuses_children = true;
    let child = NewMessage::json("mails", &"dear").unwrap();
    let handler = handler_fn(move |_| {
        let emit = vec![child.clone()];
        async move { Verdict::Ack { emit } }
    });
    let (stop, task) = start(&play, &bench, RelayConfig::default(), handler);
    bench.pass(&play.timer, Duration::from_millis(20));
    stop.send(()).unwrap();
    let report = bench.finish(&play.timer, task).unwrap();
    assert_eq!(report, PipelineReport { claimed: 1, buried: 1, ..PipelineReport::default() });
}

#[test]
fn no_concurrency_at_all_and_more_than_the_prefetch_are_refused() {
    let (play, mut bench) = (Play::default(), Bench::default());
    for concurrency in [0, 201] {
        let pipeline =
            play.relay(RelayConfig::default()).pipeline("orders", handler_fn(|_| async { Verdict::ack() }));
        let pipeline = pipeline.unwrap().concurrency(concurrency);
        let task = bench.start(pipeline.run_until(futures::future::pending()));
        assert!(bench.finish(&play.timer, task).is_err());
    }
}
