//! The program `claimstream`, for operators of an outbox; and its configuration and composition, for programs that are
//! put together in the same way.
//!
//! ```no_run
//! use claimstream_cli::{NotificationRelay, config::{Config, Sources}};
//! use claimstream_sea_orm::Capability;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let loaded = Config::load(&Sources::of_process())?;
//! let outbox = loaded.config.database.used_for(Capability::Notifications).open().await?;
//! let relay = NotificationRelay::new(outbox, &loaded.config)?;
//! relay.run_until(claimstream_tokio::shutdown_signal()?).await?;
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod age;
mod arguments;
mod bench_arguments;
#[cfg(feature = "binlog")]
mod binlog;
#[cfg(feature = "board")]
mod board_server;
mod broker;
mod command;
pub mod config;
mod dead_arguments;
mod directory;
mod doctor_arguments;
mod each_database;
mod emptied;
mod entries;
mod exit;
#[cfg(feature = "otlp")]
mod exporting;
mod failure;
mod hangup;
mod holder_arguments;
mod ids;
mod lines;
mod logging;
mod measuring;
mod moments;
mod not_built;
mod notification_relay;
mod one_relay;
mod open;
mod open_databases;
mod operator_name;
#[cfg(feature = "http")]
mod outbox_intake;
mod paging;
mod password_file;
mod pause_arguments;
mod pipeline_task;
#[cfg(feature = "http")]
mod probing;
mod progress;
mod provider;
mod publish_relay;
#[cfg(feature = "http")]
mod readiness;
#[cfg(feature = "http")]
mod receipt_providers;
#[cfg(feature = "redis")]
mod redis;
mod refusal;
mod relay_log;
mod relays;
mod renewed_broker;
mod run_arguments;
mod schema_arguments;
mod second_signal;
#[cfg(feature = "board")]
mod self_check;
#[cfg(feature = "http")]
mod served_requests;
mod setting_flags;
#[cfg(feature = "http")]
mod several_readiness;
mod shard_place;
#[cfg(feature = "http")]
mod source_check;
mod stopping;
mod suppression_arguments;
mod table;
mod tally;
mod template_arguments;
#[cfg(feature = "http")]
mod template_desk;
mod template_folder;
mod template_source;
#[cfg(all(feature = "http", feature = "otlp"))]
mod traced_requests;
mod unpublished;
mod wakeups;
#[cfg(not(feature = "binlog"))]
mod without_binlog;
#[cfg(all(feature = "http", not(feature = "board")))]
mod without_board;
#[cfg(not(feature = "http"))]
mod without_http;
#[cfg(not(feature = "otlp"))]
mod without_otlp;
#[cfg(not(feature = "redis"))]
mod without_redis;
mod work;

use std::{ffi::OsString, io::Write, process::ExitCode};

use clap::Parser;

use self::{arguments::Arguments, failure::Failure, setting_flags::SettingFlags};

// What was not built is replaced by what refuses it.
#[cfg(not(feature = "binlog"))]
use self::without_binlog as binlog;
#[cfg(all(feature = "http", not(feature = "board")))]
use self::without_board as board_server;
#[cfg(not(feature = "http"))]
use self::without_http as probing;
#[cfg(not(feature = "otlp"))]
use self::without_otlp as exporting;
#[cfg(not(feature = "redis"))]
use self::without_redis as redis;

pub use self::{
    directory::{directory, recipients, templates},
    each_database::OneDatabase,
    exit::Exit,
    notification_relay::{NotificationRelay, RelayReport},
    open::OpenError,
    provider::providers,
    publish_relay::PublishRelay,
    template_source::template_source,
};

/// Runs the program with the arguments of the process and answers its exit code.
pub fn run() -> ExitCode {
    run_with(std::env::args_os())
}

/// Runs the program with these arguments, of which the first is its name, and answers its exit code; for programs that have it as
/// a part.
pub fn run_with(arguments: impl IntoIterator<Item = impl Into<OsString>>) -> ExitCode {
    let arguments = match Arguments::try_parse_from(SettingFlags::first(arguments)) {
        Ok(arguments) => arguments,
        Err(refused) => return refusal::explain(&refused),
    };
    match command::run(arguments) {
        Ok(code) => code,
        Err(failure) => fail(&failure),
    }
}

fn fail(failure: &Failure) -> ExitCode {
    if !failure.is_closed_pipe() {
        // A failure of this write cannot be reported.
        let _ = writeln!(std::io::stderr(), "error: {failure}");
    }
    failure.exit_code()
}

/// The code of the README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
