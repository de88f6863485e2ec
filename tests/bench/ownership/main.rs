//! Shows on a real server, with processes that really die, what the ownership of shards promises.
//!
//! `cargo run --release -p claimstream-bench --bin ownership -- kill --server mysql-9.7 --order per_key`
//!
//! | command | what it shows |
//! |---|---|
//! | `kill` | owners are killed every second under load, and nothing is out of order, lost, doubled or uncounted |
//! | `rebalance` | how soon shards move when an instance comes, goes or dies, and how evenly they spread |
//!
//! Every instance is a process of its own that uses the library as a service would. It notes every message that it is about
//! to handle in a table of this binary before it does so. How messages end is noted by the database itself: triggers write
//! every counted attempt and every end, in the transaction that counts or ends it. The verdict is read from these notes.
#![forbid(unsafe_code)]

mod fleet;
mod history;
mod instance;
mod kill;
mod load;
mod notebook;
mod rebalance;
mod tables;
mod task;
mod wrongs;

use std::{
    fs::OpenOptions,
    io::Write,
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use claimstream_sea_orm::Order;
use claimstream_testbed::PrivateServer;
use clap::{Args, Parser, Subcommand};
use serde::Serialize;

#[derive(Parser)]
#[command(about = "What the ownership of shards promises, on a real server with processes that really die")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Kills an owner every second under load and looks whether anything was out of order, lost, doubled or uncounted.
    Kill(kill::Options),
    /// Times how soon shards move when an instance comes, goes or dies.
    Rebalance(rebalance::Options),
    /// An instance; the other commands start it.
    #[command(hide = true)]
    Instance { job: String },
}

/// What both commands need to know.
#[derive(Args, Clone, Debug)]
struct Setting {
    /// The server: mariadb-10.5, mariadb-10.11, mariadb-11.8 or mysql-9.7; it is started if it does not run.
    #[arg(long, default_value = "mysql-9.7")]
    server: String,
    /// Another server, by URL; a database is made on it for the time of the run, and no other is touched.
    #[arg(long)]
    database: Option<String>,
    /// How many instances work.
    #[arg(long, default_value_t = 4)]
    instances: usize,
    /// How many messages are enqueued each second.
    #[arg(long, default_value_t = 2000)]
    rate: u32,
    /// How many ordering keys they share.
    #[arg(long, default_value_t = 200)]
    keys: u32,
    /// Whether keys are in order: none, per_key or per_key_skip.
    #[arg(long, default_value_t = Order::None)]
    order: Order,
    /// How long a lease lasts, in milliseconds.
    #[arg(long, default_value_t = 2000)]
    lease: u64,
    /// How long a handler works, in milliseconds.
    #[arg(long, default_value_t = 1)]
    work: u64,
    /// What decides which messages fail.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where to add the figures, as one line of JSON.
    #[arg(long)]
    json: Option<PathBuf>,
}

impl Setting {
    async fn find_server(&self) -> Result<PrivateServer, Failure> {
        PrivateServer::find(&self.server, self.database.as_deref(), "ownership").await
    }
}

/// Anything that went wrong, as a sentence.
type Failure = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main(worker_threads = 2)]
async fn main() {
    let done = match Arguments::parse().command {
        Command::Kill(options) => kill::run(&options).await,
        Command::Rebalance(options) => rebalance::run(&options).await,
        Command::Instance { job } => instance::run(&job).await,
    };
    if let Err(error) = done {
        eprintln!("ownership: {error}");
        std::process::exit(1);
    }
}

/// Adds one line to a file, if one is named.
fn write_json(path: Option<&Path>, figures: &impl Serialize) -> Result<(), Failure> {
    let Some(path) = path else { return Ok(()) };
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    Ok(writeln!(file, "{}", serde_json::to_string(figures)?)?)
}

/// Time in microseconds on the clock that all processes of a machine share.
fn unix_micros() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_micros() as i64
}
