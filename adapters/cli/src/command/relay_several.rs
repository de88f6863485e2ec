use std::{convert::Infallible, future::pending, process::ExitCode};

use claimstream_tokio::{TokioTimer, shutdown_signal};
use futures::future::{BoxFuture, FutureExt};
use tokio::sync::oneshot;

use crate::{
    config::{Config, Databases, Loaded},
    failure::Failure,
    hangup::Hangup,
    measuring::Measuring,
    one_relay::Until,
    open_databases::OpenDatabases,
    relays::Relays,
    second_signal::second_signal,
    stopping::Stopping,
    work::Purpose,
};

/// Delivers or publishes from several databases until a signal stops it, or until nothing is left in any of them. SIGHUP reads the databases of
/// the configuration again.
pub(super) async fn run(
    purpose: Purpose,
    until: Until,
    loaded: &Loaded,
    timer: TokioTimer,
) -> Result<ExitCode, Failure> {
    let config = &loaded.config;
    let (databases, stopping) = (OpenDatabases::with(purpose.queues(config)?), Stopping::default());
    let mut measuring = Measuring::start(config, timer).await?;
    let mut relays = Relays::new(purpose, until, config, timer, databases.clone());
    relays.follow(config, &measuring);
    let mut probes = probes(&mut measuring, &databases, &stopping);
    let mut hangup = Hangup::listen()?;
    let signal = shutdown_signal()?;
    tokio::pin!(signal);
    let (tell, first_signal) = oneshot::channel();
    let mut tell = Some(tell);
    let again = second_signal(first_signal);
    tokio::pin!(again);
    let mut followed = config.clone();
    let code = loop {
        tokio::select! {
            ended = relays.ended() => break ended?,
            () = &mut signal, if tell.is_some() => {
                stopping.begin();
                tracing::info!(drain_seconds = config.relay.drain.as_secs_f64(), "relay stops after the messages in hand; a second signal stops it at once");
                relays.stop_all();
                // The send fails only if all has ended meanwhile.
                let _ = tell.take().map(|tell| tell.send(()));
            }
            () = hangup.next(), if tell.is_some() => follow(loaded, &mut followed, &mut relays, &measuring),
            interrupted = &mut again => return Ok(interrupted?),
            never = &mut probes => match never {},
        }
    };
    tracing::info!("relay stopped");
    measuring.finish().await;
    Ok(code)
}

/// Reads the configuration again and works on its databases; one that is faulty changes nothing.
fn follow(loaded: &Loaded, followed: &mut Config, relays: &mut Relays, measuring: &Measuring) {
    let config = match loaded.again() {
        Ok(again) => again.config,
        Err(refused) => {
            tracing::error!(error = %refused, "the configuration was not taken; all goes on as before");
            return;
        }
    };
    if !config.has_several_databases() {
        tracing::error!("the configuration has no section [databases.NAME] any more; all goes on as before");
        return;
    }
    if without_databases(&config) != without_databases(followed) {
        tracing::warn!(
            "settings outside [databases.NAME] have changed; they take effect when the process is restarted"
        );
    }
    tracing::info!(databases = config.databases.named.len(), "the configuration was read again");
    // What is not followed stays as it was when the process began.
    let config = Config { databases: config.databases, ..followed.clone() };
    relays.follow(&config, measuring);
    *followed = config;
}

fn without_databases(config: &Config) -> Config {
    Config { databases: Databases::default(), ..config.clone() }
}

/// Serves the probes, if there are any, for as long as it is polled.
pub(super) fn probes(
    measuring: &mut Measuring,
    databases: &OpenDatabases,
    stopping: &Stopping,
) -> BoxFuture<'static, Infallible> {
    match measuring.probing.take() {
        Some(probing) => probing.run_several(databases.clone(), stopping.clone()).boxed(),
        None => pending().boxed(),
    }
}
