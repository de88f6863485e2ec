//! Lets the benchmark of Claimstream measure other Rust outbox and job libraries on the same server.
//!
//! `peer list` says whom, `peer fill JOB` makes a library's tables and puts a backlog there, `peer instance JOB` works on
//! it, and `peer enqueue JOB` sends messages for a while. A job is a JSON object; every answer is one JSON object a line.
#![forbid(unsafe_code)]

mod contender;
mod enqueue;
mod fill;
mod instance;
mod job;
mod ledger;
mod libraries;
mod library;
mod payload;
mod server;

use serde::de::DeserializeOwned;

/// Anything that went wrong, as a sentence.
type Failure = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() {
    if let Err(error) = obey().await {
        eprintln!("peer: {error}");
        std::process::exit(1);
    }
    // What a library still has running in the background ends here, as nothing is left to do for it.
    std::process::exit(0);
}

async fn obey() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let command = arguments.next().unwrap_or_default();
    let job = arguments.next().unwrap_or_default();
    match command.as_str() {
        "list" => contender::list(),
        "fill" => fill::run(&parse(&job)?).await,
        "instance" => instance::run(&parse(&job)?).await,
        "enqueue" => enqueue::run(&parse(&job)?).await,
        _ => Err("use: peer list, or peer fill | instance | enqueue with a job in JSON".into()),
    }
}

fn parse<T: DeserializeOwned>(job: &str) -> Result<T, Failure> {
    serde_json::from_str(job).map_err(|e| format!("the job {job:?} cannot be read: {e}").into())
}
