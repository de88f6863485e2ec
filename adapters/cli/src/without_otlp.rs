use std::sync::Arc;

#[cfg(feature = "http")]
use claimstream_http::Service;
use claimstream_ports::{BatchHandler, Telemetry};
use claimstream_tokio::TokioTimer;

use crate::{config::Otlp, failure::Failure, not_built::not_built};

/// What sends spans and metrics to a collector: there is nothing that does, because the program was built without it.
pub(crate) enum Exporting {}

impl Exporting {
    /// Sends nothing; a configuration that names a collector is refused before.
    pub(crate) fn start(otlp: &Otlp, _: TokioTimer) -> Result<Option<Self>, Failure> {
        match otlp.endpoint {
            Some(_) => Err(Failure::Refused(not_built("OpenTelemetry", "otlp"))),
            None => Ok(None),
        }
    }

    pub(crate) fn telemetry(&self) -> Vec<Arc<dyn Telemetry>> {
        match *self {}
    }

    #[cfg(feature = "http")]
    pub(crate) fn of_service(&self, _: Service) -> Service {
        match *self {}
    }

    pub(crate) fn of_handler(_: &Otlp, handler: impl BatchHandler + 'static) -> Arc<dyn BatchHandler> {
        Arc::new(handler)
    }

    pub(crate) async fn finish(self) {
        match self {}
    }
}
