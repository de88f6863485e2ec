//! What the program can be told to do, one command a file.

mod after_failover;
mod agreement;
mod answers;
mod attempts;
mod audit;
mod bench;
mod config;
mod dead;
mod dead_change;
pub(crate) mod doctor;
pub(crate) mod doctor_publishing;
mod emptied;
mod healthcheck;
mod instances;
mod leases;
mod listing;
mod lists;
mod locks;
mod notify;
mod pause;
mod people;
mod receipts;
mod recipient;
mod relay;
mod request;
mod runs;
mod sagas;
mod schema;
mod schema_extra;
mod schema_plan;
mod serve;
mod shell;
mod standing;
mod status;
mod suppressions;
mod tcc;
mod template_diff;
mod templates;
mod timers;

use std::{io::Write, process::ExitCode, time::Duration};

use tokio::runtime::Runtime;

use crate::{
    arguments::{Arguments, Command},
    config::{Config, Loaded, LogLevel},
    failure::Failure,
    logging,
};

/// Carries a command out and answers its exit code.
pub(crate) fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    // These need no configuration, and must not fail for one that is faulty.
    match &arguments.command {
        Command::Completions { shell } => return shell::completions(*shell, &mut std::io::stdout()),
        Command::Man { directory } => return shell::man(directory, &mut std::io::stdout()),
        _ => {}
    }
    let sources = arguments.settings.sources().map_err(Failure::Usage)?;
    let loaded = Config::load(&sources)?;
    let usual = match arguments.command {
        Command::Relay { .. } | Command::Serve { .. } => LogLevel::Info,
        _ => LogLevel::Warn,
    };
    logging::start(&loaded.config.log, usual);
    let runtime = Runtime::new()?;
    let code = runtime.block_on(carry_out(arguments.command, &loaded, &mut std::io::stdout()));
    // Whatever still runs was given up; nobody waits for it.
    runtime.shutdown_timeout(Duration::from_millis(200));
    code
}

async fn carry_out(command: Command, loaded: &Loaded, out: &mut impl Write) -> Result<ExitCode, Failure> {
    let config = &loaded.config;
    match command {
        Command::Schema(command) => schema::run(command, config, out).await,
        Command::Doctor(asked) if asked.after_failover => after_failover::run(asked, config, out).await,
        Command::Doctor(asked) => doctor::run(asked.strict, asked.json, config, out).await,
        Command::Notify { file, json } => notify::run(&file, json, config, out).await,
        Command::Cancel { id, operator, json } => {
            request::cancel(id, &operator.find_or_unnamed(), json, config, out).await
        }
        Command::Show { id, limit, attempts, json } => {
            let what = request::Shown { limit, attempts, as_json: json };
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
        Command::Relay { publish, until_empty } => relay::run(publish, until_empty, config).await,
        Command::Serve { relay, board } => serve::run(serve::Beside { relay, board }, config).await,
        Command::Healthcheck { json } => healthcheck::run(json, config, out).await,
        Command::Status { watch, json } => status::run(watch, json, config, out).await,
        Command::Pause(asked) => pause::pause(asked, config, out).await,
        Command::Resume(asked) => pause::resume(asked, config, out).await,
        Command::Audit(paging) => audit::run(paging, config, out).await,
        Command::Sagas(asked) => sagas::run(*asked, config, out).await,
        Command::Tcc(asked) => tcc::run(*asked, config, out).await,
        Command::Timers(asked) => timers::run(*asked, config, out).await,
        Command::Dead(command) => dead::run(command, config, out).await,
        Command::Suppressions(command) => suppressions::run(command, config, out).await,
        Command::Templates(command) => templates::run(command, config, out).await,
        Command::Bench(asked) => bench::run(asked, config, out).await,
        Command::Completions { shell } => shell::completions(shell, out),
        Command::Man { directory } => shell::man(&directory, out),
        Command::Config(command) => config::run(command, loaded, out),
    }
}
