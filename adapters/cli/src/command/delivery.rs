use std::{convert::Infallible, process::ExitCode, sync::Arc};

use claimstream_ports::Telemetry;
use claimstream_sea_orm::SeaOrmOutbox;
use claimstream_tokio::TokioTimer;
use futures::future::BoxFuture;
use tokio::sync::oneshot;

use super::{relay::probes, relay_several};
use crate::{
    NotificationRelay,
    config::{Config, ConfigError, DatabaseName},
    failure::Failure,
    measuring::Measuring,
    notification_relay::Surroundings,
    one_relay::Until,
    open_databases::OpenDatabases,
    relay_log::{announce, log_ended},
    relays::Relays,
    stopping::Stopping,
    tally::Tally,
    wakeups::Wakeups,
    work::Purpose,
};

/// What a server delivers, in addition to taking notifications in.
pub(super) enum DeliveryWork {
    /// Nothing.
    None,
    /// What is in its database.
    One(NotificationRelay, Arc<Tally>),
    /// What is in any of several databases.
    Several(Box<Relays>, OpenDatabases),
}

impl DeliveryWork {
    /// From the only database.
    pub(super) fn one(
        wakeups: &Arc<Wakeups>,
        telemetry: Option<Arc<dyn Telemetry>>,
        outbox: &SeaOrmOutbox,
        config: &Config,
        timer: TokioTimer,
    ) -> Result<Self, Failure> {
        let tally = Arc::new(Tally::of(None, timer));
        let telemetry = Some(tally.and(telemetry));
        let around = Surroundings { wakeups: Arc::clone(wakeups), telemetry, ..Surroundings::new(config) };
        Ok(Self::One(NotificationRelay::with(&around, outbox.clone(), config)?, tally))
    }

    /// From all databases; what is taken into one of them wakes the relay there.
    pub(super) fn several(
        (intake, wakeups): (DatabaseName, Arc<Wakeups>),
        config: &Config,
        measuring: &Measuring,
        timer: TokioTimer,
    ) -> Result<Self, ConfigError> {
        let databases = OpenDatabases::with(Purpose::Notifications.queues(config)?);
        let mut relays =
            Relays::new(Purpose::Notifications, Until::Stopped, config, timer, databases.clone())
                .woken_by(intake, wakeups);
        relays.follow(config, measuring);
        Ok(Self::Several(Box::new(relays), databases))
    }

    /// Serves the probes, if there are any, for as long as it is polled.
    pub(super) fn probes(
        &self,
        measuring: &mut Measuring,
        outbox: &SeaOrmOutbox,
        stopping: &Stopping,
    ) -> BoxFuture<'static, Infallible> {
        match self {
            Self::None => probes(measuring.probing.take(), outbox, Vec::new(), stopping),
            Self::One(relay, _) => probes(measuring.probing.take(), outbox, relay.monitors(), stopping),
            Self::Several(_, databases) => relay_several::probes(measuring, databases, stopping),
        }
    }

    /// Delivers until the server has stopped.
    pub(super) async fn run(
        self,
        outbox: &SeaOrmOutbox,
        config: &Config,
        stopped: oneshot::Receiver<()>,
    ) -> Result<ExitCode, Failure> {
        match self {
            Self::None => Ok(ExitCode::SUCCESS),
            Self::One(relay, tally) => one(relay, &tally, outbox, config, stopped).await,
            Self::Several(relays, _) => several(*relays, stopped).await,
        }
    }
}

async fn one(
    relay: NotificationRelay,
    tally: &Tally,
    outbox: &SeaOrmOutbox,
    config: &Config,
    stopped: oneshot::Receiver<()>,
) -> Result<ExitCode, Failure> {
    announce(&config.database, outbox);
    let shutdown = async {
        // An error says that the server is gone.
        let _ = stopped.await;
    };
    tokio::select! {
        report = relay.run_until(shutdown) => {
            tally.log();
            log_ended(None, report?);
            tracing::info!("relay stopped");
            Ok(ExitCode::SUCCESS)
        }
        never = tally.log_regularly() => match never {},
        never = outbox.sweep_regularly() => match never {},
    }
}

async fn several(mut relays: Relays, stopped: oneshot::Receiver<()>) -> Result<ExitCode, Failure> {
    tokio::select! {
        ended = relays.ended() => return ended,
        // An error says that the server is gone.
        _ = stopped => relays.stop_all(),
    }
    let code = relays.ended().await;
    tracing::info!("relay stopped");
    code
}
