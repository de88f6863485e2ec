use std::{
    io::{IsTerminal, Write, stderr, stdout},
    process::ExitCode,
    time::Duration,
};

use claimstream_ports::Timer;
use claimstream_sea_orm::SeaOrmOutbox;
use claimstream_tokio::TokioTimer;
use futures::future::join_all;
use serde_json::{Map, Value};

use super::{look::Look, several::with_database};
use crate::{
    OneDatabase,
    config::{Config, DatabaseName},
    failure::Failure,
};

/// Shows how the queues stand, once or again and again; those of each database, if there are several.
pub(super) async fn run(
    watch: Option<f64>,
    as_json: bool,
    config: &Config,
    timer: TokioTimer,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    let interval = watch.map(interval).transpose()?;
    let mut all: Vec<WatchedDatabase> =
        config.each_database().into_iter().map(|database| WatchedDatabase::new(database, timer)).collect();
    let Some(interval) = interval else { return once(all, as_json, out).await };
    if let [only] = &mut all[..] {
        // A watch that cannot begin is of no use; one that has begun outlives an outage.
        only.open().await?;
    }
    loop {
        show_again(&mut all, interval, as_json, out).await?;
        timer.sleep(interval).await;
    }
}

/// A database, and how its queues stood when they were last looked at.
struct WatchedDatabase {
    database: OneDatabase,
    outbox: Option<SeaOrmOutbox>,
    look: Look,
    timer: TokioTimer,
}

impl WatchedDatabase {
    fn new(database: OneDatabase, timer: TokioTimer) -> Self {
        Self { database, outbox: None, look: Look::default(), timer }
    }

    async fn open(&mut self) -> Result<&SeaOrmOutbox, Failure> {
        let opened = match self.outbox.take() {
            Some(outbox) => outbox,
            None => self.database.config.database.open_existing().await?,
        };
        Ok(self.outbox.insert(opened))
    }

    async fn take(&mut self) -> Result<(), Failure> {
        let outbox = self.open().await?.clone();
        Ok(self.look.take(&outbox, self.timer).await?)
    }

    fn shown(&self, as_json: bool) -> String {
        let Some(name) = &self.database.name else {
            return if as_json { line(self.look.fields()) } else { self.look.text() };
        };
        match as_json {
            true => {
                let mut fields = with_database(name.as_str(), self.look.fields());
                fields.insert("draining".into(), self.database.drain.into());
                line(fields)
            }
            false => format!("database {name}{}\n{}\n", self.draining(), self.look.text()),
        }
    }

    /// What is left in a database that is being emptied.
    fn draining(&self) -> String {
        match (self.database.drain, self.look.held()) {
            (false, _) => String::new(),
            (true, (0, 0)) => ", drained: it is empty".into(),
            (true, (0, dead)) => format!(", drained: it holds {dead} dead letters and no messages"),
            (true, (held, _)) => format!(", draining: {held} messages are left"),
        }
    }
}

fn line(fields: Map<String, Value>) -> String {
    format!("{}\n", Value::Object(fields))
}

async fn once(
    mut all: Vec<WatchedDatabase>,
    as_json: bool,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    let taken = join_all(all.iter_mut().map(WatchedDatabase::take)).await;
    let mut code = ExitCode::SUCCESS;
    for (watched, taken) in all.iter().zip(taken) {
        match (taken, &watched.database.name) {
            (Ok(()), _) => write!(out, "{}", watched.shown(as_json))?,
            (Err(failure), None) => return Err(failure),
            (Err(failure), Some(name)) => {
                report(Some(name), &failure)?;
                code = failure.exit_code();
            }
        }
    }
    Ok(code)
}

/// A database that cannot be reached for a while does not end the watch.
async fn show_again(
    all: &mut [WatchedDatabase],
    interval: Duration,
    as_json: bool,
    out: &mut impl Write,
) -> Result<(), Failure> {
    let taken = join_all(all.iter_mut().map(WatchedDatabase::take)).await;
    let reached = all.iter().zip(&taken).filter(|(_, taken)| taken.is_ok()).map(|(watched, _)| watched);
    let reached: Vec<&WatchedDatabase> = reached.collect();
    if let Some(first) = reached.first().filter(|_| !as_json) {
        if stdout().is_terminal() {
            // Clears the screen and goes to its first line.
            write!(out, "\u{1b}[2J\u{1b}[H")?;
        }
        writeln!(out, "{}, every {}s", first.look.now(), interval.as_secs_f64())?;
    }
    for watched in &reached {
        write!(out, "{}", watched.shown(as_json))?;
    }
    out.flush()?;
    for (watched, taken) in all.iter().zip(&taken) {
        if let Err(failure) = taken {
            report(watched.database.name.as_ref(), failure)?;
        }
    }
    Ok(())
}

fn report(name: Option<&DatabaseName>, failure: &Failure) -> Result<(), Failure> {
    match name {
        Some(name) => writeln!(stderr(), "error: database {name}: {failure}")?,
        None => writeln!(stderr(), "error: {failure}")?,
    }
    Ok(())
}

fn interval(seconds: f64) -> Result<Duration, Failure> {
    let interval = Duration::try_from_secs_f64(seconds).ok().filter(|interval| *interval >= SHORTEST);
    interval
        .ok_or_else(|| Failure::Usage(format!("--watch takes seconds, at least {}", SHORTEST.as_secs_f64())))
}

/// More often would be a load of its own.
const SHORTEST: Duration = Duration::from_millis(100);
