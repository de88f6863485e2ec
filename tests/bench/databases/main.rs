//! Measures how much more several servers with a relay each get through than one, on one machine.
//!
//! `cargo run --release -p claimstream-bench --bin databases -- --help` explains it.
#![forbid(unsafe_code)]

mod processor_share;

use std::{
    process::{ExitCode, Stdio},
    time::Duration,
};

use claimstream_sea_orm::OpenOptions;
use claimstream_testbed::{Load, PrivateDatabase, Server, ServerProcess};
use clap::{Parser, Subcommand};
use futures::future::try_join_all;
use sea_orm::sqlx::{Connection, MySqlConnection};
use tokio::process::Command;

use crate::processor_share::ProcessorShare;

type Failed = Box<dyn std::error::Error + Send + Sync>;

/// Empties the queue of one server, and then of several at the same time, each with a relay process of its own.
///
/// Each server runs for a fixed share of the time and stands still for the rest, as if it had a processor of its own that is so
/// fast. Relays run freely, so what is printed says what the servers allow as long as the relays find processors: look at the ratio
/// and not at the rates.
#[derive(Parser)]
struct Options {
    /// Which kind of server is started, so many times.
    #[arg(long, default_value = "mariadb-10.11")]
    server: String,
    /// How many of them.
    #[arg(long, default_value_t = 4)]
    servers: usize,
    /// How many messages each has.
    #[arg(long, default_value_t = 1000)]
    messages: usize,
    /// For how many hundredths of the time each server runs.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=99))]
    share: u32,
    /// The strategy.
    #[arg(long, default_value = "shard_lease")]
    strategy: String,
    #[command(subcommand)]
    relay: Option<Relay>,
}

#[derive(Subcommand)]
enum Relay {
    /// A relay; the program starts it.
    #[command(hide = true)]
    Relay { url: String },
}

#[tokio::main]
async fn main() -> ExitCode {
    let options = Options::parse();
    let done = match &options.relay {
        Some(Relay::Relay { url }) => relay(url, &options).await,
        None => measure(&options).await,
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("databases: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn measure(options: &Options) -> Result<(), Failed> {
    let known = Server::ALL.into_iter().find(|server| server.name == options.server);
    let server = known.ok_or_else(|| format!("there is no server {:?}", options.server))?;
    let servers: Vec<_> = (0..options.servers.max(1)).map(|_| PrivateDatabase::start(server, "")).collect();
    let mut shares = Vec::new();
    for server in &servers {
        let mut connection = MySqlConnection::connect(server.url()).await?;
        let process = ServerProcess::of(&mut connection).await?;
        connection.close().await?;
        shares.push(ProcessorShare::of(process.number(), options.share)?);
    }
    let alone = rate(&servers[..1], options).await?;
    let together = rate(&servers, options).await?;
    let (count, share) = (servers.len(), options.share);
    println!(
        "{} {}, each with {share} % of a processor: {count} servers get through {:.2} times as much as one",
        options.server,
        options.strategy,
        together / alone
    );
    drop(shares);
    Ok(())
}

/// How many messages a second relays on these servers end together.
async fn rate(servers: &[PrivateDatabase], options: &Options) -> Result<f64, Failed> {
    let rates = try_join_all(servers.iter().map(|server| rate_of(server.url(), options))).await?;
    Ok(rates.into_iter().sum())
}

async fn rate_of(url: &str, options: &Options) -> Result<f64, Failed> {
    let messages = options.messages.to_string();
    let mut relay = Command::new(std::env::current_exe()?);
    relay.args(["--messages", &messages, "--strategy", &options.strategy, "relay", url]);
    let output = relay.stderr(Stdio::inherit()).kill_on_drop(true).output().await?;
    let seconds: f64 = String::from_utf8(output.stdout)?.trim().parse()?;
    Ok(options.messages as f64 / seconds)
}

/// Empties a queue, and prints how many seconds that took.
async fn relay(url: &str, options: &Options) -> Result<(), Failed> {
    let load = Load { queues: 1, each: options.messages, connections: None, handling: Duration::ZERO };
    let open = OpenOptions { strategy: options.strategy.parse()?, ..OpenOptions::default() };
    match load.empty(url, open, Duration::from_secs(600)).await {
        Ok(took) => println!("{}", took.as_secs_f64()),
        Err(settled) => return Err(format!("{settled} of {} in ten minutes", options.messages).into()),
    }
    Ok(())
}
