//! Plays real faults under load and counts what comes of each message.
//!
//! `cargo run --release -p claimstream-bench --bin faults -- play --server galera-10.11 --fault kill --rounds 5`
//!
//! | command | what it does |
//! |---|---|
//! | `play` | relays of each strategy work while nodes are killed, paused, cut off and restarted, or connections break |
//! | `brokers` | relays publish to a broker and a consumer reads from it, while brokers, relays and the consumer are killed |
//! | `report` | writes [the crash matrix](../../docs/inside/crash-matrix.md) from what was played |
//!
//! A run fails if a message was lost, was accepted twice, or had its effect twice through the inbox. What an asynchronous
//! replica had not received when its source died is counted apart.
//! Promise: from the outbox of one database over NATS, RabbitMQ, Redis and a mock cluster of Kafka to the
//! inbox of another, nothing is lost or doubled while broker, relays and consumer are killed; with
//! `shard_lease` each key keeps its order
#![forbid(unsafe_code)]

mod brokers;
mod fault;
mod kills;
mod line;
mod page;
mod play;

use std::path::{Path, PathBuf};

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(about = "Real faults under load, and what comes of each message")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Plays faults and adds a line of figures for each strategy.
    Play(play::Options),
    /// Kills brokers, relays that publish to them, and the consumer, and adds a line of figures for each broker and fault.
    Brokers(brokers::Options),
    /// Publishes until it is killed; `brokers` starts it.
    #[command(hide = true)]
    PublishRelay {
        /// What to publish, and where, as JSON.
        job: String,
    },
    /// Consumes until it is killed; `brokers` starts it.
    #[command(hide = true)]
    ConsumeOrders {
        /// What to consume, and where its effects go, as JSON.
        job: String,
    },
    /// Writes the crash matrix.
    Report {
        /// The lines of earlier runs.
        #[arg(long, num_args = 1.., default_value = "benchmarks/faults.jsonl")]
        json: Vec<PathBuf>,
        /// The lines of earlier runs with brokers.
        #[arg(long, num_args = 1.., default_value = "benchmarks/faults-brokers.jsonl")]
        brokers: Vec<PathBuf>,
        /// The lines of programs whose processes were killed.
        #[arg(long, num_args = 1.., default_value = "benchmarks/kills.jsonl")]
        kills: Vec<PathBuf>,
        /// Where it is written.
        #[arg(long, default_value = "docs/inside/crash-matrix.md")]
        page: PathBuf,
    },
}

/// Anything that went wrong, as a sentence.
type Failure = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main(worker_threads = 2)]
async fn main() {
    let done = match Arguments::parse().command {
        Command::Play(options) => play::run(&options).await,
        Command::Brokers(options) => brokers::run(&options).await,
        Command::PublishRelay { job } => brokers::publish(&job).await,
        Command::ConsumeOrders { job } => brokers::consume(&job).await,
        Command::Report { json, brokers, kills, page } => report(&json, &brokers, &kills, &page),
    };
    if let Err(error) = done {
        eprintln!("faults: {error}");
        std::process::exit(1);
    }
}

fn report(json: &[PathBuf], of_brokers: &[PathBuf], killed: &[PathBuf], page: &Path) -> Result<(), Failure> {
    let lines = each(json, line::read)?;
    let of_brokers = each(of_brokers, brokers::read)?;
    let killed = each(killed, kills::read)?;
    Ok(std::fs::write(page, page::write(&lines, &of_brokers) + &kills::section(&killed))?)
}

/// The lines of all files.
fn each<T>(files: &[PathBuf], read: fn(&str) -> Result<Vec<T>, Failure>) -> Result<Vec<T>, Failure> {
    let mut lines = Vec::new();
    for file in files {
        lines.extend(read(&std::fs::read_to_string(file)?)?);
    }
    Ok(lines)
}
