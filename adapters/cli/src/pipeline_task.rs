use claimstream::{BatchPipeline, PipelineReport, RelayError};
use futures::future::select_all;
use tokio::{sync::watch, task::JoinHandle};
use tracing::Instrument;

/// A pipeline that runs by itself and is stopped when its owner no longer waits for it.
pub(crate) struct PipelineTask {
    running: JoinHandle<Result<PipelineReport, RelayError>>,
    ended: Option<Result<PipelineReport, RelayError>>,
}

impl PipelineTask {
    /// Runs a pipeline until `stopped` says so.
    pub(crate) fn run(pipeline: BatchPipeline, mut stopped: watch::Receiver<bool>) -> Self {
        let shutdown = async move {
            // An error says that the sender is gone, and with it the pipeline.
            let _ = stopped.wait_for(|stopped| *stopped).await;
        };
        Self { running: tokio::spawn(pipeline.run_until(shutdown).in_current_span()), ended: None }
    }

    async fn ended(&mut self) {
        let ended = (&mut self.running).await;
        self.ended = Some(ended.unwrap_or_else(|lost| std::panic::resume_unwind(lost.into_panic())));
    }

    async fn report(mut self) -> Result<PipelineReport, RelayError> {
        if self.ended.is_none() {
            self.ended().await;
        }
        self.ended.take().unwrap_or_else(|| Ok(PipelineReport::default()))
    }
}

impl Drop for PipelineTask {
    fn drop(&mut self) {
        self.running.abort();
    }
}

/// Ends when one of the tasks has ended.
pub(crate) async fn first_ended(tasks: impl Iterator<Item = &mut PipelineTask>) {
    select_all(tasks.map(|task| Box::pin(task.ended()))).await;
}

/// What all of some pipelines came to, after each has ended.
pub(crate) async fn reports(tasks: Vec<PipelineTask>) -> Result<PipelineReport, RelayError> {
    let mut all = Ok(PipelineReport::default());
    for task in tasks {
        let report = task.report().await;
        all = match (all, report) {
            (Ok(all), Ok(report)) => Ok(sum(all, report)),
            (Err(error), _) | (_, Err(error)) => Err(error),
        };
    }
    all
}

fn sum(a: PipelineReport, b: PipelineReport) -> PipelineReport {
    PipelineReport {
        claimed: a.claimed + b.claimed,
        acked: a.acked + b.acked,
        nacked: a.nacked + b.nacked,
        buried: a.buried + b.buried,
        released: a.released + b.released,
        superseded: a.superseded + b.superseded,
        unsettled: a.unsettled + b.unsettled,
        panicked: a.panicked + b.panicked,
        timed_out: a.timed_out + b.timed_out,
    }
}
