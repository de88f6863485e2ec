use std::sync::Arc;

use claimstream::{BatchPipeline, LocalWakeup, PipelineReport, Relay, RelayError};
use claimstream_domain::{Invalid, RetryPolicy};
use claimstream_notifications::{
    MESSAGE_QUEUE, MessageConfig, MessageHandler, REQUEST_QUEUE, RequestConfig, RequestHandler,
};
use claimstream_ports::BatchHandler;
use claimstream_sea_orm::SeaOrmOutbox;
use claimstream_tokio::TokioTimer;
use tokio::{sync::watch, task::JoinHandle};

use crate::{
    config::{Config, ConfigError},
    directory, providers, templates,
};

/// Both notification pipelines on one outbox: requests into messages, messages to their providers.
#[must_use = "a relay does nothing unless it is run"]
#[derive(Debug)]
pub struct NotificationRelay {
    requests: BatchPipeline,
    messages: BatchPipeline,
}

/// What became of the messages that a relay claimed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RelayReport {
    /// Those of the requests' queue.
    pub requests: PipelineReport,
    /// Those of the messages' queue.
    pub messages: PipelineReport,
}

impl NotificationRelay {
    /// The pipelines that a configuration describes. Reads the directory and the templates and makes the providers; refuses
    /// what is missing or cannot be used.
    pub fn new(outbox: SeaOrmOutbox, config: &Config) -> Result<Self, ConfigError> {
        let (outbox, wakeup) = (Arc::new(outbox), Arc::new(LocalWakeup::new()));
        let claiming = config.database.claiming(&outbox);
        let requests = RequestConfig { chunk: config.notifications.chunk, retry: config.requests.clone() };
        let messages = MessageConfig { retry: config.messages.clone() };
        let pipeline = |queue: &str, retry: RetryPolicy, handler: Arc<dyn BatchHandler>| {
            let (timer, settings) = (Arc::new(TokioTimer::new()), config.relay.settings(retry));
            let relay = Relay::from_ports(claiming.clone(), outbox.clone(), timer, settings);
            let relay = relay.with_wakeup(wakeup.clone());
            let relay = match &config.relay.label {
                Some(label) => relay.with_label(label).map_err(refused)?,
                None => relay,
            };
            let pipeline = relay.shared_batch_pipeline(queue, handler);
            let pipeline = pipeline.map_err(|e| ConfigError::new(e.to_string()))?;
            // So a delivery that hangs takes one place and holds up no other.
            Ok(pipeline.at_once(config.relay.concurrency))
        };
        let request_retry = requests.pipeline_retry();
        let message_retry = messages.pipeline_retry();
        let fan_out = RequestHandler::new(
            outbox.clone(),
            outbox.clone(),
            Arc::new(directory(&config.notifications)?),
            Arc::new(templates(&config.notifications)?),
            requests,
        );
        let deliver = MessageHandler::new(outbox.clone(), providers(&config.channels)?, messages);
        Ok(Self {
            requests: pipeline(REQUEST_QUEUE, request_retry, Arc::new(fan_out.map_err(refused)?))?,
            messages: pipeline(MESSAGE_QUEUE, message_retry, Arc::new(deliver.map_err(refused)?))?,
        })
    }

    /// Runs both pipelines, each as a task of its own, until `shutdown` is ready; then both end in order. No error of the store
    /// ends them; should one end by itself, the other one ends as well.
    ///
    /// Dropping the future stops both at once; what they held comes back when its leases end.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub async fn run_until(self, shutdown: impl Future<Output = ()>) -> Result<RelayReport, RelayError> {
        let (stop, stopped) = watch::channel(false);
        let mut requests = Task::run(self.requests, stopped.clone());
        let mut messages = Task::run(self.messages, stopped);
        tokio::select! {
            () = shutdown => (),
            () = requests.ended() => (),
            () = messages.ended() => (),
        }
        // Nobody listens only if both have ended already.
        let _ = stop.send(true);
        let (requests, messages) = (requests.report().await, messages.report().await);
        Ok(RelayReport { requests: requests?, messages: messages? })
    }
}

/// A pipeline that runs by itself and is stopped when nobody waits for it any longer.
struct Task {
    running: JoinHandle<Result<PipelineReport, RelayError>>,
    ended: Option<Result<PipelineReport, RelayError>>,
}

impl Task {
    fn run(pipeline: BatchPipeline, mut stopped: watch::Receiver<bool>) -> Self {
        let shutdown = async move {
            // An error says that the sender is gone, and with it the pipeline.
            let _ = stopped.wait_for(|stopped| *stopped).await;
        };
        Self { running: tokio::spawn(pipeline.run_until(shutdown)), ended: None }
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

impl Drop for Task {
    fn drop(&mut self) {
        self.running.abort();
    }
}

fn refused(invalid: Invalid) -> ConfigError {
    ConfigError::new(invalid.to_string())
}
