use std::{collections::BTreeMap, future::Future, time::Instant};

use claimstream_sea_orm::SqlxMySql;
use claimstream_testbed::statement::{Args, bind, bytes, sql};
use sea_orm::{ConnectionTrait, DbErr, QueryResult, Value, sqlx::MySqlConnection};
use uuid::Uuid;

use super::{Plan, Setting};
use crate::{
    Failure,
    backlog::Backlog,
    cell::Cell,
    contender::{Contender, Own},
    handwritten,
    job::{Job, unix_micros},
    library::QUEUE,
    record::Round,
    statistics::median,
};

/// How many messages there are, and in how many shards they lie.
const BACKLOG: u64 = 40_000;
const SHARDS: u16 = 16;
const LEASE_MICROS: i64 = 30_000_000;
const HOLDER: [u8; 8] = *b"bench...";

/// What each step of a batch takes, one after another on a connection, without other load and without handlers.
pub(super) fn groups(setting: &Setting<'_>) -> Vec<Vec<Cell>> {
    let cell = |one: &Contender| {
        let job = Job { backlog: BACKLOG, ..setting.job(one, 1) };
        Cell::new("statements", one, 1, Plan::Statements(job.clone()))
            .with("batch", job.batch)
            .with("payload", job.payload)
    };
    let ours = setting.library().filter(|one| one.name() != "shard_lease_per_key");
    vec![setting.named(&["ceilxr", "handwritten"]).chain(ours).map(cell).collect()]
}

pub(super) async fn round(contender: &Contender, job: &Job, backlog: &mut Backlog) -> Result<Round, Failure> {
    backlog.fill(contender, job).await?;
    let own = Own::named(contender.name())?;
    let steps = match own.is_library() {
        true => Batches::new(job).await?.run(own).await?,
        false => handwritten::steps(job, own).await?,
    };
    let mut round = Round::default();
    let mut sum = 0.0;
    for (step, times) in steps.0 {
        let micros = median(&times).ok_or("a step was never taken")?;
        round.set(&format!("{step}_us"), micros);
        sum += if step == "round_trip" { 0.0 } else { micros };
    }
    round.set("batch_us", sum);
    round.set("rate_alone", 1e6 * job.batch as f64 / sum);
    Ok(round)
}

