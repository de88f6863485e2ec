//! Three processes share one outbox, deliver every notification once, survive being killed, and show the figures.
//!
//! `cargo run --release --example notifications`
//!
//! The program submits notification requests to an outbox and starts instances of itself, each a relay with both
//! notification pipelines. Instead of telling people anything, the relays append a line for every delivery to a sink, a
//! plain file that survives whatever happens to the processes. In the end the program works out from the requests alone
//! who should have been told, and compares that with the sink and with the statuses in the database.
#![forbid(unsafe_code)]

mod bars;
mod due;
mod expectation;
mod fleet;
mod instance;
mod load;
mod patience;
mod repeats;
mod report;
mod show;
mod sink;
mod verdict;

use std::{path::PathBuf, time::Duration};

use clap::Parser;

use self::show::Outcome;

/// Anything that went wrong, as a sentence.
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Three relay processes, one outbox, every notification once.
#[derive(Parser, Clone, Debug)]
#[command(name = "notifications")]
struct Options {
    /// The database: mysql://user@host/database or sqlite://file.db; a SQLite file in a temporary folder if none is given.
    #[arg(long)]
    database: Option<String>,
    /// How messages are claimed: auto, skip_locked, preemptive_update or shard_lease.
    #[arg(long, default_value = "auto")]
    strategy: String,
    /// How many relay processes share the outbox.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=64))]
    instances: u16,
    /// Requests to submit, one JSON object a line; the 240 that come with the example if none are given.
    #[arg(long)]
    requests: Option<PathBuf>,
    /// Submits this many generated requests of one recipient each instead of a file.
    #[arg(long, conflicts_with = "requests")]
    count: Option<usize>,
    /// Kills a random relay process with SIGKILL this often and starts another, for example 2s.
    #[arg(long, value_parser = humantime::parse_duration)]
    kill_every: Option<Duration>,
    /// How long a claim lasts; what a killed process held is delivered after this long.
    #[arg(long, default_value = "3s", value_parser = humantime::parse_duration)]
    lease: Duration,
    /// Set by the program when it starts a relay process.
    #[arg(long, hide = true)]
    instance: Option<String>,
}

/// The exit code of a program that was interrupted, as a shell would give it for SIGINT.
const INTERRUPTED: i32 = 130;

#[tokio::main]
async fn main() {
    let options = Options::parse();
    let done = match &options.instance {
        Some(job) => instance::live(job).await.map(|()| Outcome::Good),
        None => show::run(&options).await,
    };
    match done {
        Ok(Outcome::Good) => {}
        Ok(Outcome::Bad) => std::process::exit(1),
        Ok(Outcome::Interrupted) => std::process::exit(INTERRUPTED),
        Err(error) => {
            eprintln!("notifications: {error}");
            std::process::exit(2);
        }
    }
}
