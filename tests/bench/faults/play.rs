use std::{
    io::Write,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use claimstream_testbed::{
    Cluster, ClusterKind, Forwarder, Keeps, Mishap, PrivateServer, Writers,
    work::{Plan, STRATEGIES, Work},
};
use clap::Args;
use sea_orm::{ConnectionTrait, Database};

use crate::{Failure, fault::Fault, line::Line};

#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// The server or the cluster, as tests/servers and tests/clusters call it; it is started for the run.
    #[arg(long, default_value = "galera-10.11")]
    server: String,
    /// One strategy: skip_locked, preemptive_update, shard_lease or lock_guarded; each in turn if none is named.
    #[arg(long)]
    strategy: Option<String>,
    /// What goes wrong.
    #[arg(long, value_enum, default_value = "kill")]
    fault: Fault,
    /// How often it does with each strategy; broken connections are counted by themselves.
    #[arg(long, default_value_t = 3)]
    rounds: u32,
    /// How long connections break with each strategy, in seconds.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// One of so many requests has its connection broken.
    #[arg(long, default_value_t = 6)]
    one_of: u32,
    /// What decides which requests these are.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How long after a message the next one is enqueued, in milliseconds.
    #[arg(long, default_value_t = 20)]
    every: u64,
    /// Where to add a line of figures for each strategy.
    #[arg(long)]
    json: Option<PathBuf>,
}

/// How many relays work behind one address.
const RELAYS: usize = 3;
const LEASE: Duration = Duration::from_secs(4);
/// Longer than the other nodes take to give a silent one up.
const PAUSE: Duration = Duration::from_secs(6);
/// How long a replica receives nothing before its source dies.
const LOST: Duration = Duration::from_secs(2);
/// How long one round of broken connections is, which ends with all of them at once.
const ROUND: Duration = Duration::from_millis(1500);

/// Plays the fault with each strategy.
pub(crate) async fn run(options: &Options) -> Result<(), Failure> {
    let strategies =
        STRATEGIES.into_iter().filter(|name| options.strategy.as_deref().is_none_or(|s| s == *name));
    let strategies: Vec<_> = strategies.collect();
    if strategies.is_empty() {
        return Err(format!("no such strategy; there are {}", STRATEGIES.join(", ")).into());
    }
    let mut wrongs = 0;
    for strategy in strategies {
        for line in play(options, strategy).await? {
            println!("{}", serde_json::to_string(&line)?);
            wrongs += line.wrongs();
            note(options, &line)?;
        }
    }
    match wrongs {
        0 => Ok(()),
        wrongs => Err(format!("{wrongs} messages were lost, doubled or left").into()),
    }
}

fn note(options: &Options, line: &Line) -> Result<(), Failure> {
    let Some(path) = &options.json else { return Ok(()) };
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path)?;
    Ok(writeln!(file, "{}", serde_json::to_string(line)?)?)
}

async fn play(options: &Options, strategy: &'static str) -> Result<Vec<Line>, Failure> {
    let Some(kind) = ClusterKind::named(&options.server) else {
        let server = PrivateServer::find(&options.server, None, "faults").await?;
        if options.fault != Fault::Connections {
            return Err(format!("{} is no cluster; on it connections can break", options.server).into());
        }
        return Ok(vec![connections(options, strategy, &server.url(), &server.url()).await?]);
    };
    if options.fault == Fault::LossyTakeover {
        let mut lines = Vec::new();
        for _ in 0..options.rounds {
            lines.push(lossy_takeover(options, strategy, kind).await?);
        }
        return Ok(lines);
    }
    let cluster = start(kind).await?;
    make_database(cluster.url(1), strategy).await?;
    let line = match (options.fault, kind.writers) {
        (Fault::Connections, _) => {
            let other = if kind.writers == Writers::All { 2 } else { 1 };
            let urls = [1, other].map(|node| in_database(cluster.url(node), strategy));
            connections(options, strategy, &urls[0], &urls[1]).await?
        }
        (Fault::Takeover, Writers::One) if kind.keeps == Keeps::EachCommit => {
            takeover(options, strategy, &cluster).await?
        }
        (Fault::Kill | Fault::Pause | Fault::CutOff | Fault::Restart, Writers::All) => {
            nodes(options, strategy, &cluster).await?
        }
        (fault, _) => return Err(format!("{} is not played on {}", fault.name(), kind.name).into()),
    };
    Ok(vec![line])
}

/// Relays behind forwarders that break their connections; the producer is at peace, so that it enqueues at its pace.
async fn connections(
    options: &Options,
    strategy: &'static str,
    url: &str,
    other: &str,
) -> Result<Line, Failure> {
    let mut forwarders = Vec::new();
    for n in 0..RELAYS {
        forwarders.push(Forwarder::to(if n % 2 == 0 { url } else { other }).await?);
    }
    let relays = forwarders.iter().map(|forwarder| forwarder.url().to_owned()).collect();
    let work = Work::start(&plan(options, strategy, relays, vec![url.to_owned()])).await?;
    for (n, forwarder) in forwarders.iter().enumerate() {
        forwarder.disturb(options.one_of, options.seed.wrapping_mul(1_000_003) + n as u64 * 7919);
    }
    let until = Instant::now() + Duration::from_secs(options.seconds);
    let mut turn = 0;
    while Instant::now() < until {
        tokio::time::sleep(ROUND).await;
        work.tally().fault();
        forwarders[turn % RELAYS].cut();
        turn += 1;
    }
    forwarders.iter().for_each(|forwarder| forwarder.disturb(0, 0));
    let played =
        |forwarder: &Forwarder| Mishap::ALL.map(|mishap| forwarder.played(mishap)).iter().sum::<u64>();
    let faults = forwarders.iter().map(played).sum();
    let figures = work.finish(url).await?;
    Ok(Line::of(&options.server, strategy, options.fault.name(), faults, &figures))
}

