use std::{convert::Infallible, future::pending, process::ExitCode, sync::Arc};

use claimstream::{PipelineMonitor, RelayError};
use claimstream_ports::Telemetry;
use claimstream_sea_orm::SeaOrmOutbox;
use claimstream_tokio::shutdown_signal;
use futures::{FutureExt, future::BoxFuture};
use tokio::sync::oneshot;

use super::relay_several;
use crate::{
    Exit, NotificationRelay, PublishRelay, RelayReport,
    config::{Config, ConfigError, Loaded, TargetName},
    emptied::emptied,
    failure::Failure,
    measuring::Measuring,
    one_relay::Until,
    probing::Probing,
    readiness::Stopping,
    relay_log::{announce, log_ended, log_report},
    tally::Tally,
    told_again::told_again,
    unpublished::Unpublished,
};

/// What a relay does.
enum Work {
    Notifications(NotificationRelay),
    Publishing(PublishRelay),
}

/// Delivers notifications, or publishes the queues of these targets, until told to stop, or until there is nothing left to do now.
pub(super) async fn run(
    publish: Option<Vec<TargetName>>,
    until_empty: bool,
    loaded: &Loaded,
) -> Result<ExitCode, Failure> {
    let config = &loaded.config;
    if config.has_several_databases() {
        if publish.is_some() {
            let why = "`relay --publish` works on one database; name it with --database, and run a process for each";
            return Err(Failure::Refused(why.into()));
        }
        let until = if until_empty { Until::Empty } else { Until::Told };
        return relay_several::run(until, loaded).await;
    }
    let mut measuring = Measuring::start(config).await?;
    let telemetry = measuring.telemetry();
    let outbox = Measuring::open(telemetry.as_ref(), config).await?;
    let tally = Arc::new(Tally::default());
    let telemetry = tally.beside(telemetry);
    let relay = Work::of(publish, telemetry, &outbox, config)?;
    let monitors = relay.monitors();
    let unpublished = relay.unpublished();
    let queues: Vec<String> = monitors.iter().map(|(queue, _)| queue.clone()).collect();
    let stopping = Stopping::default();
    let probes = probes(measuring.probing.take(), &outbox, monitors, &stopping);
    announce(&config.database, &outbox);
    let signal = shutdown_signal()?;
    let (tell, told) = oneshot::channel();
    let shutdown = async {
        tokio::select! {
            () = signal => {
                stopping.begin();
                tracing::info!(drain_seconds = config.relay.drain.as_secs_f64(), "relay stops after the messages in hand; a second signal stops it at once");
                // Nobody listens only if the relay has ended meanwhile.
                let _ = tell.send(());
            }
            () = emptied(&queues, &unpublished, &outbox, &outbox), if until_empty => tracing::info!("nothing is due or leased"),
        }
    };
    let finished = tokio::select! {
        report = relay.run_until(shutdown) => {
            tally.log();
            report?
        }
        never = tally.log_regularly() => match never {},
        interrupted = told_again(told) => return Ok(interrupted?),
        never = outbox.sweep_regularly() => match never {},
        never = probes => match never {},
    };
    if until_empty {
        // A run of a script is seldom long enough for the regular one.
        tokio::select! {
            swept = outbox.sweep() => { swept?; }
            () = shutdown_signal()? => {}
        }
    }
    measuring.finish().await;
    match until_empty && unpublished.is_left(&outbox).await? {
        true => Ok(Exit::NotDone.into()),
        false => Ok(finished),
    }
}

impl Work {
    fn of(
        publish: Option<Vec<TargetName>>,
        telemetry: Arc<dyn Telemetry>,
        outbox: &SeaOrmOutbox,
        config: &Config,
    ) -> Result<Self, ConfigError> {
        match publish {
            Some(names) => {
                PublishRelay::new(&names, Some(telemetry), outbox.clone(), config).map(Self::Publishing)
            }
            None => {
                NotificationRelay::measured_by(telemetry, outbox.clone(), config).map(Self::Notifications)
            }
        }
    }

    fn monitors(&self) -> Vec<(String, PipelineMonitor)> {
        match self {
            Self::Notifications(relay) => relay.monitors(),
            Self::Publishing(relay) => relay.monitors(),
        }
    }

    /// What it publishes.
    fn unpublished(&self) -> Unpublished {
        match self {
            Self::Notifications(_) => Unpublished::default(),
            Self::Publishing(relay) => Unpublished::of(relay.brokers()),
        }
    }

    /// Runs until `shutdown` is ready, and logs what became of the messages.
    async fn run_until(self, shutdown: impl Future<Output = ()>) -> Result<ExitCode, RelayError> {
        match self {
            Self::Notifications(relay) => relay.run_until(shutdown).await.map(finished),
            Self::Publishing(relay) => {
                let report = relay.run_until(shutdown).await?;
                log_report(None, "published", report);
                tracing::info!("relay stopped");
                Ok(ExitCode::SUCCESS)
            }
        }
    }
}

/// Serves the probes, if there are any, for as long as it is polled.
pub(super) fn probes(
    probing: Option<Probing>,
    outbox: &SeaOrmOutbox,
    pipelines: Vec<(String, PipelineMonitor)>,
    stopping: &Stopping,
) -> BoxFuture<'static, Infallible> {
    let Some(probing) = probing else { return pending().boxed() };
    let (readiness, outbox) = (probing.readiness(outbox, pipelines, stopping), outbox.clone());
    async move { probing.run(readiness, &outbox).await }.boxed()
}

pub(super) fn finished(report: RelayReport) -> ExitCode {
    log_ended(None, report);
    tracing::info!("relay stopped");
    ExitCode::SUCCESS
}
