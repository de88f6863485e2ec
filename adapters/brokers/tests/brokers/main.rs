//! Publishers and consumers on real brokers. `tests/brokers` starts them; without them the trials are named and skipped.
#![allow(clippy::unwrap_used, reason = "tests")]
#![cfg_attr(not(feature = "rabbitmq"), allow(dead_code, reason = "no broker is compiled in"))]

mod broker;
mod load;
#[cfg(feature = "rabbitmq")]
mod rabbitmq;

use std::{future::Future, process::ExitCode};

use libtest_mimic::{Arguments, Trial};

/// A trial on tokio; it fails by a panic.
fn trial<F: Future<Output = ()>>(
    name: &str,
    is_possible: bool,
    run: impl FnOnce() -> F + Send + 'static,
) -> Trial {
    let on_tokio = move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        runtime.block_on(run());
        Ok(())
    };
    Trial::test(name, on_tokio).with_ignored_flag(!is_possible)
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let trials: Vec<Trial> = vec![
        #[cfg(feature = "rabbitmq")]
        rabbitmq::trials(),
    ]
    .into_iter()
    .flatten()
    .collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}
