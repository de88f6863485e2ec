//! A store that answers claims and no settlements: what a monitor shows, and how often it is logged.
//! Promise: a monitor shows that only settlements fail, and a repeated warning is logged at growing intervals

use std::time::Duration;

use claimstream::{
    Operation, PipelineMonitor, PipelineState, RelayConfig, RelayError, StoreErrorKind, Timer, Verdict,
    handler_fn,
};
use futures::channel::oneshot;

use crate::{
    log::Log,
    play::{Answer, Bench, Play, SettleAnswer, Task},
};

const FAILS: SettleAnswer = SettleAnswer::Fails(StoreErrorKind::Unavailable);

/// A pipeline with one message after another.
struct Running {
    play: Play,
    bench: Bench,
    monitor: PipelineMonitor,
    stop: oneshot::Sender<()>,
    task: Task<Result<claimstream::PipelineReport, RelayError>>,
}

impl Running {
    fn over(answers: Vec<Answer>, settle_answers: Vec<SettleAnswer>) -> Self {
        let (play, mut bench) = (Play::new(answers), Bench::default());
        play.stage().settle_answers.extend(settle_answers);
        let (stop, stopped) = oneshot::channel::<()>();
        let handler = handler_fn(|_| async { Verdict::ack() });
        let pipeline = play.relay(RelayConfig::default()).pipeline("orders", handler).unwrap();
        let monitor = pipeline.monitor();
        let task = bench.start(pipeline.run_until(async move { stopped.await.unwrap() }));
        bench.settle();
        Self { play, bench, monitor, stop, task }
    }

    fn pass(&mut self, time: Duration) {
        self.bench.pass(&self.play.timer, time);
    }

    fn runs(&self) -> bool {
        matches!(self.monitor.state(), PipelineState::Running)
    }

    fn end(mut self) -> claimstream::PipelineReport {
        self.stop.send(()).unwrap();
        self.bench.finish(&self.play.timer, self.task).unwrap()
    }
}

#[test]
fn a_monitor_shows_that_only_settlements_fail() {
    let mut running = Running::over(vec![Answer::Messages(vec![1])], vec![FAILS; 10]);
    running.pass(Duration::from_secs(1));
    let calls = running.play.stage().settlements.clone();
    assert!((2..10).contains(&calls.len()), "{} calls", calls.len());
    match running.monitor.state() {
        PipelineState::Failing { failures, since, error } => {
            assert_eq!(failures as usize, calls.len());
            assert_eq!(since, running.play.timer.now() - calls[0].0);
            assert!(matches!(error, RelayError::Store { operation: Operation::Settle, .. }), "{error:?}");
        }
        other => panic!("{other:?}"),
    }
    assert!(running.play.stage().claims.len() > 3, "claims are answered meanwhile");
    running.pass(Duration::from_secs(20));
    assert!(running.runs(), "the settlement was accepted");
    assert_eq!(running.end().acked, 1);
}

#[test]
fn a_settlement_that_was_given_up_is_shown_for_two_leases_and_no_longer() {
    let mut running = Running::over(vec![Answer::Messages(vec![1])], vec![FAILS; 200]);
    running.pass(Duration::from_secs(35));
    let last = running.play.stage().settlements.last().unwrap().0;
    assert!(last < Duration::from_secs(30), "its claim has ended");
    assert!(!running.runs(), "the message comes again, and so may the failure");
    let left = last + Duration::from_secs(60) - running.play.timer.now();
    running.pass(left);
    assert!(!running.runs());
    running.pass(Duration::from_millis(10));
    assert!(running.runs(), "another relay may have handled it");
    assert_eq!(running.end().unsettled, 1);
}

#[test]
fn failures_that_are_far_apart_are_not_in_a_row() {
    let mut running = Running::over(vec![Answer::Messages(vec![1])], vec![FAILS; 200]);
    running.pass(Duration::from_secs(100));
    running.play.stage().answers.push_back(Answer::Messages(vec![1]));
    running.pass(Duration::from_secs(10));
    match running.monitor.state() {
        PipelineState::Failing { since, .. } => assert!(since < Duration::from_secs(11), "{since:?}"),
        other => panic!("{other:?}"),
    }
    running.end();
}

#[test]
fn one_settlement_that_the_store_never_takes_does_not_hide_that_it_takes_others() {
    let answers = vec![Answer::Messages(vec![1, 1])];
    let (log, mut running) = (Log::of_this_thread(), Running::over(answers, vec![SettleAnswer::Knows(1)]));
    running.pass(Duration::from_millis(20));
    assert!(running.runs(), "the store has answered");
    running.pass(Duration::from_secs(5));
    assert_eq!(log.lines("settlement failed; it is tried again").len(), 1);
    assert_eq!(running.end().acked, 2);
}

#[test]
fn the_first_failure_is_logged_and_others_at_growing_distances_with_the_count() {
    let log = Log::of_this_thread();
    let mut running = Running::over(vec![Answer::Messages(vec![1]); 20], vec![FAILS; 10_000]);
    for _ in 0..20 {
        running.pass(Duration::from_secs(30));
        running.play.stage().answers.push_back(Answer::Messages(vec![1]));
    }
    let calls = running.play.stage().settlements.len();
    assert!(calls > 200, "{calls} calls");
    let lines = log.lines("settlement failed; it is tried again");
    // Within ten minutes: at the beginning, 1, 3, 7, 15, 31 and 63 s later, and then once a minute.
    assert!((8..=16).contains(&lines.len()), "{lines:#?}");
    assert!(!lines[0].contains("unlogged"), "{lines:#?}");
    let unlogged: Vec<usize> =
        lines.iter().filter_map(|line| line.split_once("unlogged=")?.1.parse().ok()).collect();
    assert!(unlogged.len() >= lines.len() - 3, "{lines:#?}");
    drop(running);
}
