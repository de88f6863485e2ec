use std::{process, time::Duration};

use claimstream_domain::Timestamp;
use claimstream_testbed::PrivateServer;

use crate::{
    Failure,
    backlog::Backlog,
    cell::Cell,
    machine::{Machine, commit},
    options::Options,
    record::Record,
    scenario::{self, sqlite},
    server::About,
    table::table,
};

/// Measures what the options ask for, server by server, and fails if anything of ours was lost or doubled.
pub(crate) async fn run(options: &Options) -> Result<(), Failure> {
    let mut verdict = Verdict::default();
    for name in &options.servers {
        if let Err(error) = one_server(options, name, &mut verdict).await {
            verdict.wrong.push(format!("{name}: {error}"));
        }
    }
    verdict.tell()
}

async fn one_server(options: &Options, name: &str, verdict: &mut Verdict) -> Result<(), Failure> {
    let contenders = options.contenders()?;
    let server = match name {
        sqlite::NAME => None,
        name => Some(PrivateServer::find(name, options.database.as_deref(), "bench").await?),
    };
    let about = match &server {
        Some(server) => About::of(server, name).await?,
        None => sqlite::about().await?,
    };
    let date = now();
    let template = Record {
        run: format!("{date} {}", process::id()),
        server: about,
        machine: Machine::here(),
        date,
        commit: commit(),
        version: env!("CARGO_PKG_VERSION").into(),
        ..Record::default()
    };
    println!("\n{name}: {}, {} cores", template.server.version, template.machine.cores);
    let url = server.as_ref().map_or_else(String::new, PrivateServer::url);
    let mut backlog = Backlog::new(&url);
    let groups = |scenario: &String| match &server {
        Some(_) => scenario::groups(scenario, options, &contenders, &url),
        None => sqlite::groups(scenario, options, &contenders),
    };
    let scenarios = options.scenarios.iter().map(groups);
    for groups in scenarios.collect::<Result<Vec<_>, _>>()? {
        for group in groups {
            let records = together(options, group, &template, &mut backlog, &url).await;
            println!("{}", table(&records));
            for record in &records {
                verdict.add(record);
                if let Some(file) = &options.json {
                    record.append_to(file)?;
                }
            }
        }
    }
    Ok(())
}

/// Runs all rounds of a group, in each round every cell once, and each round begins with another one.
async fn together(
    options: &Options,
    mut group: Vec<Cell>,
    template: &Record,
    backlog: &mut Backlog,
    url: &str,
) -> Vec<Record> {
    for round in 0..options.rounds {
        let cells = group.len();
        for place in 0..cells {
            let cell = &mut group[(place + round) % cells];
            // What has failed twice will fail again.
            if cell.record.failures.len() < 2 {
                one_round(cell, round, backlog, url).await;
            }
        }
    }
    let fill_in = |cell: Cell| Record {
        run: template.run.clone(),
        server: template.server.clone(),
        machine: template.machine.clone(),
        date: template.date.clone(),
        commit: template.commit.clone(),
        version: template.version.clone(),
        ..cell.record
    };
    group.into_iter().map(fill_in).collect()
}

async fn one_round(cell: &mut Cell, round: usize, backlog: &mut Backlog, url: &str) {
    let title = format!("{} {}, round {}", cell.record.scenario, cell.title(), round + 1);
    match scenario::measure(cell, backlog, url).await {
        Ok(round) => {
            let figures = round.figures.iter().map(|(name, value)| format!("{name} {value:.2}"));
            eprintln!("{title}: {}", figures.collect::<Vec<_>>().join(", "));
            cell.record.rounds.push(round);
        }
        Err(error) => {
            eprintln!("{title}: FAILED: {error}");
            cell.record.failures.push(error.to_string());
            // What it was doing may take the server a moment to forget.
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }
}

/// What went wrong, in all cells together.
#[derive(Default)]
struct Verdict {
    measured: usize,
    wrong: Vec<String>,
}

impl Verdict {
    /// Other people's designs may lose and double messages without a word of ours.
    fn add(&mut self, record: &Record) {
        let counts = record.counts();
        self.measured += record.rounds.len();
        let others = record.peer.is_some() || ["s0", "s1"].contains(&record.contender.as_str());
        let wrong = counts.lost + counts.duplicates + counts.doubled;
        if wrong > 0 && !others {
            let cell = crate::cell::conditions(record.instances, &record.parameters);
            self.wrong.push(format!(
                "lost or doubled: {} {}, {cell}: {counts:?}",
                record.scenario, record.contender
            ));
        }
    }

    fn tell(&self) -> Result<(), Failure> {
        if self.measured == 0 {
            return Err("nothing was measured".into());
        }
        match self.wrong.is_empty() {
            true => Ok(()),
            false => Err(format!("not everything went well:\n{}", self.wrong.join("\n")).into()),
        }
    }
}

fn now() -> String {
    let seconds = crate::job::unix_now() as i64;
    Timestamp::from_micros(seconds * 1_000_000).map_or_else(|_| String::new(), |now| now.to_string())
}
