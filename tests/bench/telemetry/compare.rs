use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use crate::{Failure, drain::TracesBegin, kind::Kind, sink::Sink};

/// What is compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unit {
    /// Seconds of processor time.
    Time,
    /// Instructions that callgrind counts.
    Instructions,
}

impl From<bool> for Unit {
    fn from(instructions: bool) -> Self {
        if instructions { Self::Instructions } else { Self::Time }
    }
}

/// Measures every kind in turns, each round beginning with another one, and prints the medians and what each adds to none.
pub(crate) fn run(messages: u64, rounds: u32, unit: Unit, begun: TracesBegin) -> Result<(), Failure> {
    let (sink, place) = (Sink::start()?, Place::make(begun)?);
    let mut all = Kind::ALL.map(|kind| (kind, Vec::new()));
    for round in 0..rounds as usize {
        for turn in 0..all.len() {
            let (kind, measured) = &mut all[(turn + round) % Kind::ALL.len()];
            let each = match unit {
                Unit::Time => place.time(*kind, messages, &sink)?,
                Unit::Instructions => place.instructions(*kind, messages / 10, &sink)?,
            };
            eprintln!("round {}: {kind} {each:.2}, {} bytes to the collector", round + 1, sink.take());
            measured.push(each);
        }
    }
    let what = match unit {
        Unit::Time => "us of processor time",
        Unit::Instructions => "thousand instructions",
    };
    println!("| telemetry | {what} for a message | more than none |");
    println!("|---|---|---|");
    let none = median(&all[0].1);
    for (kind, measured) in &all {
        let each = median(measured);
        println!("| `{kind}` | {each:.2} | {:+.1} % |", 100.0 * (each / none - 1.0));
    }
    Ok(())
}

fn median(measured: &[f64]) -> f64 {
    let mut sorted = measured.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// A directory for databases, as long as it is held.
struct Place {
    directory: PathBuf,
    begun: TracesBegin,
}

impl Place {
    fn make(begun: TracesBegin) -> Result<Self, Failure> {
        let directory = env::temp_dir().join(format!("claimstream-telemetry-{}", std::process::id()));
        std::fs::create_dir_all(&directory)?;
        Ok(Self { directory, begun })
    }

    /// Microseconds of processor time for a message.
    fn time(&self, kind: Kind, messages: u64, sink: &Sink) -> Result<f64, Failure> {
        let program = Command::new(env::current_exe()?);
        let ended = self.drain(program, kind, messages, sink)?;
        let seconds: f64 = String::from_utf8(ended.stdout)?.trim().parse()?;
        Ok(seconds * 1e6 / messages as f64)
    }

    /// Thousands of instructions for a message, without those that a process begins and ends with.
    fn instructions(&self, kind: Kind, messages: u64, sink: &Sink) -> Result<f64, Failure> {
        let few = self.count(kind, messages, sink)?;
        let many = self.count(kind, 2 * messages, sink)?;
        Ok((many - few) / messages as f64 / 1000.0)
    }

    fn count(&self, kind: Kind, messages: u64, sink: &Sink) -> Result<f64, Failure> {
        let mut valgrind = Command::new("valgrind");
        valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(env::current_exe()?);
        let ended = self.drain(valgrind, kind, messages, sink)?;
        let said = String::from_utf8_lossy(&ended.stderr);
        let collected =
            said.lines().find_map(|line| line.split_once("Collected : ")).map(|(_, count)| count.trim());
        Ok(collected.ok_or_else(|| format!("callgrind has counted nothing: {said}"))?.parse()?)
    }

    /// Drains a fresh queue with the program that `drain` starts.
    fn drain(&self, drain: Command, kind: Kind, messages: u64, sink: &Sink) -> Result<Output, Failure> {
        let file = self.directory.join("queue.db");
        for old in ["queue.db", "queue.db-wal", "queue.db-shm"] {
            let _ = std::fs::remove_file(self.directory.join(old));
        }
        let (url, messages, kind) = (url(&file), messages.to_string(), kind.to_string());
        let begun = self.begun.to_string();
        ended(Command::new(env::current_exe()?).args(["fill", &url, &messages, &kind, &begun]))?;
        let (mut drain, collector) = (drain, sink.address.to_string());
        ended(drain.args(["drain", &url, &messages, &kind, &collector]))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

fn url(file: &Path) -> String {
    format!("sqlite://{}?mode=rwc", file.display())
}

/// How a program has ended; it must have ended well.
fn ended(command: &mut Command) -> Result<Output, Failure> {
    let ended = command.stdin(Stdio::null()).output()?;
    if ended.status.success() {
        return Ok(ended);
    }
    Err(format!("{command:?} failed: {}", String::from_utf8_lossy(&ended.stderr)).into())
}
