//! Measures how long one process takes to empty many queues at one time, with few connections.
//!
//! `cargo run --release -p claimstream-bench --bin queues -- --help` explains it.
#![forbid(unsafe_code)]

use std::{
    process::{self, ExitCode},
    time::Duration,
};

use claimstream_sea_orm::OpenOptions;
use claimstream_testbed::{Load, PrivateServer, ScratchDatabase};
use clap::Parser;

/// Empties many queues in one process, with each strategy in turn.
#[derive(Parser)]
struct Options {
    /// The server, such as mariadb-10.11, which is started unless it runs.
    #[arg(long, default_value = "mariadb-10.11")]
    server: String,
    /// How many queues.
    #[arg(long, default_value_t = 20)]
    queues: usize,
    /// How many messages each queue has.
    #[arg(long, default_value_t = 2000)]
    messages: usize,
    /// The most connections of either pool; 0 stands for what an outbox has by default.
    #[arg(long, value_delimiter = ',', default_values_t = [0, 2])]
    connections: Vec<u32>,
    /// How often each is measured.
    #[arg(long, default_value_t = 1)]
    rounds: u32,
    /// After how many seconds a run is given up.
    #[arg(long, default_value_t = 300)]
    seconds: u64,
}

#[tokio::main]
async fn main() -> ExitCode {
    match measure(&Options::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("queues: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn measure(options: &Options) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    const STRATEGIES: [&str; 2] = ["skip_locked", "shard_lease"];
    let name = &options.server;
    let mut databases = 1..;
    let server = PrivateServer::find(name, None, "queues").await?;
    for round in 1..=options.rounds {
        for most in &options.connections {
            for strategy in STRATEGIES {
                let load = Load {
                    queues: options.queues,
                    each: options.messages,
                    connections: (*most > 0).then_some(*most),
                    handling: Duration::ZERO,
                };
                let open = OpenOptions {
                    strategy: strategy.parse()?,
                    max_payload: Some(100_000),
                    ..OpenOptions::default()
                };
                let fresh =
                    format!("claimstream_queues_{}_{}", process::id(), databases.next().unwrap_or(0_u32));
                let database = ScratchDatabase::create(&server.url(), &fresh).await?;
                let all = load.queues * load.each;
                let came_to =
                    match load.empty(&database.url(), open, Duration::from_secs(options.seconds)).await {
                        Ok(took) => format!("{all} in {:.2} s", took.as_secs_f64()),
                        Err(settled) => format!("{settled} of {all} in {} s, given up", options.seconds),
                    };
                let pools =
                    load.connections.map_or("default pools".to_owned(), |most| format!("pools of {most}"));
                println!("{name} {strategy}, {pools}, round {round}: {came_to}");
            }
        }
    }
    Ok(())
}
