use std::{convert::Infallible, sync::Arc};

use claimstream_metrics::DatabaseLabel;
use claimstream_ports::Telemetry;
use claimstream_sea_orm::SeaOrmOutbox;
use claimstream_tokio::TokioTimer;

use crate::{
    config::Config,
    failure::Failure,
    open_databases::{Monitors, OpenDatabases},
    stopping::Stopping,
};

/// The probes of a program that was built without HTTP: there are none, and a configuration that asks for them is refused before.
pub(crate) enum Probing {}

impl Probing {
    pub(crate) async fn start(_: &Config, _: TokioTimer) -> Result<Option<Self>, Failure> {
        Ok(None)
    }

    pub(crate) fn counting(&self, _: DatabaseLabel) -> Counting {
        match *self {}
    }

    pub(crate) async fn run_several(self, _: OpenDatabases, _: Stopping) -> Infallible {
        match self {}
    }

    pub(crate) async fn run(self, _: SeaOrmOutbox, _: Monitors, _: Stopping) -> Infallible {
        match self {}
    }
}

/// What counts the queues for probes: nothing does.
pub(crate) enum Counting {}

impl Counting {
    pub(crate) fn telemetry(&self, _: DatabaseLabel) -> Arc<dyn Telemetry> {
        match *self {}
    }

    pub(crate) fn of(&self, _: DatabaseLabel) -> Self {
        match *self {}
    }

    pub(crate) async fn run(self, _: &SeaOrmOutbox) -> Infallible {
        match self {}
    }
}
