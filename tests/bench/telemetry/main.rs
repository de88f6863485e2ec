//! Measures what telemetry costs a drain: the processor time of a message without any, and with each kind, in one run.
//!
//! `cargo run --release -p claimstream-bench --bin telemetry -- --help` explains it.
#![forbid(unsafe_code)]

mod collector;
mod compare;
mod drain;
mod kind;
mod sink;

use clap::{Parser, Subcommand};

use crate::{drain::TracesBegin, kind::Kind};

/// Drains a queue without telemetry and with each kind of it, in processes of their own and in turns, and compares them.
///
/// The handler does nothing, and the queue is a file of SQLite, so that the share of telemetry is as large as it can be.
#[derive(Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Options {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// How many messages each round drains.
    #[arg(long, default_value_t = 60_000)]
    messages: u64,
    /// How often each kind is measured; the median is shown.
    #[arg(long, default_value_t = 7)]
    rounds: u32,
    /// Counts instructions with callgrind in place of processor time, for machines that are busy. Each kind drains a tenth of the
    /// messages and two tenths of them, and the difference is what is shown.
    #[arg(long)]
    instructions: bool,
    /// Gives each message the trace of a producer, which has decided whether it is sent, as with `claimstream serve`. Otherwise traces begin
    /// when messages are handled.
    #[arg(long)]
    carried: bool,
}

#[derive(Subcommand)]
enum Verb {
    /// Fills a queue, started by this program.
    #[command(hide = true)]
    Fill { url: String, messages: u64, kind: Kind, begun: TracesBegin },
    /// Drains it, started by this program.
    #[command(hide = true)]
    Drain { url: String, messages: u64, kind: Kind, collector: String },
}

/// Anything that went wrong, as a sentence.
type Failure = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() {
    let options = Options::parse();
    let done = match &options.verb {
        Some(Verb::Fill { url, messages, kind, begun }) => drain::fill(url, *messages, *kind, *begun).await,
        Some(Verb::Drain { url, messages, kind, collector }) => {
            drain::drain(url, *messages, *kind, collector).await
        }
        None => {
            let (unit, begun) = (options.instructions.into(), options.carried.into());
            compare::run(options.messages, options.rounds, unit, begun)
        }
    };
    if let Err(error) = done {
        eprintln!("telemetry: {error}");
        std::process::exit(1);
    }
}
