//! The table of the queue is away: claims and settlements fail.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use claimstream::{Handler, PipelineMonitor, PipelineState, Verdict, handler_fn};
use claimstream_sea_orm::SeaOrmOutbox;
use tokio::sync::Semaphore;

use super::{
    running::Running,
    table::{open, rename, send, until},
};
use crate::backend::SeaOrmBackend;

pub(super) async fn claims_on(backend: &SeaOrmBackend) {
    let (outbox, queue) = open(backend).await;
    let counted = Arc::<AtomicUsize>::default();
    let running = Running::start(&outbox, &queue, {
        let counted = counted.clone();
        handler_fn(move |_| {
            counted.fetch_add(1, Ordering::SeqCst);
            async { Verdict::ack() }
        })
    });
    send(&outbox, &queue).await;
    until("the first message is handled", || counted.load(Ordering::SeqCst) == 1).await;
    rename(&outbox, "claimstream_queue", "claimstream_away").await;
    until("claims fail", || fails(&running.monitor, 3)).await;
    assert!(!running.task.is_finished(), "the pipeline has ended");
    rename(&outbox, "claimstream_away", "claimstream_queue").await;
    send(&outbox, &queue).await;
    until("the second message is handled", || counted.load(Ordering::SeqCst) == 2).await;
    // A call that was sent before the table was back may be the newest one that is answered.
    until("all calls are answered", || matches!(running.monitor.state(), PipelineState::Running)).await;
    assert_eq!(running.stop().await.acked, 2);
}

pub(super) async fn settles_on(backend: &SeaOrmBackend) {
    let (outbox, running, begun) = handled_meanwhile(backend).await;
    until("claims fail", || fails(&running.monitor, 3)).await;
    rename(&outbox, "claimstream_away", "claimstream_queue").await;
    until("claims are answered", || matches!(running.monitor.state(), PipelineState::Running)).await;
    let report = running.stop().await;
    assert_eq!((begun.load(Ordering::SeqCst), report.acked, report.unsettled), (1, 1, 0));
}

/// The queue stays away: what was handled cannot be settled, and the lease is longer than this test may take.
pub(super) async fn ends_after_its_drain_time(backend: &SeaOrmBackend) {
    let (_outbox, running, _) = handled_meanwhile(backend).await;
    until("claims fail", || fails(&running.monitor, 1)).await;
    let report = running.stop().await;
    assert_eq!((report.claimed, report.unsettled), (1, 1));
}

/// A pipeline whose one handler ends when the queue is away, and how many handlers have begun.
async fn handled_meanwhile(backend: &SeaOrmBackend) -> (SeaOrmOutbox, Running, Arc<AtomicUsize>) {
    let (outbox, queue) = open(backend).await;
    let (begun, go_on) = (Arc::<AtomicUsize>::default(), Arc::new(Semaphore::new(0)));
    let running = Running::start(&outbox, &queue, waiting(&begun, &go_on));
    send(&outbox, &queue).await;
    until("the handler has begun", || begun.load(Ordering::SeqCst) == 1).await;
    rename(&outbox, "claimstream_queue", "claimstream_away").await;
    go_on.add_permits(1);
    (outbox, running, begun)
}

/// Counts each message and waits for a permit.
pub(super) fn waiting(begun: &Arc<AtomicUsize>, go_on: &Arc<Semaphore>) -> impl Handler + use<> {
    let (begun, go_on) = (begun.clone(), go_on.clone());
    handler_fn(move |_| {
        begun.fetch_add(1, Ordering::SeqCst);
        let go_on = go_on.clone();
        async move {
            go_on.acquire().await.expect("a permit").forget();
            Verdict::ack()
        }
    })
}

fn fails(monitor: &PipelineMonitor, times: u32) -> bool {
    matches!(monitor.state(), PipelineState::Failing { failures, .. } if failures >= times)
}
