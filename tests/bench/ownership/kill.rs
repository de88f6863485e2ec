use std::{
    fmt,
    time::{Duration, Instant},
};

use clap::Args;
use sea_orm::{Database, DatabaseConnection};
use serde::Serialize;

use crate::{
    Failure, Setting,
    fleet::Fleet,
    history::{History, How},
    instance::{self, ATTEMPTS},
    load::Load,
    tables, write_json,
    wrongs::Wrongs,
};

#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    #[command(flatten)]
    setting: Setting,
    /// How long messages are enqueued and owners killed, in seconds.
    #[arg(long, default_value_t = 30)]
    seconds: u64,
    /// How long one kill comes after the other, in milliseconds.
    #[arg(long, default_value_t = 1000)]
    every: u64,
    /// How many messages crash the process that handles them.
    #[arg(long, default_value_t = 2)]
    poison: usize,
}

/// What is left after this long without an end counts as lost.
const TIMEOUT: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(20);

/// The figures of a run.
#[derive(Serialize, Debug)]
struct Figures {
    run: &'static str,
    server: String,
    order: &'static str,
    instances: usize,
    keys: u32,
    lease_ms: u64,
    seconds: u64,
    messages: usize,
    kills: usize,
    /// Shards that were in the hands of those who were killed.
    shards_of_the_killed: usize,
    crashes: usize,
    hand_outs: usize,
    repeats: usize,
    failed: usize,
    cut_off: usize,
    lapsed: usize,
    taken_back: usize,
    buried: usize,
    superseded: usize,
    per_second: f64,
    /// How long it took to be done with everything after the last kill, in seconds.
    drained_after: f64,
    wrongs: Wrongs,
}

/// Kills an owner every so often while messages come and go, lets the rest be done, and fails if anything went wrong.
pub(crate) async fn run(options: &Options) -> Result<(), Failure> {
    let setting = &options.setting;
    let server = setting.find_server().await?;
    let (url, version) = (server.url(), server.version().await?);
    let outbox = instance::open(&url, setting.order).await?;
    let db = Database::connect(&url).await?;
    tables::make(&db).await?;
    let mut fleet = Fleet::start(&url, setting.order, setting)?;
    let poison = (1..=options.poison).map(|n| n * setting.rate as usize).collect();
    let began = Instant::now();
    let load = Load::start(outbox, setting, poison);
    let mut deaths = Deaths::default();
    let until = Duration::from_secs(options.seconds);
    while began.elapsed() < until {
        let next = Instant::now() + Duration::from_millis(options.every);
        while Instant::now() < next {
            deaths.crashes += fleet.replace_the_dead()?;
            tokio::time::sleep(LOOK).await;
        }
        deaths.kill_an_owner(&mut fleet, &db).await?;
    }
    let sent = load.finish().await?;
    let stopped = began.elapsed();
    drain(&mut fleet, &db, &mut deaths).await?;
    let done = began.elapsed();
    fleet.stop()?;
    let history = History {
        sent,
        hand_outs: tables::hand_outs(&db).await?,
        turns: tables::turns(&db).await?,
        answers: tables::answers(&db).await?,
        dead: tables::dead(&db).await?,
    };
    db.close().await?;
    let figures = Figures {
        seconds: options.seconds,
        per_second: history.sent.len() as f64 / done.as_secs_f64(),
        drained_after: (done - stopped).as_secs_f64(),
        ..Figures::of(&history, &deaths, setting, version)
    };
    println!("{figures}");
    write_json(setting.json.as_deref(), &figures)?;
    match figures.wrongs == Wrongs::default() {
        true => Ok(()),
        false => Err("the run went wrong".into()),
    }
}

/// Waits until everything is done or nothing moves any more.
async fn drain(fleet: &mut Fleet, db: &DatabaseConnection, deaths: &mut Deaths) -> Result<(), Failure> {
    let (mut depth, mut moved) = (i64::MAX, Instant::now());
    while depth > 0 && moved.elapsed() < TIMEOUT {
        deaths.crashes += fleet.replace_the_dead()?;
        let now = tables::depth(db).await?;
        if now < depth {
            (depth, moved) = (now, Instant::now());
        }
        tokio::time::sleep(10 * LOOK).await;
    }
    Ok(())
}

/// Who died.
#[derive(Default)]
struct Deaths {
    kills: usize,
    shards: usize,
    crashes: usize,
}

impl Deaths {
    /// Kills one that holds shards, if any does, and starts another one in its place.
    async fn kill_an_owner(&mut self, fleet: &mut Fleet, db: &DatabaseConnection) -> Result<(), Failure> {
        let holders = tables::holders(db).await?;
        let mut owners: Vec<(usize, usize)> = holders
            .iter()
            .filter_map(|(label, shards)| Some((fleet.position(label)?, shards.len())))
            .collect();
        owners.sort_unstable();
        let turn = self.kills % owners.len().max(1);
        let (victim, shards) = owners.get(turn).copied().unwrap_or((0, 0));
        fleet.kill(victim)?;
        fleet.add()?;
        self.kills += 1;
        self.shards += shards;
        Ok(())
    }
}

impl Figures {
    fn of(history: &History, deaths: &Deaths, setting: &Setting, version: String) -> Self {
        Self {
            run: "kill",
            server: format!("{} ({version})", setting.server),
            order: setting.order.name(),
            instances: setting.instances,
            keys: setting.keys,
            lease_ms: setting.lease,
            seconds: 0,
            messages: history.sent.len(),
            kills: deaths.kills,
            shards_of_the_killed: deaths.shards,
            crashes: deaths.crashes,
            hand_outs: history.hand_outs.len(),
            repeats: history.repeats(),
            failed: history.count(How::Failed),
            cut_off: history.count(How::CutOff),
            lapsed: history.count(How::Lapsed),
            taken_back: history.count(How::TakenBack),
            buried: history.dead.len(),
            superseded: history.answers.iter().filter(|answer| !answer.is_accepted).count(),
            per_second: 0.0,
            drained_after: 0.0,
            wrongs: history.wrongs(setting.order, ATTEMPTS),
        }
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { server, order, instances, keys, lease_ms, .. } = self;
        writeln!(
            f,
            "\n{server}, order {order}, {instances} instances, {keys} keys, leases of {lease_ms} ms\n"
        )?;
        let figures = [
            ("messages", self.messages),
            ("owners killed", self.kills),
            ("shards they held", self.shards_of_the_killed),
            ("crashes by poison", self.crashes),
            ("hand-outs", self.hand_outs),
            ("repeats", self.repeats),
            ("failed attempts", self.failed),
            ("attempts cut off", self.cut_off),
            ("attempts that ran out", self.lapsed),
            ("attempts taken back", self.taken_back),
            ("superseded settlements", self.superseded),
            ("buried", self.buried),
        ];
        figures.iter().try_for_each(|(name, count)| writeln!(f, "{name:<32} {count:>9}"))?;
        writeln!(f, "{:<32} {:>9.0}", "messages per second, to the end", self.per_second)?;
        writeln!(f, "{:<32} {:>9.1}\n", "seconds to the end after the last kill", self.drained_after)?;
        writeln!(f, "must be 0:")?;
        let wrongs = serde_json::to_value(&self.wrongs).map_err(|_| fmt::Error)?;
        let wrongs = wrongs.as_object().ok_or(fmt::Error)?;
        wrongs.iter().try_for_each(|(name, count)| {
            writeln!(f, "{:<32} {:>9}", name.replace('_', " "), count.to_string())
        })
    }
}
