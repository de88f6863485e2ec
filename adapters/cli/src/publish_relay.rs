use std::sync::Arc;

use claimstream::{BatchPipeline, PipelineMonitor, PipelineReport, Relay, RelayError};
use claimstream_domain::{Invalid, QueueName, RetryPolicy};
use claimstream_ports::{BatchHandler, Telemetry};
use claimstream_publishing::{BrokerStanding, CopyHandler, PublishHandler};
use claimstream_sea_orm::SeaOrmOutbox;
use claimstream_tokio::TokioTimer;
use tokio::sync::watch;

use crate::{
    broker::Broker,
    config::{Config, ConfigError, Publishing, TargetName, copy_queue},
    exporting::Exporting,
    notification_relay::Surroundings,
    pipeline_task::{PipelineTask, first_ended, reports},
    renewed_broker::RenewedBroker,
};

/// The pipelines that publish queues to brokers: one for each target, and one for each queue that several targets share, which
/// copies its messages.
#[must_use = "a relay does nothing unless it is run"]
#[derive(Debug)]
pub struct PublishRelay {
    pipelines: Vec<(QueueName, BatchPipeline)>,
    /// Each queue that is published, its target, and how the broker of that stands.
    brokers: Vec<(QueueName, TargetName, BrokerStanding)>,
}

impl PublishRelay {
    /// The pipelines of these targets, or of all; refuses a name that no section has, and settings that nothing could be published by.
    pub fn new(
        names: &[TargetName],
        telemetry: Option<Arc<dyn Telemetry>>,
        outbox: SeaOrmOutbox,
        config: &Config,
    ) -> Result<Self, ConfigError> {
        let around = Surroundings { telemetry, ..Surroundings::new(config) };
        Self::with(&around, names, outbox, config)
    }

    /// The same pipelines among what the process has around them.
    pub(crate) fn with(
        around: &Surroundings,
        names: &[TargetName],
        outbox: SeaOrmOutbox,
        config: &Config,
    ) -> Result<Self, ConfigError> {
        let make = Composition { around, outbox: Arc::new(outbox), config };
        let (mut pipelines, mut brokers) = (Vec::new(), Vec::new());
        for planned in plan(names, &config.publish)? {
            pipelines.push(match planned {
                Planned::Copies { queue, to } => make.pipeline(&queue, CopyHandler::new(to))?,
                Planned::Target { queue, name } => {
                    let publisher = make.publisher(&name)?;
                    brokers.push((queue.clone(), name, publisher.standing()));
                    make.pipeline(&queue, publisher)?
                }
            });
        }
        Ok(Self { pipelines, brokers })
    }

    /// The queues that are published, each with its target, and how the broker of that stands, also while the relay runs.
    pub(crate) fn brokers(&self) -> Vec<(QueueName, TargetName, BrokerStanding)> {
        self.brokers.clone()
    }

    /// Shows how each pipeline stands while it runs, with the name of its queue.
    pub fn monitors(&self) -> Vec<(String, PipelineMonitor)> {
        self.pipelines.iter().map(|(queue, it)| (queue.to_string(), it.monitor())).collect()
    }

    /// Runs the pipelines, each as a task of its own, until `shutdown` is ready; then all end in order. No error of the store or of a
    /// broker ends them; should one end by itself, the others end as well.
    ///
    /// Dropping the future stops all at once; what they held comes back when its leases end.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub async fn run_until(self, shutdown: impl Future<Output = ()>) -> Result<PipelineReport, RelayError> {
        let (stop, stopped) = watch::channel(false);
        let run = |(_, pipeline)| PipelineTask::run(pipeline, stopped.clone());
        let mut tasks: Vec<_> = self.pipelines.into_iter().map(run).collect();
        tokio::select! {
            () = shutdown => (),
            () = first_ended(tasks.iter_mut()) => (),
        }
        // The send fails only if all have ended already.
        let _ = stop.send(true);
        reports(tasks).await
    }
}

