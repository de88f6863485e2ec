use std::{
    future::Future,
    sync::Mutex,
    time::{Duration, Instant},
};

use claimstream_ports::Enqueue;
use claimstream_sea_orm::SeaOrmOutbox;
use claimstream_testbed::ServerProcess;
use sea_orm::sqlx::{self, AssertSqlSafe, Connection, MySqlConnection};

use crate::{
    Failure,
    contender::Own,
    handwritten::{self, Sqlite},
    job::{Job, Produced, payload, unix_micros},
    library, parent,
};

/// Producers that enqueue as fast as they can, each a transaction after another.
pub(crate) async fn flat_out(job: &str) -> Result<(), Failure> {
    let job: Job = serde_json::from_str(job)?;
    let producers = Producers::open(&job).await?;
    let (began, cpu) = (Instant::now(), ServerProcess::own().cpu_seconds());
    let end = began + Duration::from_secs(job.seconds);
    let tally = Mutex::new(Produced::default());
    let one = async |number: u64| {
        let mut connection = producers.connection().await?;
        let mut next = number << 40;
        while Instant::now() < end {
            producers.transaction(&mut connection, next, &tally).await;
            next += job.per_transaction;
        }
        Ok::<_, Failure>(())
    };
    futures::future::try_join_all((0..job.producers).map(one)).await?;
    let mut produced = tally.into_inner()?;
    produced.seconds = began.elapsed().as_secs_f64();
    produced.cpu_seconds = ServerProcess::own().cpu_seconds() - cpu;
    produced.numbers.clear();
    parent::report(&produced)
}

/// Producers that enqueue at a steady rate, whatever the answers take.
pub(crate) async fn steadily(job: &str) -> Result<(), Failure> {
    let job: Job = serde_json::from_str(job)?;
    let producers = Producers::open(&job).await?;
    let mut connections = Vec::new();
    for _ in 0..job.producers {
        connections.push(producers.connection().await?);
    }
    parent::wait_for_go()?;
    let (began, cpu) = (Instant::now(), ServerProcess::own().cpu_seconds());
    let every = Duration::from_secs_f64(job.per_transaction as f64 / job.rate);
    let (tally, next) = (Mutex::new(Produced::default()), Mutex::new(0_u32));
    // A producer that is free takes the next transaction and waits until it is due.
    let one = |mut connection: Connected| {
        let (producers, tally, next, job) = (&producers, &tally, &next, &job);
        async move {
            loop {
                let turn = take_a_turn(next);
                let due = every * turn;
                if due.as_secs() >= job.seconds {
                    break;
                }
                tokio::time::sleep_until((began + due).into()).await;
                let first = (job.number << 40) + u64::from(turn) * job.per_transaction;
                producers.transaction(&mut connection, first, tally).await;
                if began.elapsed().as_secs() > job.seconds {
                    break;
                }
            }
        }
    };
    futures::future::join_all(connections.into_iter().map(one)).await;
    let mut produced = tally.into_inner()?;
    produced.seconds = began.elapsed().as_secs_f64();
    produced.cpu_seconds = ServerProcess::own().cpu_seconds() - cpu;
    parent::report(&produced)
}

fn take_a_turn(next: &Mutex<u32>) -> u32 {
    let mut next = next.lock().expect("no panic");
    *next += 1;
    *next - 1
}

/// Who enqueues, and how.
struct Producers {
    job: Job,
    own: Own,
    outbox: Option<SeaOrmOutbox>,
}

/// What a producer holds: the library has a pool, by hand it is a connection.
enum Connected {
    Library,
    ByHand(MySqlConnection),
    OnFile(Box<Sqlite>),
}

impl Producers {
    async fn open(job: &Job) -> Result<Self, Failure> {
        let own = Own::named(&job.contender)?;
        let outbox = match own.is_library() {
            true => Some(library::open(&job.url, own, job.producers as u32 + 2).await?),
            false => None,
        };
        Ok(Self { job: job.clone(), own, outbox })
    }

