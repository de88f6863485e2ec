use std::{sync::Arc, time::Duration};

use claimstream::{
    Handler, Lease, Pacing, PipelineMonitor, PipelineReport, Relay, RelayConfig, RelayError, RetryPolicy,
};
use claimstream_domain::QueueName;
use claimstream_sea_orm::SeaOrmOutbox;
use claimstream_tokio::TokioTimer;
use tokio::sync::oneshot;

/// A pipeline in a task.
pub(super) struct Running {
    pub(super) monitor: PipelineMonitor,
    stop: oneshot::Sender<()>,
    pub(super) task: tokio::task::JoinHandle<Result<PipelineReport, RelayError>>,
}

impl Running {
    pub(super) fn start(outbox: &SeaOrmOutbox, queue: &QueueName, handler: impl Handler + 'static) -> Self {
        Self::start_with(outbox, queue, handler, RetryPolicy::default())
    }

    pub(super) fn start_with(
        outbox: &SeaOrmOutbox,
        queue: &QueueName,
        handler: impl Handler + 'static,
        retry: RetryPolicy,
    ) -> Self {
        let config = RelayConfig {
            // Longer than the test, so that nothing comes back by itself.
            lease: Lease::new(Duration::from_secs(3600)).expect("a lease"),
            drain: Duration::from_secs(1),
            pacing: Pacing { idle_max: Duration::from_millis(200), ..Pacing::default() },
            retry,
            ..RelayConfig::default()
        };
        let relay = Relay::new(Arc::new(outbox.clone()), TokioTimer::new(), config);
        let pipeline = relay.pipeline(queue.clone(), handler).expect("a pipeline");
        let monitor = pipeline.monitor();
        let (stop, stopped) = oneshot::channel::<()>();
        let task = tokio::spawn(pipeline.run_until(async move {
            let _ = stopped.await;
        }));
        Self { monitor, stop, task }
    }

    pub(super) async fn stop(self) -> PipelineReport {
        let _ = self.stop.send(());
        self.task.await.expect("no panic").expect("a report")
    }
}