/// What one pipeline does.
pub(crate) enum Planned {
    /// Copies the messages of a queue into others.
    Copies { queue: QueueName, to: Vec<QueueName> },
    /// Publishes a queue to a target.
    Target { queue: QueueName, name: TargetName },
}

impl Planned {
    /// The queue that it reads.
    pub(crate) fn queue(&self) -> &QueueName {
        match self {
            Self::Copies { queue, .. } | Self::Target { queue, .. } => queue,
        }
    }
}

/// The pipelines for these targets, or for all; refuses a name that no section has.
pub(crate) fn plan(names: &[TargetName], publishing: &Publishing) -> Result<Vec<Planned>, ConfigError> {
    if publishing.named.is_empty() {
        let why = "nothing says which queues are published; add a section [publish.NAME] with a queue and to";
        return Err(ConfigError::new(why.into()));
    }
    if let Some(unknown) = names.iter().find(|name| !publishing.named.contains_key(name)) {
        let known: Vec<&str> = publishing.named.keys().map(TargetName::as_str).collect();
        let known = known.join(", ");
        return Err(ConfigError::new(format!("there is no section [publish.{unknown}]; there are {known}")));
    }
    let mut planned = Vec::new();
    for (queue, all) in publishing.by_queue() {
        let is_chosen = |name: &&TargetName| names.is_empty() || names.contains(name);
        let chosen: Vec<TargetName> = all.iter().copied().filter(is_chosen).cloned().collect();
        if chosen.is_empty() {
            continue;
        }
        let is_shared = all.len() > 1;
        if is_shared {
            let to = all.iter().map(|name| copy_queue(&queue, name)).collect::<Result<_, _>>();
            planned.push(Planned::Copies { queue: queue.clone(), to: to.map_err(refused)? });
        }
        for name in chosen {
            let queue = if is_shared { copy_queue(&queue, &name).map_err(refused)? } else { queue.clone() };
            planned.push(Planned::Target { queue, name });
        }
    }
    Ok(planned)
}

/// What all pipelines of the relay are made of.
struct Composition<'a> {
    around: &'a Surroundings,
    outbox: Arc<SeaOrmOutbox>,
    config: &'a Config,
}

impl Composition<'_> {
    fn pipeline(
        &self,
        queue: &QueueName,
        handler: impl BatchHandler + 'static,
    ) -> Result<(QueueName, BatchPipeline), ConfigError> {
        let settings = self.config.relay.settings(RetryPolicy::default());
        let claiming = self.config.database.claiming(&self.outbox);
        let relay = Relay::from_ports(claiming, self.outbox.clone(), Arc::new(TokioTimer::new()), settings);
        let relay = relay.with_wakeup(self.around.wakeups.clone());
        let relay = match &self.around.share {
            Some(share) => relay.with_share(share.clone()),
            None => relay,
        };
        let relay = match &self.around.telemetry {
            Some(telemetry) => relay.with_telemetry(Arc::clone(telemetry)),
            None => relay,
        };
        let relay = match &self.config.relay.label {
            Some(label) => relay.with_label(label).map_err(refused)?,
            None => relay,
        };
        let pipeline =
            relay.shared_batch_pipeline(queue.as_str(), Exporting::of_handler(&self.config.otlp, handler));
        pipeline.map(|pipeline| (queue.clone(), pipeline)).map_err(|e| ConfigError::new(e.to_string()))
    }

    fn publisher(&self, name: &TargetName) -> Result<PublishHandler, ConfigError> {
        let settings = self.config.publish.of(name).unwrap_or_default();
        let broker = Broker::of(&settings);
        let broker =
            broker.map_err(|(key, why)| ConfigError::new(format!("`publish.{name}.{key}`: {why}")))?;
        let lacking = || ConfigError::new(format!("`publish.{name}.place`: a target needs a place"));
        let route = settings.route().ok_or_else(lacking)?;
        let broker = Arc::new(RenewedBroker::new(settings, &broker));
        Ok(PublishHandler::new(name.as_str(), broker, route, Arc::new(TokioTimer::new())))
    }
}

fn refused(invalid: Invalid) -> ConfigError {
    ConfigError::new(invalid.to_string())
}
