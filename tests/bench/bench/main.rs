//! Measures the library on real servers, next to hand-written SQL and other libraries, in one run.
//!
//! `cargo run --release -p claimstream-bench --bin bench -- --server mariadb-10.11`
//!
//! `--server sqlite` measures a file of SQLite next to a hand-written queue instead.
//!
//! Every contender runs the same scenarios; every instance and every producer is a process of its own. The reference,
//! `ceilxr`, is what a single table can do at best: every instance knows beforehand which rows are its own, so nothing is
//! searched, nothing is contended and nothing is fenced; it updates a batch by primary key with the claim index maintained,
//! reads the bodies, and marks the batch done. Rounds are interleaved; medians are shown. `bench report` writes
//! BENCHMARKS.md from what `--json` has gathered.
//!
//! Other libraries are in a binary of their own, named by `--peers`, that understands: `list`, which prints a JSON object
//! a line for each (`name`, `version`, `note`, `scenarios`, and `leases` if it leases messages and counts attempts);
//! `fill JOB`; `instance JOB`, which prints `ready`, waits for a line, works, and prints its work; and `enqueue JOB`. Job,
//! work and what producers print are in `job.rs`.
#![forbid(unsafe_code)]

mod backlog;
mod cell;
mod child;
mod contender;
mod cpu;
mod drain;
mod handwritten;
mod holding;
mod instance;
mod job;
mod latencies;
mod library;
mod machine;
mod notifying;
mod options;
mod parent;
mod producing;
mod record;
mod report;
mod run;
mod scenario;
mod server;
mod statistics;
mod table;
mod waking;

use clap::Parser;

use crate::options::{Options, Verb};

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let options = Options::parse();
    let done = match &options.verb {
        None => run::run(&options).await,
        Some(Verb::Report { json, out, plots }) => report::write(json, out, plots),
        Some(Verb::Instance { job }) => instance::run(job).await,
        Some(Verb::Enqueue { job }) => producing::flat_out(job).await,
        Some(Verb::Produce { job }) => producing::steadily(job).await,
        Some(Verb::Hold { job }) => holding::run(job).await,
        Some(Verb::Wake { job }) => waking::run(job).await,
        Some(Verb::Notify { job }) => notifying::run(job).await,
    };
    if let Err(error) = done {
        eprintln!("bench: {error}");
        std::process::exit(1);
    }
}

/// Anything that went wrong, as a sentence.
type Failure = Box<dyn std::error::Error + Send + Sync>;
