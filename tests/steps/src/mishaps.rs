//! Runs sagas and TCC transactions, many at once, under mishaps that are drawn again each time, for as long as the command line says;
//! the suite runs a few such draws.
//!
//! `cargo test --release -p claimstream-step-tests -- --mishaps --help` explains it. It ends with a panic at the first draw that
//! ends as none must; that draw's seed makes one like it again.

use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

use claimstream_testbed::PrivateServer;
use clap::Parser;

use crate::{
    backend::SeaOrmBackend,
    sagas::{self, Draw, Ends},
    suite::RUNTIME,
    tcc,
};

/// Runs them instead of the tests if the first argument asks for it.
pub fn run_if_asked() -> Option<ExitCode> {
    let mut arguments = std::env::args();
    let program = arguments.next()?;
    let is_asked = arguments.next()? == "--mishaps";
    is_asked.then(|| {
        let options = Options::parse_from([program].into_iter().chain(arguments));
        match RUNTIME.block_on(run(&options)) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("mishaps: {error}");
                ExitCode::FAILURE
            }
        }
    })
}

/// Runs many sagas and TCC transactions at once, under drawn mishaps.
#[derive(Parser, Clone)]
struct Options {
    /// For how many minutes; half of them go to sagas, half to TCC.
    #[arg(long, default_value_t = 4.0)]
    minutes: f64,
    /// Where: memory, sqlite, or a server such as mariadb-10.11, which is started unless it runs.
    #[arg(long, default_value = "memory")]
    store: String,
    /// How many begin at one time.
    #[arg(long, default_value_t = 24)]
    at_once: usize,
    /// The first draw's seed; each other has the next one.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

async fn run(options: &Options) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    if options.store == "memory" {
        sagas::draw_in_memory(options.draws(), |draw, ends| show("payments", draw, ends)).await;
        tcc::draw_in_memory(options.draws(), |draw, ends| show("tcc", draw, ends)).await;
        return Ok(());
    }
    let server = match options.store.as_str() {
        "sqlite" => None,
        name => Some(PrivateServer::find(name, None, "mishaps").await?),
    };
    let backend = |strategy| match &server {
        None => SeaOrmBackend::sqlite(strategy),
        Some(server) => SeaOrmBackend::server("server", &server.url(), strategy),
    };
    let (payments, transactions) = (backend("preemptive_update"), backend("auto"));
    sagas::draw_on(payments, options.draws(), |draw, ends| show("payments", draw, ends)).await;
    tcc::draw_on(transactions, options.draws(), |draw, ends| show("tcc", draw, ends)).await;
    Ok(())
}

impl Options {
    /// Draws for half of the time.
    fn draws(&self) -> impl Iterator<Item = Draw> {
        let (begun, time) = (Instant::now(), Duration::from_secs_f64(self.minutes.max(0.0) * 30.0));
        let draws = (self.seed..).map(|seed| Draw { at_once: self.at_once, seed });
        draws.take_while(move |_| begun.elapsed() < time)
    }
}

fn show(what: &str, draw: Draw, ends: Ends) {
    println!("{what}: {draw:?}: {ends}");
}
