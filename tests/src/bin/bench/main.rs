//! Measures claim and acknowledgement on one server, the library beside a hand-written bound, in one run.
//!
//! `cargo run --release -p claimstream-tests --bin bench -- --server mariadb-10.11`
//!
//! Every contender drains the same backlog with 1, 4 and 16 instances, each a process of its own. The bound, `ceilxr`, is
//! what a single table can do at best: every instance knows beforehand which rows are its own, so nothing is searched,
//! nothing is contended and nothing is fenced; it updates a batch by primary key with the claim index maintained, reads
//! the bodies, and marks the batch done. Rounds are interleaved; the table shows medians.
#![forbid(unsafe_code)]

mod ceiling;
mod contender;
mod instance;
mod library;
mod round;
mod server;
mod table;

use clap::Parser;

use crate::contender::Contender;

/// What to measure.
#[derive(Parser, Clone, Debug)]
#[command(about = "Claim and acknowledgement of the library beside a hand-written bound, in one run")]
struct Options {
    /// The server: mariadb-10.5, mariadb-10.11, mariadb-11.8 or mysql-9.7; it is started if it does not run.
    #[arg(long, default_value = "mariadb-10.11")]
    server: String,
    /// Another server, by URL; a database is made on it for the time of the run, and no other is touched.
    #[arg(long)]
    database: Option<String>,
    /// How many instances, as a list.
    #[arg(long, value_delimiter = ',', default_value = "1,4,16")]
    instances: Vec<usize>,
    /// How many messages each round drains.
    #[arg(long, default_value_t = 100_000)]
    backlog: usize,
    /// How many messages a claim asks for.
    #[arg(long, default_value_t = 100)]
    batch: usize,
    /// How many bytes a message carries.
    #[arg(long, default_value_t = 500)]
    payload: usize,
    /// How often each figure is measured; the median is shown.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Who takes part, as a list.
    #[arg(long, value_delimiter = ',', default_value = "ceilxr,preemptive_update,skip_locked,shard_lease")]
    contenders: Vec<Contender>,
    /// Set by the bench when it starts an instance of itself.
    #[arg(long, hide = true)]
    instance: Option<String>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let options = Options::parse();
    let done = match &options.instance {
        Some(job) => instance::run(job).await,
        None => measure(&options).await,
    };
    if let Err(error) = done {
        eprintln!("bench: {error}");
        std::process::exit(1);
    }
}

/// Anything that went wrong, as a sentence.
type Failure = Box<dyn std::error::Error + Send + Sync>;

async fn measure(options: &Options) -> Result<(), Failure> {
    let server = server::Server::find(options).await?;
    let url = server.url();
    let mut table = table::Table::new(&server.describe().await?, options);
    for instances in &options.instances {
        for round in 1..=options.rounds {
            for contender in &options.contenders {
                match round::run(options, &url, *contender, *instances).await {
                    Ok(result) => {
                        eprintln!("{contender:<18} {instances:>2} instances, round {round}: {result}");
                        table.add(*contender, *instances, result);
                    }
                    Err(refused) => table.refuse(*contender, &refused.to_string()),
                }
            }
        }
    }
    println!("{table}");
    table.verdict()
}
