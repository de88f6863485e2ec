use std::{num::NonZeroUsize, ops::Range, time::Duration};

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use ruststream::runtime::RunningApp;
use ruststream_sqlx::prelude::*;
use sqlx::{MySql, MySqlPool, mysql::MySqlPoolOptions};

use crate::{
    Failure,
    job::Job,
    ledger::LEDGER,
    library::{Library, Sender, Worker},
    payload,
    server::Server,
};

const POOL: u32 = 16;
/// The shortest pause after a claim that came back short; by default it is a second.
const POLL: Duration = Duration::from_millis(10);

/// A row that its claim keeps locked, in an open transaction, until the batch is settled.
#[derive(Clone, Debug, Inbox, sqlx::FromRow)]
#[inbox(table = "ruststream_row")]
struct LockedRow {
    #[field(id, generated)]
    id: i64,
    payload: Vec<u8>,
}

/// A row that its claim stamps with the end of a lease.
#[derive(Clone, Debug, Inbox, sqlx::FromRow)]
#[inbox(table = "ruststream_lease")]
struct LeasedRow {
    #[field(id, generated)]
    id: i64,
    #[field(locked_until)]
    locked_until: Option<DateTime<Utc>>,
    payload: Vec<u8>,
}

#[subscriber(InboxQueue::<LockedRow>::new("locked").poll_interval(POLL))]
async fn handle_locked(rows: &[LockedRow]) -> HandlerOutcome {
    LEDGER.record(rows.iter().map(|row| payload::number(&row.payload)));
    HandlerOutcome::ack()
}

#[subscriber(InboxQueue::<LeasedRow>::new("leased").poll_interval(POLL))]
async fn handle_leased(rows: &[LeasedRow]) -> HandlerOutcome {
    LEDGER.record(rows.iter().map(|row| payload::number(&row.payload)));
    HandlerOutcome::ack()
}

/// ruststream-sqlx in one of its two forms, tuned for throughput; by default it claims one row at a time.
#[derive(Clone, Copy)]
pub(crate) enum Ruststream {
    /// 500 rows a batch, 4 workers, 2 beside other instances.
    RowLock,
    /// 100 rows a batch, 8 workers, 4 beside other instances.
    Lease,
}

impl Ruststream {
    fn workers(self, instances: usize) -> NonZeroUsize {
        match (self, instances) {
            (Self::RowLock, ..=1) => nonzero!(4),
            (Self::RowLock, _) => nonzero!(2),
            (Self::Lease, ..=1) => nonzero!(8),
            (Self::Lease, _) => nonzero!(4),
        }
    }
}

#[async_trait]
impl Library for Ruststream {
    async fn make_tables(&self, server: &Server) -> Result<(), Failure> {
        server
            .run(match self {
                Self::RowLock => include_str!("../sql/ruststream_row.sql"),
                Self::Lease => include_str!("../sql/ruststream_lease.sql"),
            })
            .await
    }

    async fn senders(&self, server: &Server, count: usize) -> Result<Vec<Box<dyn Sender>>, Failure> {
        let pool = connect(server, u32::try_from(count)?, u32::try_from(count)?).await?;
        let sender = || Box::new(Inserts { form: *self, pool: pool.clone() }) as Box<dyn Sender>;
        Ok((0..count).map(|_| sender()).collect())
    }

    async fn worker(&self, server: &Server, job: &Job) -> Result<Box<dyn Worker>, Failure> {
        let workers = self.workers(job.instances);
        let pool = connect(server, u32::try_from(workers.get())?, POOL).await?;
        Ok(Box::new(Service { form: *self, workers, pool, running: None }))
    }

    fn left(&self) -> &'static str {
        match self {
            Self::RowLock => include_str!("../sql/ruststream_row_left.sql"),
            Self::Lease => include_str!("../sql/ruststream_lease_left.sql"),
        }
    }
}

async fn connect(server: &Server, at_once: u32, at_most: u32) -> Result<MySqlPool, Failure> {
    let options = MySqlPoolOptions::new().min_connections(at_once).max_connections(at_most);
    Ok(options.connect(server.url()).await?)
}

/// Inserts row by row, as the library does.
struct Inserts {
    form: Ruststream,
    pool: MySqlPool,
}

#[async_trait]
impl Sender for Inserts {
    async fn send(&mut self, numbers: Range<u64>, payload: usize) -> Result<(), Failure> {
        let mut transaction = self.pool.begin().await?;
        for number in numbers {
            let payload = payload::bytes(number, payload);
            match self.form {
                Ruststream::RowLock => LockedRow { id: 0, payload }.insert(&mut *transaction).await?,
                Ruststream::Lease => {
                    LeasedRow { id: 0, locked_until: None, payload }.insert(&mut *transaction).await?;
                }
            };
        }
        Ok(transaction.commit().await?)
    }
}

struct Service {
    form: Ruststream,
    workers: NonZeroUsize,
    pool: MySqlPool,
    running: Option<RunningApp>,
}

#[async_trait]
impl Worker for Service {
    async fn start(&mut self) -> Result<(), Failure> {
        let service = RustStream::new(AppInfo::new("peer", "0"));
        let broker = SqlxBroker::<MySql>::new(self.pool.clone());
        let service = service.with_broker(broker, |broker| match self.form {
            Ruststream::RowLock => {
                broker.include(handle_locked.batch(nonzero!(500)).workers(self.workers));
            }
            Ruststream::Lease => {
                broker.include(handle_leased.batch(nonzero!(100)).workers(self.workers));
            }
        });
        self.running = Some(service.start().await?);
        Ok(())
    }
}
