//! The program `claimstream`, for those who run an outbox; and its configuration and composition, for programs that are
//! put together in the same way.
//!
//! ```no_run
//! use claimstream_cli::{NotificationRelay, config::{Config, Sources}};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let loaded = Config::load(&Sources::of_process())?;
//! let outbox = loaded.config.database.open().await?;
//! let relay = NotificationRelay::new(outbox, &loaded.config)?;
//! relay.run_until(claimstream_tokio::shutdown_signal()?).await?;
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod age;
mod arguments;
mod command;
pub mod config;
mod directory;
mod failure;
mod lines;
mod logging;
mod notification_relay;
mod open;
mod provider;
mod table;

use std::{io::Write, process::ExitCode};

use clap::Parser;

use self::{arguments::Arguments, failure::Failure};

pub use self::{
    directory::{directory, templates},
    notification_relay::{NotificationRelay, RelayReport},
    open::OpenError,
    provider::providers,
};

/// Runs the program with the arguments of the process and answers its exit code.
pub fn run() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(refused) => return explain(&refused),
    };
    match command::run(arguments) {
        Ok(code) => code,
        Err(failure) => fail(&failure),
    }
}

/// Help and versions go to the standard output, refused arguments to the standard error.
fn explain(refused: &clap::Error) -> ExitCode {
    let passwords: Vec<String> = std::env::args().filter(|argument| may_bear_a_password(argument)).collect();
    // Whoever closed the stream does not want to read it.
    let _ = match passwords.is_empty() {
        true => refused.print(),
        false => write!(std::io::stderr(), "{}", without(&passwords, refused.render().to_string())),
    };
    ExitCode::from(u8::try_from(refused.exit_code()).unwrap_or(Failure::USAGE))
}

/// Whether an argument looks like a URL with a password, which a refusal must not repeat.
fn may_bear_a_password(argument: &str) -> bool {
    argument.contains("://") && argument.contains('@')
}

fn without(arguments: &[String], text: String) -> String {
    let values = arguments.iter().map(|argument| match argument.split_once('=') {
        Some((flag, value)) if flag.starts_with('-') => value,
        _ => argument,
    });
    values.fold(text, |text, value| text.replace(value, "***"))
}

fn fail(failure: &Failure) -> ExitCode {
    if !failure.is_closed_pipe() {
        // Nobody is left to be told if this fails as well.
        let _ = writeln!(std::io::stderr(), "error: {failure}");
    }
    failure.exit_code()
}
