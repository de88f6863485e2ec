use std::{io, sync::Arc, time::Duration};

use claimstream::{Lease, Relay, RelayConfig};
use claimstream_tokio::TokioTimer;
use futures::{FutureExt, future::try_join_all};
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use super::{Business, Databases, Failure};

/// What a worker is started with.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub(crate) struct Job {
    pub(crate) urls: Vec<String>,
    pub(crate) lease: Duration,
}

/// The life of a worker: a pipeline for the sagas of each home, until it is stopped or killed.
pub(crate) async fn live<B: Business>(job: &str) -> Result<(), Failure> {
    let job: Job = serde_json::from_str(job)?;
    let databases = Databases::open(&job.urls).await?;
    let stop = standard_input_ends().shared();
    let mut pipelines = Vec::new();
    for home in B::homes(&databases) {
        let saga = B::saga(home, &databases)?;
        let mut config = RelayConfig {
            lease: Lease::new(job.lease)?,
            retry: saga.config().pipeline_retry(),
            prefetch: 16,
            batch: 8,
            concurrency: 8,
            ..RelayConfig::default()
        };
        config.pacing.idle_max = Duration::from_millis(200);
        let relay = Relay::new(Arc::new(databases[home].clone()), TokioTimer::new(), config);
        pipelines.push(relay.pipeline(saga.queue().as_str(), saga)?.run_until(stop.clone()));
    }
    try_join_all(pipelines).await?;
    Ok(())
}

/// Ends when the parent process asks it to stop or is gone.
fn standard_input_ends() -> impl Future<Output = ()> {
    let (input, ended) = oneshot::channel::<()>();
    // A thread of its own, for nothing else can give up a read that does not end.
    std::thread::spawn(move || {
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        drop(input);
    });
    ended.map(|_| ())
}
