use std::{collections::HashSet, fmt, time::Duration};

use clap::Args;
use sea_orm::{Database, DatabaseConnection};
use serde::Serialize;

use crate::{
    Failure, Setting,
    fleet::Fleet,
    instance::{self, POLL},
    load::Load,
    tables, unix_micros, write_json,
};

#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    #[command(flatten)]
    setting: Setting,
    /// How often each figure is taken; medians are shown.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// How long the shares of the instances are counted in each round, in seconds.
    #[arg(long, default_value_t = 3)]
    steady: u64,
}

/// An instance that is busy looks at all shards this often.
const LOOK_AT_ALL: Duration = Duration::from_secs(2);
/// What has not happened after this long never will.
const TIMEOUT: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(10);

/// The times of one round, in milliseconds, and the shares.
#[derive(Serialize, Clone, Copy, Debug)]
struct Round {
    /// The fewest messages of an instance against the most.
    min_to_max_share: f64,
    /// From the start of a process to its first message.
    first_message_of_a_started: f64,
    /// From the moment an instance was ready to its first message.
    first_message_of_a_ready: f64,
    /// How many shards the stopped one held.
    shards_of_the_stopped: usize,
    /// Until others had served all shards of one that was asked to stop.
    taken_over_from_the_stopped: f64,
    shards_of_the_killed: usize,
    /// The same, of one that was killed.
    taken_over_from_the_killed: f64,
}

/// The figures of a run.
#[derive(Serialize, Debug)]
struct Figures {
    run: &'static str,
    server: String,
    order: &'static str,
    instances: usize,
    rate: u32,
    lease_ms: u64,
    /// The longest that shards of a killed one may wait: the lease and a look at all shards, in milliseconds.
    bound: f64,
    summary: Vec<Summary>,
    rounds: Vec<Round>,
}

/// One figure over all rounds.
#[derive(Serialize, Clone, Copy, Debug)]
struct Summary {
    what: &'static str,
    median: f64,
    min: f64,
    max: f64,
}

/// Lets an instance come, one go and one die in each round, under load, and fails if shards were orphaned for too long.
pub(crate) async fn run(options: &Options) -> Result<(), Failure> {
    let setting = &options.setting;
    let server = setting.find_server().await?;
    let (url, version) = (server.url(), server.version().await?);
    let outbox = instance::open(&url, setting.order).await?;
    let db = Database::connect(&url).await?;
    tables::make(&db).await?;
    let load = Load::start(outbox, setting, Vec::new());
    let mut setup = Setup { fleet: Fleet::start(&url, setting.order, setting)?, db };
    setup.wait_until_all_work().await?;
    let mut rounds = Vec::new();
    for n in 1..=options.rounds {
        let round = setup.round(Duration::from_secs(options.steady)).await?;
        eprintln!("round {n}: {round:?}");
        rounds.push(round);
    }
    load.finish().await?;
    setup.fleet.stop()?;
    setup.db.close().await?;
    let figures = Figures::of(rounds, setting, version);
    println!("{figures}");
    write_json(setting.json.as_deref(), &figures)?;
    match figures.rounds.iter().all(|round| round.taken_over_from_the_killed <= figures.bound) {
        true => Ok(()),
        false => Err("shards of a killed instance were orphaned for too long".into()),
    }
}

struct Setup {
    fleet: Fleet,
    db: DatabaseConnection,
}

impl Setup {
    async fn round(&mut self, steady: Duration) -> Result<Round, Failure> {
        let min_to_max_share = self.shares(steady).await?;
        let (first_message_of_a_started, first_message_of_a_ready) = self.one_comes().await?;
        let (at, number, shards) = self.an_owner().await?;
        let stopped = (unix_micros(), self.newest().await?);
        let mut member = self.fleet.members.swap_remove(at);
        member.tell_to_stop();
        let taken_over_from_the_stopped = self.served_by_others(number, &shards, stopped).await?;
        let shards_of_the_stopped = shards.len();
        member.wait()?;
        // The one that comes and the one that goes leave as many as there were; the killed one is replaced.
        let (at, number, shards) = self.an_owner().await?;
        let killed = (unix_micros(), self.newest().await?);
        self.fleet.kill(at)?;
        let taken_over_from_the_killed = self.served_by_others(number, &shards, killed).await?;
        self.fleet.add()?;
        self.wait_until_all_work().await?;
        Ok(Round {
            min_to_max_share,
            first_message_of_a_started,
            first_message_of_a_ready,
            shards_of_the_stopped,
            taken_over_from_the_stopped,
            shards_of_the_killed: shards.len(),
            taken_over_from_the_killed,
        })
    }

    /// Counts what each instance is handed out for a while.
    async fn shares(&self, steady: Duration) -> Result<f64, Failure> {
        let since = self.newest().await?;
        tokio::time::sleep(steady).await;
        let sql = format!("SELECT COUNT(*) FROM ownership_hand_out WHERE n > {since} GROUP BY instance");
        let counts: Vec<i64> = tables::rows(&self.db, &sql)
            .await?
            .iter()
            .map(|row| row.try_get_by_index(0))
            .collect::<Result<_, _>>()?;
        let fewest =
            if counts.len() < self.fleet.members.len() { Some(0) } else { counts.iter().copied().min() };
        let most = counts.into_iter().max().ok_or("nothing is handed out")?;
        Ok(fewest.unwrap_or_default() as f64 / most as f64)
    }

