//! Measures a resharding of a queue with a long backlog: how long it takes, how long its transactions and statements are, and what
//! programs that write and claim feel meanwhile.
//!
//! `cargo run --release -p claimstream-bench --bin reshard -- --help` explains it.
#![forbid(unsafe_code)]

mod backlog;
mod load;
mod longest;

use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

use claimstream_domain::ShardCount;
use claimstream_sea_orm::{OpenOptions, Order, ReshardStep, SeaOrmOutbox, Strategy, StrategyChoice};
use claimstream_testbed::PrivateServer;
use clap::Parser;

use crate::{load::Load, longest::Longest};

/// Fills one of 16 shards of a queue with messages that are due later, and multiplies the shards while a program writes 200 keyed messages a
/// second to the same queue and a relay handles them in order by key.
#[derive(Parser)]
struct Options {
    /// The servers, such as mariadb-10.11, which are started unless they run.
    #[arg(long, value_delimiter = ',', default_values_t = ["mariadb-10.11".to_owned(), "mysql-9.7".to_owned()])]
    servers: Vec<String>,
    /// How many messages wait.
    #[arg(long, default_value_t = 1_000_000)]
    messages: usize,
    /// How many shards there will be: a multiple of 16.
    #[arg(long, default_value_t = 64)]
    to: u16,
    /// For how many seconds the programs are measured before the resharding.
    #[arg(long, default_value_t = 15)]
    before: u64,
}

/// Anything that went wrong, as a sentence.
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The queue that is resharded.
const QUEUE: &str = "orders";
/// The shard that is full.
const FULL: u16 = 3;

#[tokio::main]
async fn main() -> ExitCode {
    let options = Options::parse();
    for server in &options.servers {
        if let Err(error) = measure(server, &options).await {
            eprintln!("reshard: {server}: {error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

async fn measure(server: &str, options: &Options) -> Result<(), Failure> {
    let place = PrivateServer::find(server, None, "reshard").await?;
    println!("{server}: {}", place.version().await?);
    let url = place.url();
    let open = || SeaOrmOutbox::open(&url, opened());
    let outbox = open().await?;
    let began = Instant::now();
    backlog::fill(&outbox, options.messages).await?;
    println!(
        "{server}: {} messages wait, written in {:.1} s",
        options.messages,
        began.elapsed().as_secs_f64()
    );

    let load = Load::start(open().await?, open().await?)?;
    tokio::time::sleep(Duration::from_secs(options.before)).await;
    println!("{server}: before: {}", load.take()?);

    let longest = Longest::watch(&place.url()).await?;
    let (to, began) = (ShardCount::new(options.to)?, Instant::now());
    let say = move |step: ReshardStep| {
        let at = began.elapsed().as_secs_f64();
        match step {
            ReshardStep::Opened { moved, open, .. } if moved > 1_000 => {
                println!("after {at:.1} s: {moved} messages were moved; {open} shards are open");
            }
            ReshardStep::Opened { .. } => {}
            other => println!("after {at:.1} s: {other:?}"),
        }
    };
    open().await?.reshard(to, say).await?;
    println!("{server}: {} shards were open after {:.1} s", to.get(), began.elapsed().as_secs_f64());
    println!("{server}: {}", longest.end().await?);
    // What was held back is handled then.
    tokio::time::sleep(Duration::from_secs(5)).await;
    println!("{server}: meanwhile: {}", load.take()?);
    load.stop().await
}

fn opened() -> OpenOptions {
    OpenOptions {
        strategy: StrategyChoice::Exactly(Strategy::ShardLease),
        order: Order::PerKey,
        ..OpenOptions::default()
    }
}
