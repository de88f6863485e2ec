use std::{convert::Infallible, sync::Arc, time::Duration};

use claimstream_http::{Probes, Server};
use claimstream_metrics::{
    DatabaseLabel, MetricsTelemetry, PipelineHealth, QueueGauges, SECONDS_BUCKETS, begin_at_zero, describe,
    show_pipeline,
};
use claimstream_ports::{Observe, PauseQueues, Telemetry, Timer};
use claimstream_sea_orm::SeaOrmOutbox;
use claimstream_tokio::TokioTimer;
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use tokio::sync::Mutex;

use crate::{
    config::Config,
    failure::Failure,
    open_databases::{Monitors, OpenDatabases},
    readiness::ProcessReadiness,
    several_readiness::SeveralReadiness,
    stopping::Stopping,
};

/// The probes of a process that delivers: they say whether it is ready, and show what it has measured.
pub(crate) struct Probing {
    server: Server,
    exporter: PrometheusHandle,
    count_every: Duration,
    silence: Duration,
    timer: TokioTimer,
}

impl Probing {
    /// A pipeline that has not moved for so long stands still, unless its leases are renewed less often.
    const SILENCE: Duration = Duration::from_secs(25);
    /// Counting takes no more than one part in so many of a connection's time.
    const SHARE: u32 = 50;

    /// Listens where `probes.listen` says, and begins to count; `None` if it says nothing.
    pub(crate) async fn start(config: &Config, timer: TokioTimer) -> Result<Option<Self>, Failure> {
        let Some(address) = config.probes.listen else { return Ok(None) };
        let refused = |e| Failure::Refused(format!("`probes.listen`: {address} cannot be listened at: {e}"));
        let server = Server::bind(address, Arc::new(timer)).await.map_err(refused)?;
        let address = server.address().map_err(refused)?;
        let exporter = recorder().map_err(|e| Failure::Refused(format!("no metrics can be kept: {e}")))?;
        describe();
        metrics::describe_gauge!(
            "claimstream_build_info",
            "Always 1; the label has the version of the program"
        );
        metrics::gauge!("claimstream_build_info", "version" => env!("CARGO_PKG_VERSION")).set(1.0);
        tracing::info!(probes = %address, "probes started: /healthz, /readyz, /metrics");
        let renewing = config.relay.lease.renew_after() + Duration::from_secs(10);
        let (count_every, silence) = (config.probes.count_every, Self::SILENCE.max(renewing));
        Ok(Some(Self { server, exporter, count_every, silence, timer }))
    }

    /// What the probes ask about: the database, its pipelines with the names of their queues, and whether the process stops.
    fn readiness(&self, outbox: &SeaOrmOutbox, pipelines: Monitors, stopping: Stopping) -> ProcessReadiness {
        ProcessReadiness {
            messages: Arc::new(outbox.clone()),
            pipelines,
            silence: self.silence,
            stopping,
            timer: self.timer,
            looked: Mutex::default(),
        }
    }

    /// What counts the queues of one of several databases.
    pub(crate) fn counting(&self, database: DatabaseLabel) -> Counting {
        let (exporter, every, timer) = (self.exporter.clone(), self.count_every, self.timer);
        Counting { exporter, every, database, timer }
    }

    /// Serves the probes of a process that has several databases, for as long as it is polled; each counts its queues itself.
    pub(crate) async fn run_several(self, databases: OpenDatabases, stopping: Stopping) -> Infallible {
        let (exporter, silence) = (self.exporter, self.silence);
        let readiness = SeveralReadiness { databases: databases.clone(), silence, stopping };
        let probes = Probes::new(Arc::new(readiness), move || {
            databases.show(silence);
            exporter.render()
        });
        self.server.run_probes(probes).await
    }

    /// Serves the probes and counts the queues, for as long as it is polled.
    pub(crate) async fn run(
        self,
        outbox: SeaOrmOutbox,
        pipelines: Monitors,
        stopping: Stopping,
    ) -> Infallible {
        let readiness = Arc::new(self.readiness(&outbox, pipelines, stopping));
        let exporter = self.exporter.clone();
        let pipelines = Arc::clone(&readiness);
        pipelines.faults().for_each(|(queue, _)| begin_at_zero(queue));
        let probes = Probes::new(readiness, move || {
            show_pipelines(&pipelines);
            exporter.render()
        });
        let counting = self.counting(DatabaseLabel::default());
        let serving = self.server.run_probes(probes);
        tokio::join!(serving, counting.run(&outbox)).0
    }
}

/// Shows of each pipeline whether it works, as `/readyz` says it.
fn show_pipelines(readiness: &ProcessReadiness) {
    for (queue, fault) in readiness.faults() {
        let health = fault.map_or(PipelineHealth::Works, |_| PipelineHealth::Fails);
        show_pipeline(queue, health);
    }
}

/// Counts the queues of one database, again and again.
#[derive(Clone)]
pub(crate) struct Counting {
    exporter: PrometheusHandle,
    every: Duration,
    database: DatabaseLabel,
    timer: TokioTimer,
}

impl Counting {
    /// What the outbox and its relays are to be measured by.
    pub(crate) fn telemetry(&self, database: DatabaseLabel) -> Arc<dyn Telemetry> {
        Arc::new(MetricsTelemetry::in_database(database))
    }

    /// The same for one of several databases.
    pub(crate) fn of(&self, database: DatabaseLabel) -> Self {
        Self { database, ..self.clone() }
    }

    /// Shows how the queues stand, for as long as it is polled.
    pub(crate) async fn run(self, outbox: &SeaOrmOutbox) -> Infallible {
        let mut gauges = QueueGauges::in_database(self.database);
        loop {
            let asked = self.timer.now();
            match outbox.observe().await {
                Ok(queues) => gauges.show(&queues),
                Err(error) => tracing::warn!(%error, "the queues were not counted for the metrics"),
            }
            match outbox.paused().await {
                Ok(paused) => gauges.show_paused(&paused),
                Err(error) => tracing::warn!(%error, "the metrics do not show which queues are paused"),
            }
            self.exporter.run_upkeep();
            let took = self.timer.now() - asked;
            self.timer.sleep(self.every.max(took * Probing::SHARE)).await;
        }
    }
}

fn recorder() -> Result<PrometheusHandle, metrics_exporter_prometheus::BuildError> {
    PrometheusBuilder::new().set_buckets(&SECONDS_BUCKETS)?.install_recorder()
}
