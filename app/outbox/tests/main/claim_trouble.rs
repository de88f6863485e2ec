//! A store that answers no claims: what a monitor shows, and how often it is logged.
//! Promise: a store that is silent is shown as failing since it was asked, and a repeated error of claims is logged at growing intervals

use std::{sync::Arc, time::Duration};

use claimstream::{PipelineState, Relay, RelayConfig, StoreErrorKind, Timer, Verdict, handler_fn};
use claimstream_ports::mock::HandTimer;
use futures::future::pending;

use crate::{
    log::Log,
    play::{Answer, Bench, Play},
    slow_store::SlowStore,
};

/// Guard: a claim without an answer counts from when it was sent | src/report/pipeline_monitor.rs `after`: `began` is now
#[test]
fn a_claim_without_an_answer_counts_from_when_it_was_sent() {
    let (store, timer, mut bench) = (SlowStore::default(), HandTimer::default(), Bench::default());
    let ports = (Arc::new(store.clone()), Arc::new(store.clone()), Arc::new(timer.clone()));
    let relay = Relay::from_ports(ports.0, ports.1, ports.2, RelayConfig::default());
    let pipeline = relay.pipeline("orders", handler_fn(|_| async { Verdict::ack() })).unwrap();
    let monitor = pipeline.monitor();
    let _task = bench.start(pipeline.run_until(pending::<()>()));
    bench.settle();
    assert_eq!((store.waiting().0, timer.now()), (1, Duration::ZERO));
    while matches!(monitor.state(), PipelineState::Running) {
        assert!(timer.advance_to_next());
        bench.settle();
    }
    let PipelineState::Failing { failures: 1, since, .. } = monitor.state() else {
        panic!("{:?}", monitor.state())
    };
    assert_eq!(since, timer.now());
    assert!(since >= Duration::from_secs(10), "{since:?}");
}

/// Guard: claims that fail again and again are logged at growing distances | src/stream/claimer.rs `new`: limits of a thousand
#[test]
fn failing_claims_are_logged_at_growing_distances_with_the_count() {
    for kind in [StoreErrorKind::Unavailable, StoreErrorKind::Misconfigured] {
        let (log, mut bench) = (Log::of_this_thread(), Bench::default());
        let play = Play::new(vec![Answer::Fails(kind); 10_000]);
        let handler = handler_fn(|_| async { Verdict::ack() });
        let pipeline = play.relay(RelayConfig::default()).pipeline("orders", handler).unwrap();
        let _task = bench.start(pipeline.run_until(pending::<()>()));
        bench.pass(&play.timer, Duration::from_secs(120));
        let calls = play.stage().claims.len();
        let lines = log.lines("the claim failed; it is tried again");
        // At the beginning, and about 1, 3, 7, 15, 31 and 63 s later.
        assert!((5..=9).contains(&lines.len()) && calls > 20, "{calls} calls: {lines:#?}");
        assert!(!lines[0].contains("unlogged") && lines.iter().any(|line| line.contains("unlogged=")));
    }
}
