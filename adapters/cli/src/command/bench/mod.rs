//! A short measurement of a user's own server, in a database that is made for it and removed again.

mod draining;
mod enqueueing;
mod figures;
mod latency;
mod report;
mod settings;

use std::{
    io::{self, BufRead, IsTerminal, Write, stderr},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use claimstream_ports::Timer;
use claimstream_sea_orm::{BenchPlace, OpenOptions, SeaOrmOutbox, StrategyChoice};
use claimstream_tokio::{TokioTimer, shutdown_signal};

use self::{
    figures::{Figures, Times},
    report::{as_text, as_value},
};
use crate::{Exit, bench_arguments::BenchArguments, config::Config, failure::Failure, progress::Progress};

/// Measures, and removes what it has made, also when it is interrupted.
pub(crate) async fn run(
    asked: BenchArguments,
    config: &Config,
    timer: TokioTimer,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    let url = config.database.url.as_ref().map(ToString::to_string).unwrap_or_default();
    if !asked.yes && !agreed(&url, asked.each)? {
        let seconds = whole(asked.each).as_secs();
        writeln!(
            out,
            "{url} would be loaded for about {seconds} s, in a database of the bench's own; nothing was measured, give --yes to \
             measure"
        )?;
        return Ok(ExitCode::SUCCESS);
    }
    // From here on a signal waits for what was made to be removed.
    let interrupted = shutdown_signal()?;
    let place = config.database.bench_place().await?;
    for name in place.leftovers() {
        let _ = writeln!(stderr(), "removed {name}, which a bench has left that was killed");
    }
    let measured = tokio::select! {
        measured = measure(&place, asked.each, timer) => Some(measured),
        () = interrupted => None,
    };
    let name = place.name().to_owned();
    let end = match place.remove().await {
        Ok(()) => format!("{name} was removed"),
        Err(error) => {
            let _ = writeln!(stderr(), "{name} is left behind, and the next bench removes it: {error}");
            format!("{name} was not removed")
        }
    };
    let Some(measured) = measured else {
        let _ = writeln!(stderr(), "interrupted; {end}");
        return Ok(Exit::Interrupted.into());
    };
    let figures = measured?;
    match asked.json {
        true => writeln!(out, "{}", as_value(&figures))?,
        false => write!(out, "{}", as_text(&figures))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Asks on a terminal; elsewhere the answer is no.
fn agreed(url: &str, each: Duration) -> io::Result<bool> {
    if !io::stdin().is_terminal() || !stderr().is_terminal() {
        return Ok(false);
    }
    let seconds = whole(each).as_secs();
    write!(stderr(), "load {url} for about {seconds} s? others who use it notice that [y/N] ")?;
    stderr().flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(["y", "yes"].contains(&answer.trim().to_ascii_lowercase().as_str()))
}

/// Round trips, commits, three ways to enqueue, three strategies with as many fillings, latency.
const PARTS: u32 = 12;

fn whole(each: Duration) -> Duration {
    each * PARTS
}

async fn measure(place: &BenchPlace, each: Duration, timer: TokioTimer) -> Result<Figures, Failure> {
    let progress = Progress::new("measuring", Some(u64::from(PARTS)), "parts");
    let outbox = Arc::new(open(place, StrategyChoice::Auto).await?);
    let server = place.server().await?;
    let settings = settings::of(&place.variables().await?);
    // Connections are opened and statements prepared before anything counts.
    for _ in 0..3 {
        place.look().await?;
        place.commit().await?;
    }
    let round_trip = repeated(each, timer, async || Ok(place.look().await?)).await?;
    progress.advance(1);
    place.keep().await?;
    let commit = repeated(each, timer, async || Ok(place.commit().await?)).await?;
    progress.advance(1);
    let mut enqueue = Vec::new();
    for (producers, per_transaction) in [(1, 1), (8, 1), (1, 100)] {
        place.keep().await?;
        enqueue.push(enqueueing::measure(&outbox, (producers, per_transaction), each, timer).await?);
        progress.advance(1);
    }
    let drain = draining::measure(place, each, timer, &progress).await?;
    place.keep().await?;
    let latency = latency::measure(&outbox, each, timer).await?;
    progress.advance(1);
    let auto = outbox.strategy();
    Ok(Figures { server, auto, each, settings, round_trip, commit, enqueue, drain, latency })
}

async fn open(place: &BenchPlace, strategy: StrategyChoice) -> Result<SeaOrmOutbox, Failure> {
    Ok(SeaOrmOutbox::open(place.url(), OpenOptions { strategy, ..OpenOptions::default() }).await?)
}

/// Does something again and again for so long, and times each of them.
async fn repeated(
    each: Duration,
    timer: TokioTimer,
    mut work: impl AsyncFnMut() -> Result<(), Failure>,
) -> Result<Times, Failure> {
    let began = timer.now();
    let mut times = Times::default();
    while timer.now() - began < each {
        let begun = timer.now();
        work().await?;
        times.add(timer.now() - begun);
    }
    Ok(times)
}
