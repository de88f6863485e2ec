//! The commands of the program, one a file.

mod after_failover;
mod agreement;
mod answers;
mod attempts;
mod audit;
mod bench;
mod config;
mod dead;
mod dead_change;
#[cfg(feature = "http")]
mod delivery;
pub(crate) mod doctor;
mod doctor_capabilities;
pub(crate) mod doctor_publishing;
mod healthcheck;
mod instances;
mod known_queues;
mod leases;
mod listing;
mod lists;
mod locks;
mod look;
mod notify;
mod pause;
mod people;
mod receipts;
mod recipient;
mod relay;
mod relay_several;
mod request;
mod reshard;
mod runs;
mod sagas;
mod schema;
mod schema_extra;
mod schema_plan;
#[cfg(feature = "http")]
mod serve;
mod several;
mod shell;
mod spread;
mod standing;
mod status;
mod suppressions;
mod tcc;
mod template_diff;
mod templates;
mod timers;

use std::{io::Write, process::ExitCode, time::Duration};

use claimstream_tokio::TokioTimer;
use futures::future::{FutureExt, LocalBoxFuture};
use tokio::runtime::Runtime;

use crate::{
    OneDatabase,
    arguments::{Arguments, Command},
    config::{Config, Loaded, LogLevel},
    failure::Failure,
    logging,
};

use self::spread::Spread;

/// Carries a command out and answers its exit code.
pub(crate) fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    // These need no configuration, and must not fail for one that is faulty.
    match &arguments.command {
        Command::Completions { shell } => return shell::completions(*shell, &mut std::io::stdout()),
        Command::Man { directory } => return shell::man(directory, &mut std::io::stdout()),
        _ => {}
    }
    let sources = arguments.settings.sources().map_err(Failure::Usage)?;
    let mut loaded = Config::load(&sources)?;
    if let Some(name) = arguments.settings.database_name() {
        let OneDatabase { name, drain, config } = loaded.config.database_named(name)?;
        if let (Some(name), true, true) = (name, drain, spread::takes_in(&arguments.command)) {
            return Err(several::is_drained(&name));
        }
        loaded = loaded.with(config);
    }
    let usual = match arguments.command {
        Command::Relay { .. } | Command::Serve { .. } => LogLevel::Info,
        _ => LogLevel::Warn,
    };
    logging::start(&loaded.config.log, usual);
    let runtime = Runtime::new()?;
    let out = &mut std::io::stdout();
    let code = match Spread::of(&arguments.command) {
        spread if spread != Spread::Itself && loaded.config.has_several_databases() => {
            runtime.block_on(several::run(arguments.command, spread, &loaded, out, carry_out_on))
        }
        _ => runtime.block_on(carry_out(arguments.command, &loaded, out)),
    };
    // Tasks that still run were given up; no caller waits for them.
    runtime.shutdown_timeout(Duration::from_millis(200));
    code
}

/// Carries a command out on one of several databases, and answers what it printed.
fn carry_out_on(
    command: Command,
    loaded: Loaded,
) -> LocalBoxFuture<'static, (Vec<u8>, Result<ExitCode, Failure>)> {
    async move {
        let mut printed = Vec::new();
        let ended = carry_out(command, &loaded, &mut printed).await;
        (printed, ended)
    }
    .boxed_local()
}

async fn carry_out(command: Command, loaded: &Loaded, out: &mut impl Write) -> Result<ExitCode, Failure> {
    let (config, timer) = (&loaded.config, TokioTimer::new());
    match command {
        Command::Schema(command) => schema::run(command, config, out).await,
        Command::Doctor(asked) if asked.after_failover => after_failover::run(asked, config, out).await,
        Command::Doctor(asked) => doctor::run(asked.strict, asked.json, config, timer, out).await,
        Command::Notify { file, json } => notify::run(&file, json, config, timer, out).await,
        Command::Cancel { id, operator, json } => {
            request::cancel(id, &operator.find_or_unnamed(), json, config, out).await
        }
        Command::Show { id, limit, attempts, json } => {
            let what = request::RequestView { limit, attempts, as_json: json };
            request::show(id, what, config, out).await
        }
        Command::Requests { status, requester, after, limit, json } => {
            let asked = lists::Requests { status, requester, after, limit, as_json: json };
            lists::requests(asked, config, out).await
        }
        Command::Messages { ids, json } => lists::messages(&ids, json, config, out).await,
        Command::Instances(paging) => instances::instances(paging, config, out).await,
        Command::Leases(asked) => leases::run(asked, config, out).await,
        Command::Locks(asked) => locks::run(asked, config, out).await,
        Command::Directory(command) => people::run(command, config, out).await,
        Command::Recipient(command) => recipient::run(command, config, out).await,
        Command::Relay { publish, until_empty } => relay::run(publish, until_empty, loaded, timer).await,
        #[cfg(feature = "http")]
        Command::Serve { relay, board } => serve::run(serve::Options { relay, board }, config, timer).await,
        #[cfg(not(feature = "http"))]
        Command::Serve { .. } => {
            Err(Failure::Refused(crate::not_built::not_built("the HTTP service", "http")))
        }
        Command::Healthcheck { json } => healthcheck::run(json, config, timer, out).await,
        Command::Status { watch, json } => status::run(watch, json, config, timer, out).await,
        Command::Pause(asked) => pause::pause(asked, config, timer, out).await,
        Command::Resume(asked) => pause::resume(asked, config, timer, out).await,
        Command::Audit(paging) => audit::run(paging, config, out).await,
        Command::Sagas(asked) => sagas::run(*asked, config, out).await,
        Command::Tcc(asked) => tcc::run(*asked, config, out).await,
        Command::Timers(asked) => timers::run(*asked, config, out).await,
        Command::Dead(command) => dead::run(command, config, timer, out).await,
        Command::Suppressions(command) => suppressions::run(command, config, out).await,
        Command::Templates(command) => templates::run(command, config, out).await,
        Command::Bench(asked) => bench::run(asked, config, timer, out).await,
        Command::Completions { shell } => shell::completions(shell, out),
        Command::Man { directory } => shell::man(&directory, out),
        Command::Config(command) => config::run(command, loaded, out),
    }
}
