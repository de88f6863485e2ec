use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::{
    Failure,
    contender::{Contender, Own, Peer},
};

/// What to measure.
#[derive(Parser, Clone, Debug)]
#[command(about = "Measures the library next to hand-written SQL and other libraries, in one run")]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Options {
    #[command(subcommand)]
    pub(crate) verb: Option<Verb>,
    /// The servers: mariadb-10.5, mariadb-10.11, mariadb-11.8 or mysql-9.7; one that does not run is started. `sqlite`
    /// stands for a file, on which drain, steady and enqueue are measured.
    #[arg(long = "server", value_delimiter = ',', num_args = 1.., default_value = "mariadb-10.11")]
    pub(crate) servers: Vec<String>,
    /// Another server than the one named, by URL; a database is made on it for the time of the run, and no other is
    /// touched.
    #[arg(long)]
    pub(crate) database: Option<String>,
    /// What is measured, as a list: drain, backlog, steady, retention, snapshot, near_empty, idle, single, network, enqueue,
    /// memory, statements, notifications, order, payloads,
    /// queues.
    #[arg(long, value_delimiter = ',', default_value = "drain")]
    pub(crate) scenarios: Vec<String>,
    /// How often each figure is measured; the median is shown.
    #[arg(long, default_value_t = 5)]
    pub(crate) rounds: usize,
    /// How many instances drain, as a list.
    #[arg(long, value_delimiter = ',', default_value = "1,4,16")]
    pub(crate) instances: Vec<u64>,
    /// How many messages each round drains.
    #[arg(long, default_value_t = 100_000)]
    pub(crate) backlog: u64,
    /// The sizes of the scenario `backlog`, as a list.
    #[arg(long, value_delimiter = ',', default_value = "10000,100000,1000000,5000000")]
    pub(crate) backlogs: Vec<u64>,
    /// How many messages are there under the snapshot.
    #[arg(long, default_value_t = 1_000_000)]
    pub(crate) snapshot_backlog: u64,
    /// How many notifications each round of `notifications` sends by requests of one recipient.
    #[arg(long, default_value_t = 10_000)]
    pub(crate) notifications: u64,
    /// How many recipients the one request of `notifications` has.
    #[arg(long, default_value_t = 100_000)]
    pub(crate) recipients: u64,
    /// How many messages a claim asks for.
    #[arg(long, default_value_t = 100)]
    pub(crate) batch: u64,
    /// How many bytes a message carries, 16 at least and 2,000 at most.
    #[arg(long, default_value_t = 500)]
    pub(crate) payload: usize,
    /// How many seconds the scenario `steady` lasts.
    #[arg(long, default_value_t = 60)]
    pub(crate) seconds: u64,
    /// How many seconds each other round may last that does not end by itself.
    #[arg(long, default_value_t = 10)]
    pub(crate) limit: u64,
    /// How many messages a second the producers of `steady` and `near_empty` send.
    #[arg(long, default_value_t = 5000.0)]
    pub(crate) rate: f64,
    /// The contenders that take part, as a list; all by default.
    #[arg(long, value_delimiter = ',')]
    pub(crate) contenders: Vec<String>,
    /// A binary that holds contenders of other libraries.
    #[arg(long)]
    pub(crate) peers: Option<PathBuf>,
    /// A file to which every figure is appended, a JSON object a line.
    #[arg(long)]
    pub(crate) json: Option<PathBuf>,
}

/// What else this program does.
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum Verb {
    /// Writes BENCHMARKS.md, its plots and TABLES.md in their folder from files of JSON lines, and from nothing else.
    Report {
        /// The files.
        #[arg(long, required = true, num_args = 1..)]
        json: Vec<PathBuf>,
        /// Where the page goes.
        #[arg(long, default_value = "BENCHMARKS.md")]
        out: PathBuf,
        /// The directory of the plots and tables.
        #[arg(long, default_value = "benchmarks")]
        plots: PathBuf,
    },
    /// An instance, started by the bench.
    #[command(hide = true)]
    Instance { job: String },
    /// Producers without a brake, started by the bench.
    #[command(hide = true)]
    Enqueue { job: String },
    /// Producers at a rate, started by the bench.
    #[command(hide = true)]
    Produce { job: String },
    /// A process that holds many messages, started by the bench.
    #[command(hide = true)]
    Hold { job: String },
    /// A process that wakes itself, started by the bench.
    #[command(hide = true)]
    Wake { job: String },
    /// A relay of both notification pipelines, started by the bench.
    #[command(hide = true)]
    Notify { job: String },
}

impl Options {
    /// The contenders that take part.
    pub(crate) fn contenders(&self) -> Result<Vec<Contender>, Failure> {
        let peers = self.peers.as_ref().map_or(Ok(Vec::new()), Peer::all_of)?;
        let own = Own::ALL.into_iter().map(Contender::Own);
        let all: Vec<_> = own.chain(peers.into_iter().map(Contender::Peer)).collect();
        if self.contenders.is_empty() {
            return Ok(all);
        }
        let named = |name: &String| all.iter().find(|contender| contender.name() == name).cloned();
        let unknown = |name: &String| format!("there is no contender {name}");
        self.contenders.iter().map(|name| named(name).ok_or_else(|| unknown(name).into())).collect()
    }
}
