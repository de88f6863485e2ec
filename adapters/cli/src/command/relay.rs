use std::{convert::Infallible, future::pending, process::ExitCode, sync::Arc};

use claimstream::PipelineMonitor;
use claimstream_sea_orm::SeaOrmOutbox;
use claimstream_tokio::{TokioTimer, shutdown_signal};
use futures::{FutureExt, future::BoxFuture};
use tokio::sync::oneshot;

use super::relay_several;
use crate::{
    Exit,
    config::{Loaded, TargetName},
    emptied::emptied,
    failure::Failure,
    measuring::Measuring,
    notification_relay::Surroundings,
    one_relay::Until,
    probing::Probing,
    relay_log::announce,
    second_signal::second_signal,
    stopping::Stopping,
    tally::Tally,
    work::Purpose,
};

/// Delivers notifications, or publishes the queues of these targets, until a signal stops it, or until nothing is left to do now.
pub(super) async fn run(
    publish: Option<Vec<TargetName>>,
    until_empty: bool,
    loaded: &Loaded,
    timer: TokioTimer,
) -> Result<ExitCode, Failure> {
    let config = &loaded.config;
    let purpose = Purpose::of(publish);
    if config.has_several_databases() {
        let until = if until_empty { Until::Empty } else { Until::Stopped };
        return relay_several::run(purpose, until, loaded, timer).await;
    }
    let mut measuring = Measuring::start(config, timer).await?;
    let telemetry = measuring.telemetry();
    let outbox = Measuring::open(telemetry.as_ref(), &purpose.database(config)).await?;
    let tally = Arc::new(Tally::of(None, timer));
    let around = Surroundings { telemetry: Some(tally.and(telemetry)), ..Surroundings::new(config) };
    let relay = purpose.work(&around, &outbox, config)?;
    let monitors = relay.monitors();
    let unpublished = relay.unpublished();
    let queues: Vec<String> = monitors.iter().map(|(queue, _)| queue.clone()).collect();
    let stopping = Stopping::default();
    let probes = probes(measuring.probing.take(), &outbox, monitors, &stopping);
    announce(&config.database, &outbox);
    let signal = shutdown_signal()?;
    let (tell, first_signal) = oneshot::channel();
    let shutdown = async {
        tokio::select! {
            () = signal => {
                stopping.begin();
                tracing::info!(drain_seconds = config.relay.drain.as_secs_f64(), "relay stops after the messages in hand; a second signal stops it at once");
                // The send fails only if the relay has ended meanwhile.
                let _ = tell.send(());
            }
            () = emptied(&queues, &unpublished, &outbox, &outbox, &timer), if until_empty => tracing::info!("nothing is due or leased"),
        }
    };
    tokio::select! {
        report = relay.run_until(shutdown) => {
            tally.log();
            report?.log(None);
            tracing::info!("relay stopped");
        }
        never = tally.log_regularly() => match never {},
        interrupted = second_signal(first_signal) => return Ok(interrupted?),
        never = outbox.sweep_regularly() => match never {},
        never = probes => match never {},
    }
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
        false => Ok(ExitCode::SUCCESS),
    }
}

/// Serves the probes, if there are any, for as long as it is polled.
pub(super) fn probes(
    probing: Option<Probing>,
    outbox: &SeaOrmOutbox,
    pipelines: Vec<(String, PipelineMonitor)>,
    stopping: &Stopping,
) -> BoxFuture<'static, Infallible> {
    match probing {
        Some(probing) => probing.run(outbox.clone(), pipelines, stopping.clone()).boxed(),
        None => pending().boxed(),
    }
}
