//! Three processes share one outbox, deliver every notification once, survive being killed, and show the figures.
//!
//! `cargo run --release -p claimstream-kills --bin notifications`
//!
//! The program submits notification requests to an outbox and starts instances of itself, each a relay with both
//! notification pipelines. Instead of telling people anything, the relays append a line for every delivery to a sink, a
//! plain file that survives whatever happens to the processes. In the end the program works out from the requests alone
//! who should have been notified, and compares that with the sink and with the statuses in the database.
//!
//! `cargo run --release -p claimstream-kills --bin notifications -- --serve`
//!
//! The same requests go over HTTP to processes of `claimstream serve --relay`, which deliver them to providers behind HTTP. The
//! primary goes down for two seconds, and the other takes over. A third takes mails and sends signed receipts for them, early, late, in a
//! wrong order and twice; some addresses bounce, and a second round of mails must leave these out. The providers write the sink and a book
//! of what they said, so they count independently.
//! Promise: receipts that come early, late, in a wrong order and twice are kept once each while processes are
//! killed, and an address that bounced receives no further mail
#![forbid(unsafe_code)]

mod bars;
mod cut_off;
mod due;
mod expectation;
mod fleet;
mod instance;
#[path = "../bank/kill_line.rs"]
mod kill_line;
mod load;
mod repeats;
mod report;
mod served;
mod show;
mod sink;
mod stall_limit;
mod verdict;
mod way;

use std::{path::PathBuf, process::ExitCode, time::Duration};

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
    /// Requests to submit, one JSON object a line; the 240 that come with the program if none are given.
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
    /// Hands the requests in over HTTP, to processes that serve and deliver to providers behind HTTP.
    #[arg(long)]
    serve: bool,
    /// How long the primary provider is down.
    #[arg(long, requires = "serve", default_value = "2s", value_parser = humantime::parse_duration)]
    outage: Duration,
    /// The most requests that are handed in each second; as fast as they are answered unless set.
    #[arg(long, requires = "serve", value_parser = rate)]
    rate: Option<f64>,
    /// Where to add the figures, as one line of JSON.
    #[arg(long)]
    json: Option<PathBuf>,
    /// Set by the program when it starts a relay process.
    #[arg(long, hide = true)]
    instance: Option<String>,
    /// Set by the program when it starts a process that serves.
    #[arg(long, hide = true)]
    member: Option<PathBuf>,
}

/// A number of requests a second.
fn rate(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(rate) if rate > 0.0 && f64::is_finite(rate) => Ok(rate),
        _ => Err("expected a number above zero".into()),
    }
}

/// The exit code of a program that was interrupted, as a shell would give it for SIGINT.
const INTERRUPTED: u8 = 130;

fn main() -> ExitCode {
    let options = Options::parse();
    match &options.member {
        Some(configuration) => served::live(configuration),
        None => show_or_relay(&options),
    }
}

#[tokio::main]
async fn show_or_relay(options: &Options) -> ExitCode {
    let done = match &options.instance {
        Some(job) => instance::live(job).await.map(|()| Outcome::Good),
        None => show::run(options).await,
    };
    match done {
        Ok(Outcome::Good) => ExitCode::SUCCESS,
        Ok(Outcome::Bad) => ExitCode::FAILURE,
        Ok(Outcome::Interrupted) => ExitCode::from(INTERRUPTED),
        Err(error) => {
            eprintln!("notifications: {error}");
            ExitCode::from(2)
        }
    }
}
