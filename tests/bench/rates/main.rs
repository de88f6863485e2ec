//! Compares how fast messages are published in batches of 100, as a relay does it, with what the broker's own client reaches that only
//! publishes.
//!
//! `cargo run --release -p claimstream-bench --bin rates -- --help` explains it.
//! Promise: the rates of publishing in the documents are the measured ones
#![forbid(unsafe_code)]

mod broker;
mod load;
mod nats;
mod rabbitmq;
mod redis_streams;
mod row;

use std::path::{Path, PathBuf};

use clap::{Parser, Subcommand, ValueEnum};

use crate::{broker::Broker, load::Load, row::Row};

/// Starts brokers, and publishes to each by turns: by the adapter, four calls of 100 messages at a time, and by its own client with
/// nothing but bodies and with as many messages on the way as it likes. Of each the best of some rounds counts.
#[derive(Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Options {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// The brokers; all if none is named.
    #[arg(long, value_enum)]
    broker: Vec<Broker>,
    /// How many messages a round publishes.
    #[arg(long, default_value_t = 20_000)]
    messages: usize,
    /// How many rounds there are.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// A file to which each row is added as a line of JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Subcommand)]
enum Verb {
    /// Writes the table of docs/publishing.md from benchmarks/rates.jsonl.
    Report,
}

/// Anything that went wrong, as a sentence.
type Failure = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main(worker_threads = 2)]
async fn main() {
    let options = Options::parse();
    let done = match &options.verb {
        Some(Verb::Report) => {
            row::report(Path::new("benchmarks/rates.jsonl"), Path::new("docs/publishing.md"))
        }
        None => compare(&options).await,
    };
    if let Err(error) = done {
        eprintln!("rates: {error}");
        std::process::exit(1);
    }
}

async fn compare(options: &Options) -> Result<(), Failure> {
    let brokers = match options.broker.as_slice() {
        [] => Broker::value_variants(),
        named => named,
    };
    let mut measured = Vec::new();
    for broker in brokers {
        let row = broker.measure(&Load { messages: options.messages, rounds: options.rounds }).await?;
        eprintln!("measured {}", row.broker);
        options.json.as_deref().map_or(Ok(()), |file| row.append(file))?;
        measured.push(row);
    }
    print!("{}", row::table(&measured));
    Ok(())
}
