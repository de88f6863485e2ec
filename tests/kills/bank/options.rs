use std::{path::PathBuf, time::Duration};

use clap::Parser;

/// Transfers by saga, with workers that are killed all the time; in the end the money is counted.
#[derive(Parser, Clone, Debug)]
pub(crate) struct Options {
    /// A server, such as mysql://root@127.0.0.1:3306, on which databases of the program's own are made and dropped again;
    /// the one that CLAIMSTREAM_SERVER names if none is given, or else SQLite files in a temporary folder.
    #[arg(long)]
    pub(crate) server: Option<String>,
    /// How many sagas.
    #[arg(long, default_value_t = 5000)]
    pub(crate) count: usize,
    /// How many worker processes.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) workers: u16,
    /// A random worker is killed with SIGKILL this often, and another is started.
    #[arg(long, default_value = "1s", value_parser = humantime::parse_duration)]
    pub(crate) kill_every: Duration,
    /// How long a claim lasts; what a killed worker held goes on after this long.
    #[arg(long, default_value = "2s", value_parser = humantime::parse_duration)]
    pub(crate) lease: Duration,
    /// Where to add the figures, as one line of JSON.
    #[arg(long)]
    pub(crate) json: Option<PathBuf>,
    /// Set by the program when it starts a worker.
    #[arg(long, hide = true)]
    pub(crate) worker: Option<String>,
}