    async fn connection(&self) -> Result<Connected, Failure> {
        match &self.outbox {
            Some(_) => Ok(Connected::Library),
            None if self.job.is_on_file() => Ok(Connected::OnFile(Box::new(Sqlite::open(&self.job).await?))),
            None => Ok(Connected::ByHand(handwritten::connect(&self.job.url).await?)),
        }
    }

    /// Enqueues the messages from this number on in a transaction of their own, and counts what became of it.
    async fn transaction(&self, connected: &mut Connected, first: u64, tally: &Mutex<Produced>) {
        let (began, sent) = (Instant::now(), unix_micros());
        let numbers = first..first + self.job.per_transaction;
        let done = match (connected, &self.outbox) {
            (Connected::Library, Some(outbox)) => self.through_library(outbox, numbers.clone(), sent).await,
            (Connected::ByHand(connection), _) => self.by_hand(connection, numbers.clone(), sent).await,
            (Connected::OnFile(queue), _) => queue.insert(numbers.clone(), sent, self.job.payload).await,
            (Connected::Library, None) => Err("there is no outbox".into()),
        };
        let mut tally = tally.lock().expect("no panic");
        match done {
            Ok(()) => {
                tally.count += self.job.per_transaction;
                tally.transactions.add(began.elapsed());
                tally.numbers.extend(numbers);
            }
            Err(error) if tally.errors.len() < 20 => tally.errors.push(error.to_string()),
            Err(_) => {}
        }
    }

    async fn through_library(
        &self,
        outbox: &SeaOrmOutbox,
        numbers: impl Iterator<Item = u64>,
        sent: u64,
    ) -> Result<(), Failure> {
        let message = |number| library::message(number, sent, &self.job);
        let messages = numbers.map(message).collect::<Result<Vec<_>, _>>()?;
        if self.job.own_transactions {
            let transaction = outbox.begin_own().await?;
            outbox.enqueue(&transaction, &messages).await?;
            return Ok(transaction.commit().await?);
        }
        let transaction = outbox.begin().await?;
        outbox.enqueue(&transaction, &messages).await?;
        Ok(outbox.commit(transaction).await?)
    }

    /// On a server, one statement for the messages of a transaction, or two where bodies have a table of their own.
    fn by_hand<'a>(
        &'a self,
        connection: &'a mut MySqlConnection,
        numbers: impl Iterator<Item = u64> + Clone + 'a,
        sent: u64,
    ) -> impl Future<Output = Result<(), Failure>> + 'a {
        let rows = |row: &str| vec![row; self.job.per_transaction as usize].join(", ");
        let payloads = move || numbers.clone().map(move |number| payload(number, sent, self.job.payload));
        async move {
            let mut transaction = connection.begin().await?;
            if self.own == Own::Handwritten {
                let body = "INSERT INTO bench_body (shard_id, created_at, payload) VALUES ";
                let body = format!("{body}{}", rows("(0, UTC_TIMESTAMP(6), ?)"));
                let body = sqlx::query(AssertSqlSafe(body));
                let body = payloads().fold(body, |query, payload| query.bind(payload));
                // The ids of one insert follow each other.
                let first = body.execute(&mut *transaction).await?.last_insert_id();
                let queue = "INSERT INTO bench_queue (id, shard_id, available_at) VALUES ";
                let queue = format!("{queue}{}", rows("(?, ?, UTC_TIMESTAMP(6))"));
                let ids = first..first + self.job.per_transaction;
                let queue = sqlx::query(AssertSqlSafe(queue));
                let queue = ids.fold(queue, |query, id| query.bind(id).bind(id % 16));
                queue.execute(&mut *transaction).await?;
            } else {
                let insert = "INSERT INTO bench_ceilxr (shard_id, available_at, created_at, payload) VALUES ";
                let insert = format!("{insert}{}", rows("(0, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6), ?)"));
                let insert = sqlx::query(AssertSqlSafe(insert));
                let insert = payloads().fold(insert, |query, payload| query.bind(payload));
                insert.execute(&mut *transaction).await?;
            }
            Ok(transaction.commit().await?)
        }
    }
}
