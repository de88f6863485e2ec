//! Kills of brokers, of the relays that publish to them and of the consumer: from the outbox of one database over a broker to the inbox of another.

mod consumer;
mod course;
mod fault;
mod gate;
mod line;
mod orders;
mod relay;
mod shipping;
mod table;
mod target;

use std::{io::Write, path::PathBuf, time::Duration};

use clap::{Args, ValueEnum};

use self::{course::Course, fault::Fault, target::Target};
use crate::Failure;

pub(crate) use self::{
    line::{Line, read},
    relay::publish,
    shipping::consume,
    table::section,
};

#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// The broker, which is started for the run; each in turn if none is named.
    #[arg(long, value_enum)]
    broker: Vec<Target>,
    /// What is killed; each in turn if none is named.
    #[arg(long, value_enum)]
    fault: Vec<Fault>,
    /// How messages are claimed: shard_lease, which keeps the order of each key, skip_locked or preemptive_update.
    #[arg(long, default_value = "shard_lease")]
    strategy: String,
    /// How many kills there are of each kind.
    #[arg(long, default_value_t = 10)]
    rounds: u32,
    /// How long after a message the next one is enqueued, in milliseconds.
    #[arg(long, default_value_t = 15)]
    every: u64,
    /// The server with the outbox, as tests/servers calls it.
    #[arg(long, default_value = "mariadb-10.11")]
    outbox: String,
    /// The server with the inbox.
    #[arg(long, default_value = "mysql-9.7")]
    inbox: String,
    /// Where to add a line of figures for each broker and fault.
    #[arg(long)]
    json: Option<PathBuf>,
}

/// Plays each fault with each broker.
pub(crate) async fn run(options: &Options) -> Result<(), Failure> {
    let mut wrongs = 0;
    for target in named_or_all(&options.broker) {
        for fault in named_or_all(&options.fault) {
            let course = Course {
                target,
                fault,
                strategy: options.strategy.clone(),
                rounds: options.rounds,
                every: Duration::from_millis(options.every),
                servers: [options.outbox.clone(), options.inbox.clone()],
            };
            let line = course.play().await?;
            println!("{}", serde_json::to_string(&line)?);
            wrongs += line.wrongs();
            note(options, &line)?;
        }
    }
    match wrongs {
        0 => Ok(()),
        wrongs => Err(format!("{wrongs} messages were lost, doubled, out of order or left").into()),
    }
}

fn named_or_all<T: ValueEnum + Clone>(named: &[T]) -> Vec<T> {
    if named.is_empty() { T::value_variants().to_vec() } else { named.to_vec() }
}

fn note(options: &Options, line: &Line) -> Result<(), Failure> {
    let Some(path) = &options.json else { return Ok(()) };
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path)?;
    Ok(writeln!(file, "{}", serde_json::to_string(line)?)?)
}
