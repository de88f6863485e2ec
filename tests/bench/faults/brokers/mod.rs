//! Kills of brokers, of the relays that publish to them and of the consumer: from the outbox of one database over a broker to the inbox of another.

mod broker;
mod consumer;
mod course;
mod fault;
mod gate;
#[cfg(feature = "kafka")]
mod kafka;
#[cfg(not(feature = "kafka"))]
#[path = "no_kafka.rs"]
mod kafka;
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
    /// What is killed, or what happens to a mock cluster; each that the broker can have in turn if none is named.
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
    for target in targets(&options.broker) {
        for fault in faults(target, &options.fault)? {
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

/// Those that are named, or all that this program has.
fn targets(named: &[Target]) -> Vec<Target> {
    if !named.is_empty() {
        return named.to_vec();
    }
    Target::value_variants().iter().copied().filter(|target| target.check().is_ok()).collect()
}

/// Those that are named, or all that can happen to this broker.
fn faults(target: Target, named: &[Fault]) -> Result<Vec<Fault>, Failure> {
    target.check()?;
    let all = Fault::value_variants().iter().copied();
    let possible: Vec<_> = all.filter(|fault| target.can_have(*fault)).collect();
    if named.is_empty() {
        return Ok(possible);
    }
    if let Some(other) = named.iter().find(|fault| !possible.contains(fault)) {
        let names: Vec<_> = possible.iter().map(|fault| fault.name()).collect();
        let (target, other) = (target.name(), other.name());
        return Err(
            format!("{target} cannot have the fault {other}; it can have {}", names.join(", ")).into()
        );
    }
    Ok(named.to_vec())
}

fn note(options: &Options, line: &Line) -> Result<(), Failure> {
    let Some(path) = &options.json else { return Ok(()) };
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path)?;
    Ok(writeln!(file, "{}", serde_json::to_string(line)?)?)
}
