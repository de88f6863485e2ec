//! Publishers and consumers on real brokers. `tests/brokers` starts them; without them the tests are named and skipped.
#![allow(clippy::unwrap_used, reason = "tests")]
#![cfg_attr(
    not(all(feature = "kafka", feature = "rabbitmq")),
    allow(dead_code, reason = "not every broker is compiled in")
)]

#[cfg(any(feature = "kafka", feature = "nats", feature = "redis-streams"))]
mod contract;
mod cut_off;
#[cfg(feature = "rabbitmq")]
mod exactly_once;
#[cfg(feature = "kafka")]
mod kafka;
mod load;
#[cfg(feature = "nats")]
mod nats;
#[cfg(feature = "rabbitmq")]
mod rabbitmq;
#[cfg(feature = "redis-streams")]
mod redis_streams;

use std::{future::Future, process::ExitCode, time::Duration};

use libtest_mimic::{Arguments, Trial};

/// A test on tokio; it fails by a panic, or when it is stuck.
fn test<F: Future<Output = ()>>(name: &str, run: impl FnOnce() -> F + Send + 'static) -> Trial {
    let on_tokio = move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let ended = runtime.block_on(async { tokio::time::timeout(STUCK, run()).await });
        ended.map_err(|_| format!("stuck for {STUCK:?}").into())
    };
    Trial::test(name, on_tokio)
}

/// Decides nothing: it ends a run that would never end.
const STUCK: Duration = Duration::from_secs(600);

/// Puts a test into a group of the long tier, which runs only where it is asked for.
#[cfg(any(feature = "kafka", feature = "rabbitmq"))]
fn long(group: &str, test: Trial) -> Trial {
    test.with_kind(format!("long: {group}")).with_ignored_flag(true)
}

fn main() -> ExitCode {
    #[cfg(feature = "rabbitmq")]
    if let Some(done) = exactly_once::run_job() {
        return done;
    }
    let arguments = Arguments::from_args();
    let tests: Vec<Trial> = vec![
        #[cfg(feature = "kafka")]
        kafka::tests(),
        #[cfg(feature = "nats")]
        nats::tests(),
        #[cfg(feature = "rabbitmq")]
        rabbitmq::tests(),
        #[cfg(feature = "rabbitmq")]
        exactly_once::tests(),
        #[cfg(feature = "redis-streams")]
        redis_streams::tests(),
    ]
    .into_iter()
    .flatten()
    .collect();
    libtest_mimic::run(&arguments, tests).exit_code()
}
