//! Measures how soon a relay has a message that another process has committed, by each way of being woken, and what the relay asks
//! of the server meanwhile.
//!
//! `cargo run --release -p claimstream-bench --bin wakeups -- --help` explains it.
#![forbid(unsafe_code)]

mod measure;
mod relay;
mod row;
mod times;
mod way;
mod writer;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use claimstream_testbed::Server;
use clap::{Parser, Subcommand};

use crate::{measure::Measure, row::Row, way::Way};

/// Starts servers with a binary log and a Redis; on each server a relay and a writer for each way, in processes of their own and all
/// at once. Each writer commits about one message a second, and each relay looks by itself every five seconds at least.
#[derive(Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Options {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// The servers, such as mariadb-10.11; all by default.
    #[arg(long, value_delimiter = ',')]
    servers: Vec<String>,
    /// How many messages each writer commits.
    #[arg(long, default_value_t = 120)]
    messages: u64,
    /// How many seconds the statements of an idle relay are counted for.
    #[arg(long, default_value_t = 30)]
    idle: u64,
    /// A file to which each row is added as a line of JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Subcommand)]
enum Verb {
    /// Writes the table of docs/wakeups.md from benchmarks/wakeups.jsonl.
    Report,
    /// Handles messages, started by this program.
    #[command(hide = true)]
    Relay { url: String, way: Way, redis: String },
    /// Commits messages, started by this program.
    #[command(hide = true)]
    Write { url: String, way: Way, redis: String, messages: u64 },
}

/// Anything that went wrong, as a sentence.
type Failure = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() {
    let options = Options::parse();
    let done = match &options.verb {
        Some(Verb::Relay { url, way, redis }) => relay::run(url, *way, redis).await,
        Some(Verb::Write { url, way, redis, messages }) => writer::run(url, *way, redis, *messages).await,
        Some(Verb::Report) => {
            row::report(Path::new("benchmarks/wakeups.jsonl"), Path::new("docs/wakeups.md"))
        }
        None => compare(&options).await,
    };
    if let Err(error) = done {
        eprintln!("wakeups: {error}");
        std::process::exit(1);
    }
}

async fn compare(options: &Options) -> Result<(), Failure> {
    let chosen =
        |server: &Server| options.servers.is_empty() || options.servers.iter().any(|it| it == server.name);
    let mut measured = Vec::new();
    for server in Server::ALL.into_iter().filter(chosen) {
        let measure = Measure { messages: options.messages, idle: Duration::from_secs(options.idle) };
        let rows = measure.on(server).await?;
        keep(&rows, options.json.as_deref())?;
        measured.extend(rows);
        eprintln!("measured {}", server.name);
    }
    print!("{}", row::table(&measured));
    Ok(())
}

fn keep(rows: &[Row], file: Option<&Path>) -> Result<(), Failure> {
    file.map_or(Ok(()), |file| rows.iter().try_for_each(|row| row.append(file)))
}
