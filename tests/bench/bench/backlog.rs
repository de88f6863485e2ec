use std::{collections::BTreeMap, time::Duration};

use claimstream_sea_orm::SeaOrmOutbox;
use sea_orm::sqlx::{AssertSqlSafe, Executor, MySqlConnection, Row};

use crate::{
    Failure,
    child::Child,
    contender::{Contender, Own},
    handwritten,
    job::Job,
    library, server,
};

/// The messages that are there before a measurement begins.
///
/// What the library enqueued is kept as copies of its tables, from which the next round is filled.
pub(crate) struct Backlog {
    url: String,
    /// The size and payload of each copy.
    copies: BTreeMap<String, (u64, usize)>,
    /// The number of the next message of a backlog that is too large to be copied, if that is what the tables hold.
    standing: Option<u64>,
}

const FILLED: [&str; 2] = ["claimstream_queue", "claimstream_message"];
const EMPTIED: [&str; 5] = [
    "claimstream_dedup",
    "claimstream_dead",
    "claimstream_lease",
    "claimstream_notification_request",
    "claimstream_notification_message",
];

impl Backlog {
    /// A larger one is topped up from round to round.
    const COPIED: u64 = 2_000_000;
    const FILLERS: u64 = 4;
    /// The most messages of a transaction, and the most bytes.
    const CHUNK: u64 = 500;
    const CHUNK_BYTES: u64 = 4 << 20;

    pub(crate) fn new(url: &str) -> Self {
        Self { url: url.to_owned(), copies: BTreeMap::new(), standing: None }
    }

    /// Fills the contender's tables with as many messages as the job says, and waits until the server has calmed down.
    pub(crate) async fn fill(&mut self, contender: &Contender, job: &Job) -> Result<(), Failure> {
        let mut connection = handwritten::connect(&self.url).await?;
        match contender {
            Contender::Peer(_) => {
                Child::run(contender, "fill", job, Duration::from_secs(300)).await?;
            }
            Contender::Own(own) if !own.is_library() => {
                handwritten::design(*own)?.fill(&mut connection, job.backlog, job.payload).await?
            }
            Contender::Own(own) => self.fill_library(&mut connection, *own, job).await?,
        }
        calm(&mut connection, job.backlog).await
    }

    /// How many messages of the contender are not acknowledged, or nothing if only it knows.
    pub(crate) async fn remaining(&self, contender: &Contender) -> Result<Option<u64>, Failure> {
        let mut connection = handwritten::connect(&self.url).await?;
        remaining(&mut connection, contender).await
    }

    async fn fill_library(
        &mut self,
        connection: &mut MySqlConnection,
        own: Own,
        job: &Job,
    ) -> Result<(), Failure> {
        // It makes the tables.
        let outbox = library::open(&self.url, own, Self::FILLERS as u32 + 1).await?;
        if job.backlog > Self::COPIED && job.keys == 0 {
            return self.top_up(connection, &outbox, job).await;
        }
        self.standing = None;
        let copy = format!("bench_{}_{}", job.queues, job.keys);
        if job.backlog > 0 && self.copies.get(&copy) != Some(&(job.backlog, job.payload)) {
            empty(connection).await?;
            enqueue(&outbox, 0, job).await?;
            for table in FILLED {
                connection.execute(AssertSqlSafe(format!("DROP TABLE IF EXISTS {copy}_{table}"))).await?;
                connection
                    .execute(AssertSqlSafe(format!("CREATE TABLE {copy}_{table} LIKE {table}")))
                    .await?;
                connection
                    .execute(AssertSqlSafe(format!("INSERT INTO {copy}_{table} SELECT * FROM {table}")))
                    .await?;
            }
            self.copies.insert(copy.clone(), (job.backlog, job.payload));
        }
        empty(connection).await?;
        if job.backlog > 0 {
            for table in FILLED {
                connection
                    .execute(AssertSqlSafe(format!("INSERT INTO {table} SELECT * FROM {copy}_{table}")))
                    .await?;
            }
        }
        Ok(())
    }

    /// Replaces what the round before has taken off a backlog that stands.
    async fn top_up(
        &mut self,
        connection: &mut MySqlConnection,
        outbox: &SeaOrmOutbox,
        job: &Job,
    ) -> Result<(), Failure> {
        let next = match self.standing {
            Some(next) => next,
            None => {
                empty(connection).await?;
                0
            }
        };
        connection.execute("DELETE FROM claimstream_lease").await?;
        let missing = job.backlog.saturating_sub(depth(connection).await?);
        enqueue(outbox, next, &Job { backlog: missing, ..job.clone() }).await?;
        self.standing = Some(next + missing);
        Ok(())
    }
}

/// How many messages of the contender are not acknowledged, or nothing if only it knows.
pub(crate) async fn remaining(
    connection: &mut MySqlConnection,
    contender: &Contender,
) -> Result<Option<u64>, Failure> {
    match contender {
        Contender::Peer(_) => Ok(None),
        Contender::Own(own) if own.is_library() => Ok(Some(depth(connection).await?)),
        Contender::Own(own) => Ok(Some(handwritten::design(*own)?.remaining(connection).await?)),
    }
}

/// How many messages are in the library's queue.
pub(crate) async fn depth(connection: &mut MySqlConnection) -> Result<u64, Failure> {
    let row = connection.fetch_one("SELECT COUNT(*) FROM claimstream_queue").await?;
    Ok(row.try_get::<i64, _>(0)? as u64)
}

/// Empties the library's tables of messages.
pub(crate) async fn empty(connection: &mut MySqlConnection) -> Result<(), Failure> {
    for table in FILLED.into_iter().chain(EMPTIED) {
        connection.execute(AssertSqlSafe(format!("TRUNCATE TABLE {table}"))).await?;
    }
    Ok(())
}

/// Enqueues as a service would, on a few connections at the same time.
pub(crate) async fn enqueue(outbox: &SeaOrmOutbox, first: u64, job: &Job) -> Result<(), Failure> {
    let chunk = (Backlog::CHUNK_BYTES / job.payload.max(1) as u64).clamp(1, Backlog::CHUNK);
    let one = async |filler: u64| {
        let own_chunks = (0..job.backlog).step_by(chunk as usize).skip(filler as usize);
        for start in own_chunks.step_by(Backlog::FILLERS as usize) {
            let numbers = first + start..first + job.backlog.min(start + chunk);
            let messages = numbers.map(|number| library::message(number, 0, job));
            outbox.enqueue_now(&messages.collect::<Result<Vec<_>, _>>()?).await?;
        }
        Ok::<_, Failure>(())
    };
    futures::future::try_join_all((0..Backlog::FILLERS).map(one)).await?;
    Ok(())
}

/// Waits until the server has purged what the filling left behind, or until it has had its time.
pub(crate) async fn calm(connection: &mut MySqlConnection, backlog: u64) -> Result<(), Failure> {
    let most = 20 + backlog / 20_000;
    for _ in 0..most {
        if server::history(connection).await? < 300.0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    // What was written goes to the disk before the next measurement.
    tokio::time::sleep(Duration::from_millis(300)).await;
    Ok(())
}
