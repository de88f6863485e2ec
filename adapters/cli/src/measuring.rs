use std::sync::Arc;

#[cfg(feature = "http")]
use claimstream_http::Service;
use claimstream_metrics::DatabaseLabel;
use claimstream_ports::Telemetry;
use claimstream_sea_orm::SeaOrmOutbox;
use claimstream_tokio::TokioTimer;

use crate::{
    config::{Config, DatabaseSettings},
    exporting::Exporting,
    failure::Failure,
    probing::{Counting, Probing},
};

/// What measures a process that delivers or serves: its probes, and the collector that it sends to.
pub(crate) struct Measuring {
    pub(crate) probing: Option<Probing>,
    counting: Option<Counting>,
    exporting: Option<Exporting>,
}

impl Measuring {
    /// Begins to measure as the configuration says.
    pub(crate) async fn start(config: &Config, timer: TokioTimer) -> Result<Self, Failure> {
        let exporting = Exporting::start(&config.otlp, timer)?;
        let probing = Probing::start(config, timer).await?;
        let counting = probing.as_ref().map(|probing| probing.counting(DatabaseLabel::default()));
        Ok(Self { probing, counting, exporting })
    }

    /// What relays and stores are to be measured by; `None` if nothing measures.
    pub(crate) fn telemetry(&self) -> Option<Arc<dyn Telemetry>> {
        self.telemetry_in(&DatabaseLabel::default())
    }

    /// The same for one of several databases. A collector is sent no label of it.
    pub(crate) fn telemetry_in(&self, database: &DatabaseLabel) -> Option<Arc<dyn Telemetry>> {
        let mut all: Vec<Arc<dyn Telemetry>> = Vec::new();
        all.extend(self.counting.as_ref().map(|counting| counting.telemetry(database.clone())));
        all.extend(self.exporting.iter().flat_map(Exporting::telemetry));
        match all.len() {
            0 | 1 => all.pop(),
            _ => Some(Arc::new(all)),
        }
    }

    /// What counts the queues of one of several databases, if there are probes that show it.
    pub(crate) fn counting(&self, database: DatabaseLabel) -> Option<Counting> {
        self.counting.as_ref().map(|counting| counting.of(database))
    }

    /// Opens the outbox, measured by `telemetry`.
    pub(crate) async fn open(
        telemetry: Option<&Arc<dyn Telemetry>>,
        database: &DatabaseSettings,
    ) -> Result<SeaOrmOutbox, Failure> {
        Ok(match telemetry {
            Some(telemetry) => database.open_measured(Arc::clone(telemetry)).await?,
            None => database.open().await?,
        })
    }

    /// A service whose requests are measured.
    #[cfg(feature = "http")]
    pub(crate) fn of_service(&self, service: Service, timer: TokioTimer) -> Service {
        let counted = move |router| crate::served_requests::counted(router, timer);
        let service = if self.counting.is_some() { service.within(counted) } else { service };
        match &self.exporting {
            Some(exporting) => exporting.of_service(service),
            None => service,
        }
    }

    /// Sends what is left to the collector.
    pub(crate) async fn finish(self) {
        if let Some(exporting) = self.exporting {
            exporting.finish().await;
        }
    }
}