/// How long each step took each time, in microseconds.
#[derive(Default)]
pub(crate) struct Steps(BTreeMap<&'static str, Vec<f64>>);

impl Steps {
    /// Waits for a step.
    pub(crate) async fn time<T, E>(
        &mut self,
        step: &'static str,
        taken: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        let began = Instant::now();
        let done = taken.await?;
        self.0.entry(step).or_default().push(began.elapsed().as_secs_f64() * 1e6);
        Ok(done)
    }
}

/// The library's own statements, shard after shard, without the library.
struct Batches {
    /// It commits every statement itself.
    itself: MySqlConnection,
    /// It commits when the bench says so.
    explicit: MySqlConnection,
    steps: Steps,
    batch: i64,
    /// The watermark of each shard.
    low: BTreeMap<u16, i64>,
}

impl Batches {
    async fn new(job: &Job) -> Result<Self, Failure> {
        let mut explicit = handwritten::connect(&job.url).await?;
        SqlxMySql::new(&mut explicit).execute_unprepared("SET autocommit = 0").await?;
        let itself = handwritten::connect(&job.url).await?;
        let (steps, low) = (Steps::default(), BTreeMap::new());
        Ok(Self { itself, explicit, steps, batch: job.batch as i64, low })
    }

    /// Visits the shards in turn until one has no whole batch any more.
    async fn run(mut self, own: Own) -> Result<Steps, Failure> {
        for number in 0_i64.. {
            let nothing = bind("SELECT 1", &Args::new());
            self.steps.time("round_trip", SqlxMySql::new(&mut self.itself).query_all_raw(nothing)).await?;
            let shard = (number % i64::from(SHARDS)) as u16;
            let whole = match own {
                Own::ShardLease => self.leased(shard, number / i64::from(SHARDS)).await?,
                _ => self.claimed(own, shard, number).await?,
            };
            if !whole {
                break;
            }
        }
        Ok(self.steps)
    }

    /// A batch of a leased shard: read, note in the lease, end.
    async fn leased(&mut self, shard: u16, fence: i64) -> Result<bool, Failure> {
        let mut args = self.args(shard);
        args.extend([("fence", one(fence)), ("holder", blob(HOLDER))]);
        if fence == 0 {
            SqlxMySql::new(&mut self.itself).execute_raw(sql("shard_lease/insert", &args)).await?;
        }
        let reading = SqlxMySql::new(&mut self.itself);
        let found = self.steps.time("read", reading.query_all_raw(sql("shard_lease/read", &args))).await?;
        if found.len() < self.batch as usize {
            return Ok(false);
        }
        let batch = Batch::of(&found)?;
        args.extend(lease(Some(HOLDER), fence + 1, batch.flights()));
        let taking = SqlxMySql::new(&mut self.itself);
        one_row(
            self.steps
                .time("take", taking.execute_raw(sql("shard_lease/write", &args)))
                .await?
                .rows_affected(),
        )?;
        args.extend(lease(None, fence + 1, Vec::new()).into_iter().chain([("fence", one(fence + 1))]));
        args.extend(batch.span());
        let ended = self.steps.time("end", end_leased(&mut self.explicit, &args)).await?;
        self.low.insert(shard, batch.last());
        Ok(ended == self.batch as u64)
    }

    /// A batch whose messages are marked: take, read, end.
    async fn claimed(&mut self, own: Own, shard: u16, number: i64) -> Result<bool, Failure> {
        let mut args = self.args(shard);
        let lease_end = unix_micros() as i64 + LEASE_MICROS;
        let claim = Uuid::from_u128(number as u128 + 1);
        args.extend([
            ("lease_end", one(lease_end)),
            ("claim", vec![bytes(claim)]),
            ("shards", vec![shard.into()]),
        ]);
        let taken = match own {
            Own::SkipLocked => {
                self.steps.time("take", lock_and_mark(&mut self.explicit, args.clone())).await?
            }
            _ => {
                let taking = SqlxMySql::new(&mut self.itself);
                self.steps.time("take", taking.execute_raw(sql("claim/take", &args))).await?.rows_affected()
            }
        };
        if taken < self.batch as u64 {
            return Ok(false);
        }
        let reading = SqlxMySql::new(&mut self.itself);
        let found = self.steps.time("read", reading.query_all_raw(sql("claim/read", &args))).await?;
        let from = found.iter().map(|row| row.try_get_by_index::<i64>(3)).collect::<Result<Vec<_>, _>>()?;
        self.low.insert(shard, from.into_iter().min().unwrap_or_default());
        let ending = SqlxMySql::new(&mut self.itself);
        let ended = self.steps.time("end", ending.execute_raw(sql("settle/done_whole", &args))).await?;
        Ok(ended.rows_affected() == self.batch as u64)
    }

    fn args(&self, shard: u16) -> Args {
        vec![
            ("queue", blob(QUEUE.as_bytes())),
            ("shard", vec![shard.into()]),
            ("limit", one(self.batch)),
            ("inline", one(1_i64 << 20)),
            ("low", one(self.low.get(&shard).copied().unwrap_or_default())),
        ]
    }
}

/// What a settlement under a lease does: free the shard, end the messages, commit.
async fn end_leased(explicit: &mut MySqlConnection, args: &Args) -> Result<u64, Failure> {
    let explicit = SqlxMySql::new(explicit);
    one_row(explicit.execute_raw(sql("shard_lease/write", args)).await?.rows_affected())?;
    let ended = explicit.execute_raw(sql("shard_lease/done", args)).await?.rows_affected();
    explicit.execute_unprepared("COMMIT").await?;
    Ok(ended)
}

/// What a claim under `skip_locked` does before it reads the bodies.
async fn lock_and_mark(explicit: &mut MySqlConnection, mut args: Args) -> Result<u64, Failure> {
    let explicit = SqlxMySql::new(explicit);
    let found = explicit.query_all_raw(sql("claim/lock", &args)).await?;
    let mut marked = 0;
    if !found.is_empty() {
        args.extend(Batch::of(&found)?.span());
        marked = explicit.execute_raw(sql("claim/mark", &args)).await?.rows_affected();
    }
    explicit.execute_unprepared("COMMIT").await?;
    Ok(marked)
}

/// Due times and ids of messages, in order.
struct Batch(Vec<(i64, Vec<u8>)>);

impl Batch {
    fn of(rows: &[QueryResult]) -> Result<Self, DbErr> {
        let place = |row: &QueryResult| Ok((row.try_get_by_index(1)?, row.try_get_by_index(0)?));
        rows.iter().map(place).collect::<Result<_, _>>().map(Self)
    }

    fn last(&self) -> i64 {
        self.0.last().map_or(0, |(due, _)| *due)
    }

    fn span(&self) -> Args {
        let first = self.0.first().map_or(0, |(due, _)| *due);
        let ids = self.0.iter().map(|(_, id)| Value::Bytes(Some(id.clone())));
        vec![("first", one(first)), ("last", one(self.last())), ("ids", ids.collect())]
    }

    /// As a lease row has them.
    fn flights(&self) -> Vec<u8> {
        self.0.iter().flat_map(|(due, id)| [&due.to_be_bytes()[..], id].concat()).collect()
    }
}

/// What a lease row becomes.
fn lease(holder: Option<[u8; 8]>, fence: i64, flights: Vec<u8>) -> Args {
    let until = unix_micros() as i64 + LEASE_MICROS;
    vec![
        ("new_holder", vec![Value::Bytes(holder.map(Vec::from))]),
        ("label", vec![Value::Bytes(None)]),
        ("new_fence", one(fence)),
        ("until", one(until)),
        ("in_flight", one(i64::from(holder.is_some()))),
        ("flights", blob(flights)),
        ("token", one(1)),
    ]
}

fn one_row(rows: u64) -> Result<(), Failure> {
    if rows == 1 { Ok(()) } else { Err(format!("{rows} lease rows were written").into()) }
}

fn one(number: i64) -> Vec<Value> {
    vec![number.into()]
}

fn blob(bytes: impl Into<Vec<u8>>) -> Vec<Value> {
    vec![Value::Bytes(Some(bytes.into()))]
}
