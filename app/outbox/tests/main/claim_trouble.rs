//! A store that answers no claims: what a monitor shows.
//! Promise: a store that is silent is shown as failing since it was asked

use std::{sync::Arc, time::Duration};

use claimstream::{PipelineState, Relay, RelayConfig, Timer, Verdict, handler_fn};
use claimstream_ports::mock::HandTimer;
use futures::future::pending;

use crate::{play::Bench, slow_store::SlowStore};

/// Guard: a claim without an answer counts from when it was sent | src/pipeline_monitor.rs `after`: `began` is now
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