    /// Starts one more; how long it takes to its first message, from its start and from when it is ready.
    async fn one_comes(&mut self) -> Result<(f64, f64), Failure> {
        let started = unix_micros();
        let number = self.fleet.add()?.job.number;
        let first = self.first_message(number).await?;
        let member = self.fleet.members.iter().find(|member| member.job.number == number);
        let ready = member.and_then(|member| member.ready_at()).unwrap_or(started);
        Ok((millis(first - started), millis(first - ready)))
    }

    async fn first_message(&self, number: u32) -> Result<i64, Failure> {
        let sql = format!("SELECT MIN(begun) FROM ownership_hand_out WHERE instance = {number}");
        let began = unix_micros();
        while !is_late(began) {
            match tables::number(&self.db, &sql).await? {
                0 => tokio::time::sleep(LOOK).await,
                at => return Ok(at),
            }
        }
        Err(format!("instance-{number} never got a message").into())
    }

    async fn wait_until_all_work(&self) -> Result<(), Failure> {
        for member in &self.fleet.members {
            self.first_message(member.job.number).await?;
        }
        Ok(())
    }

    /// The instance that holds the most shards: its position, its number and the shards.
    async fn an_owner(&self) -> Result<(usize, u32, HashSet<u16>), Failure> {
        let began = unix_micros();
        while !is_late(began) {
            let holders = tables::holders(&self.db).await?;
            let owner = holders.into_iter().max_by_key(|(_, shards)| shards.len());
            if let Some((label, shards)) = owner
                && let Some(at) = self.fleet.position(&label)
            {
                return Ok((at, self.fleet.members[at].job.number, shards.into_iter().collect()));
            }
        }
        Err("no instance holds a shard".into())
    }

    /// How long it takes until each of these shards has been served by another instance, in milliseconds.
    async fn served_by_others(
        &self,
        number: u32,
        shards: &HashSet<u16>,
        (since, newest): (i64, i64),
    ) -> Result<f64, Failure> {
        let sql = format!(
            "SELECT shard, MIN(begun) FROM ownership_hand_out
              WHERE n > {newest} AND begun >= {since} AND instance <> {number} GROUP BY shard"
        );
        while !is_late(since) {
            let mut served = Vec::new();
            for row in tables::rows(&self.db, &sql).await? {
                if shards.contains(&row.try_get_by_index(0)?) {
                    served.push(row.try_get_by_index::<i64>(1)?);
                }
            }
            if served.len() == shards.len() {
                return Ok(millis(served.into_iter().max().unwrap_or(since) - since));
            }
            tokio::time::sleep(LOOK).await;
        }
        Err(format!("shards of instance-{number} were never served by others").into())
    }

    async fn newest(&self) -> Result<i64, Failure> {
        tables::number(&self.db, "SELECT CAST(MAX(n) AS SIGNED) FROM ownership_hand_out").await
    }
}

fn is_late(began: i64) -> bool {
    unix_micros() - began > TIMEOUT.as_micros() as i64
}

fn millis(micros: i64) -> f64 {
    micros as f64 / 1000.0
}

impl Figures {
    fn of(rounds: Vec<Round>, setting: &Setting, version: String) -> Self {
        let poll = POLL.max(LOOK_AT_ALL).as_millis() as f64;
        Self {
            run: "rebalance",
            server: format!("{} ({version})", setting.server),
            order: setting.order.name(),
            instances: setting.instances,
            rate: setting.rate,
            lease_ms: setting.lease,
            bound: setting.lease as f64 + poll,
            summary: FIGURES.iter().map(|figure| Summary::of(figure, &rounds)).collect(),
            rounds,
        }
    }
}

/// What is shown of a round.
const FIGURES: [Figure; 7] = [
    ("fewest messages of an instance against most", |round| round.min_to_max_share),
    ("ms from start to first message", |round| round.first_message_of_a_started),
    ("ms from ready to first message", |round| round.first_message_of_a_ready),
    ("shards of the stopped", |round| round.shards_of_the_stopped as f64),
    ("ms until others served those of the stopped", |round| round.taken_over_from_the_stopped),
    ("shards of the killed", |round| round.shards_of_the_killed as f64),
    ("ms until others served those of the killed", |round| round.taken_over_from_the_killed),
];

type Figure = (&'static str, fn(&Round) -> f64);

impl Summary {
    fn of((what, value): &Figure, rounds: &[Round]) -> Self {
        let mut sorted: Vec<f64> = rounds.iter().map(value).collect();
        sorted.sort_by(f64::total_cmp);
        let at = |n: usize| sorted.get(n).copied().unwrap_or_default();
        Self { what, median: at(sorted.len() / 2), min: at(0), max: at(sorted.len().saturating_sub(1)) }
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { server, order, instances, rate, lease_ms, bound, rounds, .. } = self;
        writeln!(f, "\n{server}, order {order}, {instances} instances, {rate} messages a second")?;
        writeln!(f, "leases of {lease_ms} ms, bound {bound:.0} ms, {} rounds\n", rounds.len())?;
        writeln!(f, "{:<46} {:>9} {:>9} {:>9}", "", "median", "min", "max")?;
        self.summary.iter().try_for_each(|Summary { what, median, min, max }| {
            writeln!(f, "{what:<46} {median:>9.2} {min:>9.2} {max:>9.2}")
        })
    }
}
