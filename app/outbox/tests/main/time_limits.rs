//! How long a handler may take.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use claimstream::{PipelineReport, RelayConfig, Timer, Verdict, handler_fn};
use claimstream_domain::{Disposition, Settlement};

use crate::play::{Answer, Bench, Play, id};
use crate::slow_handler::{Slow, start};

#[test]
fn a_relay_that_says_why_an_attempt_failed_keeps_who_may_have_accepted_the_message() {
    let failures = vec!["may have been accepted by one; HTTP 504", "HTTP 503"];
    let (play, mut bench) = (Play::new([Answer::FailedFor(failures)]), Bench::default());
    let handler = handler_fn(|_| std::future::pending());
    let (stop, task) = start(&play, &bench, RelayConfig::default(), handler);
    bench.pass(&play.timer, Duration::from_secs(601));
    stop.send(()).unwrap();
    bench.finish(&play.timer, task).unwrap();
    let is_kept = |settlement: &Settlement| match &settlement.disposition {
        Disposition::Retry { reason, .. } => reason.as_str().starts_with("may have been accepted by one; "),
        other => panic!("{other:?}"),
    };
    assert_eq!(play.settled().iter().map(is_kept).collect::<Vec<_>>(), [true, false]);
}

/// Guard: handlers have a time limit | src/pipelines/engine/end.rs `poll_timeouts`: does nothing
/// Guard: a handler whose time is up is dropped | src/pipelines/call.rs `stop`: no `abort`
#[test]
fn a_handler_that_hangs_is_dropped_after_its_time_and_its_attempt_has_failed() {
    let (play, mut bench) = (Play::new([Answer::Messages(vec![1, 20, 1])]), Bench::default());
    let dropped = Arc::<AtomicUsize>::default();
    struct Counts(Arc<AtomicUsize>);
    impl Drop for Counts {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let (timer, counter) = (play.timer.clone(), Arc::clone(&dropped));
    let handler = handler_fn(move |claimed| {
        let (timer, counts) = (timer.clone(), Counts(Arc::clone(&counter)));
        async move {
            let _counts = counts;
            if claimed.message.id == id(3) {
                timer.sleep(Duration::from_secs(599)).await;
                return Verdict::ack();
            }
            std::future::pending().await
        }
    });
    let (stop, task) = start(&play, &bench, RelayConfig::default(), handler);
    bench.pass(&play.timer, Duration::from_millis(599_900));
    assert_eq!(dropped.load(Ordering::Relaxed), 1, "one has ended by itself");
    assert!(play.stage().renewals.len() > 50, "they were renewed meanwhile");
    bench.pass(&play.timer, Duration::from_millis(200));
    assert_eq!(dropped.load(Ordering::Relaxed), 3, "the others are stopped");
    let renewals = play.stage().renewals.len();
    bench.pass(&play.timer, Duration::from_secs(60));
    assert_eq!(play.stage().renewals.len(), renewals, "nothing is left to be renewed");
    stop.send(()).unwrap();
    let report = bench.finish(&play.timer, task).unwrap();
    let expected = PipelineReport {
        claimed: 3,
        acked: 1,
        nacked: 1,
        buried: 1,
        timed_out: 2,
        ..PipelineReport::default()
    };
    assert_eq!(report, expected);
    let reasons = play.settled().into_iter().filter_map(|settlement| match settlement.disposition {
        Disposition::Retry { reason, .. } | Disposition::Dead { reason, .. } => Some(reason.to_string()),
        _ => None,
    });
    assert_eq!(reasons.collect::<Vec<_>>(), ["no verdict within 600s"; 2]);
}

#[test]
fn each_handler_has_the_whole_time_and_hands_its_slot_on() {
    let (play, mut bench) = (Play::new([Answer::Messages(vec![1; 4])]), Bench::default());
    let config = RelayConfig {
        handle_timeout: Duration::from_secs(5),
        concurrency: 1,
        drain: Duration::from_secs(60),
        ..RelayConfig::default()
    };
    let timer = play.timer.clone();
    let handler = handler_fn(move |claimed| {
        let (timer, n) = (timer.clone(), claimed.message.id.uuid().as_u128());
        async move {
            // The second and the fourth take too long, each after one that does not.
            timer.sleep(Duration::from_secs(if n % 2 == 0 { 6 } else { 4 })).await;
            Verdict::ack()
        }
    });
    let (stop, task) = start(&play, &bench, config, handler);
    bench.pass(&play.timer, Duration::from_millis(18_100));
    stop.send(()).unwrap();
    let report = bench.finish(&play.timer, task).unwrap();
    let expected =
        PipelineReport { claimed: 4, acked: 2, nacked: 2, timed_out: 2, ..PipelineReport::default() };
    assert_eq!(report, expected);
}

#[test]
fn a_message_of_a_key_that_begins_late_keeps_no_other_from_its_time_limit() {
    let (play, mut bench) = (Play::new([Answer::Run(2), Answer::Messages(vec![1])]), Bench::default());
    let config = RelayConfig { handle_timeout: Duration::from_secs(5), ..RelayConfig::default() };
    let timer = play.timer.clone();
    let handler = handler_fn(move |claimed| {
        let (timer, first) = (timer.clone(), claimed.message.id == id(1));
        async move {
            timer.sleep(Duration::from_secs(if first { 3 } else { 60 })).await;
            Verdict::ack()
        }
    });
    let (stop, task) = start(&play, &bench, config, handler);
    bench.pass(&play.timer, Duration::from_millis(5_500));
    let ended: Vec<_> = play.settled().iter().map(|settlement| settlement.receipt.message).collect();
    assert_eq!(ended, [id(1), id(3)], "the second of the key has begun at 3 s");
    bench.pass(&play.timer, Duration::from_secs(3));
    stop.send(()).unwrap();
    let report = bench.finish(&play.timer, task).unwrap();
    assert_eq!((report.acked, report.nacked, report.timed_out), (1, 2, 2));
}

#[test]
fn without_a_time_limit_a_handler_may_take_for_ever() {
    let (play, mut bench) = (Play::new([Answer::Messages(vec![1])]), Bench::default());
    let config = RelayConfig { handle_timeout: Duration::MAX, ..RelayConfig::default() };
    let (stop, task) = start(&play, &bench, config, Slow::new(&play.timer, Duration::from_secs(4000)));
    bench.pass(&play.timer, Duration::from_secs(4001));
    stop.send(()).unwrap();
    assert_eq!(bench.finish(&play.timer, task).unwrap().acked, 1);
}
