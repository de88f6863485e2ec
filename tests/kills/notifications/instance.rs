use std::{io, path::PathBuf, sync::Arc, time::Duration};

use claimstream::{Jitter, Lease, Relay, RelayConfig, RetryPolicy};
use claimstream_domain::notification::Channel;
use claimstream_memory::{MemoryDirectory, MemoryTemplates};
use claimstream_notifications::{
    MESSAGE_QUEUE, MessageConfig, MessageHandler, Providers, REQUEST_QUEUE, RequestConfig, RequestHandler,
};
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};
use claimstream_tokio::{TokioTimer, shutdown_signal};
use futures::FutureExt;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use crate::{Failure, load::FILES, sink::SinkProvider};

/// What a relay process is started with.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub(crate) struct Job {
    pub(crate) database: String,
    pub(crate) strategy: String,
    pub(crate) folder: PathBuf,
    pub(crate) lease: Duration,
    /// The number of the process.
    pub(crate) process: u32,
}

/// How many requests, and how many deliveries, are under way at once.
const AT_ONCE: u32 = 100;

/// The life of a relay process: both pipelines, until it is stopped or killed.
pub(crate) async fn live(job: &str) -> Result<(), Failure> {
    let job: Job = serde_json::from_str(job)?;
    let outbox = Arc::new(open(&job.database, &job.strategy).await?);
    let stop = stop_requested()?.shared();
    let fan_out = RequestConfig { retry: retry(), ..RequestConfig::default() };
    let deliver = MessageConfig { retry: retry() };
    let relay = |retry| -> Result<Relay, Failure> {
        Ok(Relay::new(outbox.clone(), TokioTimer::new(), settings(job.lease, retry)?))
    };
    let (requests, messages) = (relay(fan_out.pipeline_retry())?, relay(deliver.pipeline_retry())?);
    let fan_out = RequestHandler::new(outbox.clone(), outbox.clone(), directory()?, templates()?, fan_out)?;
    let deliver = MessageHandler::new(outbox.clone(), providers(&job)?, deliver)?;
    let requests = requests.batch_pipeline(REQUEST_QUEUE, fan_out)?.at_once(AT_ONCE).run_until(stop.clone());
    let messages = messages.batch_pipeline(MESSAGE_QUEUE, deliver)?.at_once(AT_ONCE).run_until(stop);
    futures::try_join!(requests, messages)?;
    Ok(())
}

/// Ends when the standard input does, because the parent process asks it to stop or is gone; or by a signal.
fn stop_requested() -> Result<impl Future<Output = ()>, Failure> {
    let signal = shutdown_signal()?;
    let (input, ended) = oneshot::channel::<()>();
    // A thread of its own, for nothing else can give up a read that does not end.
    std::thread::spawn(move || {
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        drop(input);
    });
    Ok(async move {
        tokio::select! {
            _ = ended => (),
            () = signal => (),
        }
    })
}

/// The outbox of all processes.
pub(crate) async fn open(database: &str, strategy: &str) -> Result<SeaOrmOutbox, Failure> {
    let options = OpenOptions { strategy: strategy.parse()?, ..OpenOptions::default() };
    Ok(SeaOrmOutbox::open(database, options).await?)
}

/// The people that requests name.
pub(crate) fn directory() -> Result<Arc<MemoryDirectory>, Failure> {
    Ok(Arc::new(file("directory.json")?.parse::<MemoryDirectory>()?))
}

/// The files' content.
pub(crate) fn templates() -> Result<Arc<MemoryTemplates>, Failure> {
    Ok(Arc::new(file("templates.json")?.parse::<MemoryTemplates>()?))
}

fn file(name: &str) -> Result<String, Failure> {
    let path = PathBuf::from(FILES).join(name);
    std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()).into())
}

/// Short waits, so that the show ends within seconds; five attempts.
fn retry() -> RetryPolicy {
    let (base, cap) = (Duration::from_millis(200), Duration::from_secs(2));
    RetryPolicy { base, cap, max_attempts: 5, jitter: Jitter::Full }
}

fn settings(lease: Duration, retry: RetryPolicy) -> Result<RelayConfig, Failure> {
    let mut settings = RelayConfig { lease: Lease::new(lease)?, retry, ..RelayConfig::default() };
    settings.pacing.idle_max = Duration::from_millis(500);
    Ok(settings)
}

fn providers(job: &Job) -> Result<Providers, Failure> {
    let sink = Arc::new(SinkProvider::open(&job.folder, job.process)?);
    Ok(Channel::ALL.into_iter().fold(Providers::new(), |all, channel| all.with(channel, sink.clone())))
}
