use std::sync::Arc;

use claimstream::{PipelineMonitor, PipelineReport, RelayError};
use claimstream_notifications::Priority;
use claimstream_sea_orm::{Capability, SeaOrmOutbox};

use crate::{
    NotificationRelay, PublishRelay, RelayReport,
    config::{Config, ConfigError, DatabaseName, DatabaseSettings, TargetName},
    notification_relay::Surroundings,
    publish_relay::plan,
    relay_log::{log_ended, log_report},
    unpublished::Unpublished,
};

/// What a relay is run for.
#[derive(Clone, Debug)]
pub(crate) enum Purpose {
    /// To deliver notifications.
    Notifications,
    /// To publish the queues of these targets, or of all.
    Publishing(Arc<[TargetName]>),
}

/// The pipelines of a relay on one database.
#[must_use = "a relay does nothing unless it is run"]
pub(crate) enum RelayPipelines {
    Notifications(NotificationRelay),
    Publishing(PublishRelay),
}

/// What became of the messages that a relay claimed.
pub(crate) enum WorkReport {
    Notifications(RelayReport),
    Publishing(PipelineReport),
}

impl Purpose {
    /// As the arguments of `relay` say.
    pub(crate) fn of(publish: Option<Vec<TargetName>>) -> Self {
        publish.map_or(Self::Notifications, |names| Self::Publishing(names.into()))
    }

    /// The database with what it is used for.
    pub(crate) fn database(&self, config: &Config) -> DatabaseSettings {
        match self {
            Self::Notifications => config.database.used_for(Capability::Notifications),
            Self::Publishing(_) => config.database.clone(),
        }
    }

    /// The queues that it reads, or why it can read none.
    pub(crate) fn queues(&self, config: &Config) -> Result<Vec<String>, ConfigError> {
        match self {
            Self::Notifications => {
                let of_one = |one: &Priority| [one.request_queue(), one.message_queue()];
                Ok(Priority::ALL.iter().flat_map(of_one).map(str::to_owned).collect())
            }
            Self::Publishing(names) => {
                Ok(plan(names, &config.publish)?.iter().map(|one| one.queue().to_string()).collect())
            }
        }
    }

    /// What it does on a database, among what the process has around it.
    pub(crate) fn work(
        &self,
        around: &Surroundings,
        outbox: &SeaOrmOutbox,
        config: &Config,
    ) -> Result<RelayPipelines, ConfigError> {
        match self {
            Self::Notifications => {
                NotificationRelay::with(around, outbox.clone(), config).map(RelayPipelines::Notifications)
            }
            Self::Publishing(names) => {
                PublishRelay::with(around, names, outbox.clone(), config).map(RelayPipelines::Publishing)
            }
        }
    }
}

impl RelayPipelines {
    pub(crate) fn monitors(&self) -> Vec<(String, PipelineMonitor)> {
        match self {
            Self::Notifications(relay) => relay.monitors(),
            Self::Publishing(relay) => relay.monitors(),
        }
    }

    /// What it publishes.
    pub(crate) fn unpublished(&self) -> Unpublished {
        match self {
            Self::Notifications(_) => Unpublished::default(),
            Self::Publishing(relay) => Unpublished::of(relay.brokers()),
        }
    }

    /// Runs until `shutdown` is ready.
    pub(crate) async fn run_until(
        self,
        shutdown: impl Future<Output = ()>,
    ) -> Result<WorkReport, RelayError> {
        match self {
            Self::Notifications(relay) => relay.run_until(shutdown).await.map(WorkReport::Notifications),
            Self::Publishing(relay) => relay.run_until(shutdown).await.map(WorkReport::Publishing),
        }
    }
}

impl WorkReport {
    /// Logs it, for one of several databases or for the only one.
    pub(crate) fn log(self, database: Option<&DatabaseName>) {
        match self {
            Self::Notifications(report) => log_ended(database, report),
            Self::Publishing(report) => log_report(database, "published", report),
        }
    }
}
