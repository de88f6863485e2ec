use std::{sync::Arc, time::Duration};

use claimstream::{
    BatchPipeline, ConcurrencyShare, PipelineMonitor, PipelineReport, Relay, RelayError, SharedConcurrency,
};
use claimstream_domain::{Invalid, RetryPolicy};
use claimstream_memory::MemoryTemplates;
use claimstream_notifications::{
    Digests, MessageConfig, MessageHandler, Priority, RequestConfig, RequestHandler,
};
use claimstream_ports::{BatchHandler, Telemetry};
use claimstream_sea_orm::SeaOrmOutbox;
use claimstream_tokio::TokioTimer;
use tokio::sync::watch;

use crate::{
    config::{Config, ConfigError},
    exporting::Exporting,
    pipeline_task::{PipelineTask, first_ended, reports},
    providers, recipients, template_source,
    wakeups::Wakeups,
};

/// The notification pipelines on one outbox: requests into messages, messages to their providers, each once for every priority.
#[must_use = "a relay does nothing unless it is run"]
#[derive(Debug)]
pub struct NotificationRelay {
    requests: Vec<BatchPipeline>,
    messages: Vec<BatchPipeline>,
}

/// What the pipelines of a relay share with others.
pub(crate) struct Surroundings {
    /// What wakes them.
    pub(crate) wakeups: Arc<Wakeups>,
    /// What measures them, if anything does.
    pub(crate) telemetry: Option<Arc<dyn Telemetry>>,
    /// What they have of the concurrency of the process, if that has a limit.
    pub(crate) share: Option<ConcurrencyShare>,
}

impl Surroundings {
    /// Those of a process that relays from one database.
    pub(crate) fn new(config: &Config) -> Self {
        // What is refused here is refused when a configuration is read.
        let limit = config.relay.process_concurrency.and_then(|most| SharedConcurrency::new(most).ok());
        let wakeups = Arc::new(Wakeups::of_relay(config));
        Self { wakeups, telemetry: None, share: limit.map(|limit| limit.share()) }
    }
}

/// What became of the messages that a relay claimed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RelayReport {
    /// Those of the requests' queues.
    pub requests: PipelineReport,
    /// Those of the messages' queues.
    pub messages: PipelineReport,
}

impl NotificationRelay {
    /// The pipelines that a configuration describes. Reads the directory and the templates and makes the providers; refuses
    /// what is missing or cannot be used.
    pub fn new(outbox: SeaOrmOutbox, config: &Config) -> Result<Self, ConfigError> {
        Self::with(&Surroundings::new(config), outbox, config)
    }

    /// The same pipelines, measured by `telemetry`.
    pub fn measured_by(
        telemetry: Arc<dyn Telemetry>,
        outbox: SeaOrmOutbox,
        config: &Config,
    ) -> Result<Self, ConfigError> {
        let around = Surroundings { telemetry: Some(telemetry), ..Surroundings::new(config) };
        Self::with(&around, outbox, config)
    }