/// Relays at each node; one node after the other has the fault.
async fn nodes(options: &Options, strategy: &'static str, cluster: &Arc<Cluster>) -> Result<Line, Failure> {
    let here = |node| in_database(cluster.url(node), strategy);
    let places: Vec<String> = (1..=cluster.nodes()).map(here).collect();
    let work = Work::start(&plan(options, strategy, places.clone(), places)).await?;
    more(&work).await?;
    for round in 0..options.rounds {
        let node = 1 + round as usize % cluster.nodes();
        work.tally().fault();
        match options.fault {
            Fault::Kill => {
                aside(cluster, move |cluster| cluster.kill(node)).await?;
                more(&work).await?;
                aside(cluster, move |cluster| cluster.start_again(node)).await?;
            }
            Fault::Pause => {
                aside(cluster, move |cluster| cluster.pause(node)).await?;
                tokio::time::sleep(PAUSE).await;
                aside(cluster, move |cluster| cluster.resume(node)).await?;
            }
            Fault::CutOff => {
                cluster.cut_off(node).await?;
                tokio::time::sleep(PAUSE).await;
                cluster.reconnect(node).await?;
            }
            _ => {
                aside(cluster, move |cluster| cluster.stop(node)).await?;
                aside(cluster, move |cluster| cluster.start_again(node)).await?;
            }
        }
        more(&work).await?;
    }
    let figures = work.finish(&in_database(cluster.url(1), strategy)).await?;
    Ok(Line::of(&options.server, strategy, options.fault.name(), u64::from(options.rounds), &figures))
}

/// Relays behind one address; the node that takes writes is killed, and comes back when another one has taken over.
async fn takeover(
    options: &Options,
    strategy: &'static str,
    cluster: &Arc<Cluster>,
) -> Result<Line, Failure> {
    let mut writer = next_writer(cluster).await?;
    let forwarder = Forwarder::to(&in_database(cluster.url(writer), strategy)).await?;
    let places = vec![forwarder.url().to_owned(); RELAYS];
    let work = Work::start(&plan(options, strategy, places.clone(), places)).await?;
    more(&work).await?;
    for _ in 0..options.rounds {
        let killed = writer;
        work.tally().fault();
        aside(cluster, move |cluster| cluster.kill(killed)).await?;
        writer = next_writer(cluster).await?;
        forwarder.lead_to(cluster.url(writer));
        more(&work).await?;
        aside(cluster, move |cluster| cluster.start_again(killed)).await?;
        more(&work).await?;
    }
    let figures = work.finish(&in_database(cluster.url(writer), strategy)).await?;
    Ok(Line::of(&options.server, strategy, options.fault.name(), u64::from(options.rounds), &figures))
}

/// A pair of its own: the replica receives nothing for a while, then its source is killed, and it takes over.
async fn lossy_takeover(
    options: &Options,
    strategy: &'static str,
    kind: ClusterKind,
) -> Result<Line, Failure> {
    if kind.keeps != Keeps::WhatWasReceived {
        return Err(format!("{} loses nothing that was answered", kind.name).into());
    }
    let cluster = start(kind).await?;
    make_database(cluster.url(1), strategy).await?;
    let forwarder = Forwarder::to(&in_database(cluster.url(1), strategy)).await?;
    let places = vec![forwarder.url().to_owned(); RELAYS];
    let work = Work::start(&plan(options, strategy, places.clone(), places)).await?;
    more(&work).await?;
    work.tally().loses();
    cluster.catch_up().await?;
    aside(&cluster, Cluster::lose).await?;
    tokio::time::sleep(LOST).await;
    work.tally().fault();
    aside(&cluster, |cluster| cluster.kill(1)).await?;
    cluster.promote().await?;
    work.tally().replaced();
    forwarder.lead_to(cluster.url(2));
    more(&work).await?;
    let figures = work.finish(&in_database(cluster.url(2), strategy)).await?;
    Ok(Line::of(&options.server, strategy, options.fault.name(), 1, &figures))
}

fn plan(options: &Options, strategy: &'static str, relays: Vec<String>, producers: Vec<String>) -> Plan {
    Plan { strategy, relays, producers, lease: LEASE, every: Duration::from_millis(options.every) }
}

async fn start(kind: ClusterKind) -> Result<Arc<Cluster>, Failure> {
    Ok(Arc::new(tokio::task::spawn_blocking(move || Cluster::start(kind)).await?))
}

/// Waits for the cluster to do something, which takes its time.
async fn aside(cluster: &Arc<Cluster>, what: impl FnOnce(&Cluster) + Send + 'static) -> Result<(), Failure> {
    let cluster = cluster.clone();
    Ok(tokio::task::spawn_blocking(move || what(&cluster)).await?)
}

/// Waits until more messages have been handled.
async fn more(work: &Work) -> Result<(), Failure> {
    let before = work.tally().handled();
    for _ in 0..600 {
        if work.tally().handled() >= before + 25 {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Err(format!("nothing was handled for a minute, after {before} messages").into())
}

async fn next_writer(cluster: &Cluster) -> Result<usize, Failure> {
    for _ in 0..300 {
        if let Some(writer) = cluster.writer().await {
            return Ok(writer);
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Err("no node takes writes".into())
}

async fn make_database(url: &str, strategy: &str) -> Result<(), Failure> {
    let db = Database::connect(url).await?;
    db.execute_unprepared(&format!("CREATE DATABASE faults_{strategy}")).await?;
    Ok(db.close().await?)
}

fn in_database(url: &str, strategy: &str) -> String {
    url.replace("/claimstream?", &format!("/faults_{strategy}?"))
}