    /// The same pipelines among what the process has around them.
    pub(crate) fn with(
        around: &Surroundings,
        outbox: SeaOrmOutbox,
        config: &Config,
    ) -> Result<Self, ConfigError> {
        let outbox = Arc::new(outbox);
        let claiming = config.database.claiming(&outbox);
        let requests = RequestConfig { chunk: config.notifications.chunk, retry: config.requests.clone() };
        let messages = MessageConfig { retry: config.messages.clone() };
        let pipeline = |priority, queue: &str, retry: &RetryPolicy, handler: &Arc<dyn BatchHandler>| {
            let timer = Arc::new(TokioTimer::new());
            let mut settings = config.relay.settings(retry.clone());
            if priority == Priority::High {
                settings.pacing.idle_max =
                    settings.pacing.idle_max.min(URGENT_IDLE).max(settings.pacing.idle_min);
            }
            let relay = Relay::from_ports(claiming.clone(), outbox.clone(), timer, settings);
            let relay = relay.with_wakeup(around.wakeups.clone());
            let relay = match &around.share {
                Some(share) => relay.with_share(share.clone()),
                None => relay,
            };
            let relay = match &around.telemetry {
                Some(telemetry) => relay.with_telemetry(Arc::clone(telemetry)),
                None => relay,
            };
            let relay = match &config.relay.label {
                Some(label) => relay.with_label(label).map_err(refused)?,
                None => relay,
            };
            let pipeline = relay.shared_batch_pipeline(queue, Arc::clone(handler));
            let pipeline = pipeline.map_err(|e| ConfigError::new(e.to_string()))?;
            // So a delivery that hangs takes one place and holds up no other.
            Ok(pipeline.at_once(config.relay.concurrency))
        };
        let request_retry = requests.pipeline_retry();
        let message_retry = messages.pipeline_retry();
        let templates =
            template_source(config, &outbox)?.unwrap_or_else(|| Arc::new(MemoryTemplates::new("en")));
        let fan_out = RequestHandler::new(
            outbox.clone(),
            outbox.clone(),
            recipients(config, &outbox)?,
            templates.clone(),
            requests,
        );
        let rules = config.notifications.digests();
        let digests = Digests::new(outbox.clone(), templates, rules.clone());
        let providers =
            providers(&config.channels, Arc::new(TokioTimer::new()), outbox.clone(), outbox.clone())?;
        let deliver = MessageHandler::new(outbox.clone(), providers, messages);
        let consents = config.notifications.consents.consents(&outbox)?;
        let fan_out = fan_out.map_err(refused)?.with_consents(consents.clone()).with_digests(rules);
        let fan_out = Exporting::of_handler(&config.otlp, fan_out);
        let deliver = deliver.map_err(refused)?.with_attempt_log(outbox.clone()).with_consents(consents);
        let deliver = deliver.with_suppressions(outbox.clone());
        let deliver = Exporting::of_handler(&config.otlp, deliver.with_digests(digests));
        let requests =
            |priority: Priority| pipeline(priority, priority.request_queue(), &request_retry, &fan_out);
        let messages =
            |priority: Priority| pipeline(priority, priority.message_queue(), &message_retry, &deliver);
        Ok(Self {
            requests: Priority::ALL.into_iter().map(requests).collect::<Result<_, _>>()?,
            messages: Priority::ALL.into_iter().map(messages).collect::<Result<_, _>>()?,
        })
    }

    /// Shows how each pipeline stands while it runs, with the name of its queue.
    pub fn monitors(&self) -> Vec<(String, PipelineMonitor)> {
        let named = |pipelines: &[BatchPipeline], name: fn(Priority) -> &'static str| {
            let pairs = Priority::ALL.into_iter().zip(pipelines);
            pairs.map(|(priority, it)| (name(priority).to_owned(), it.monitor())).collect::<Vec<_>>()
        };
        let mut all = named(&self.requests, |priority| priority.request_queue());
        all.extend(named(&self.messages, |priority| priority.message_queue()));
        all
    }

    /// Runs the pipelines, each as a task of its own, until `shutdown` is ready; then all end in order. No error of the store
    /// ends them; should one end by itself, the others end as well.
    ///
    /// Dropping the future stops all at once; what they held comes back when its leases end.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub async fn run_until(self, shutdown: impl Future<Output = ()>) -> Result<RelayReport, RelayError> {
        let (stop, stopped) = watch::channel(false);
        let run = |pipelines: Vec<BatchPipeline>| {
            pipelines
                .into_iter()
                .map(|pipeline| PipelineTask::run(pipeline, stopped.clone()))
                .collect::<Vec<_>>()
        };
        let (mut requests, mut messages) = (run(self.requests), run(self.messages));
        tokio::select! {
            () = shutdown => (),
            () = first_ended(requests.iter_mut().chain(&mut messages)) => (),
        }
        // The send fails only if all have ended already.
        let _ = stop.send(true);
        let (requests, messages) = (reports(requests).await, reports(messages).await);
        Ok(RelayReport { requests: requests?, messages: messages? })
    }
}

/// The longest wait of a pipeline of high priority while nothing is found: such requests come from other processes, whose wakeups may
/// not reach this one, and a recipient waits for them.
const URGENT_IDLE: Duration = Duration::from_millis(250);

fn refused(invalid: Invalid) -> ConfigError {
    ConfigError::new(invalid.to_string())
}
