use std::{ops::Range, time::Duration};

use apalis::prelude::*;
use apalis_mysql::{Config, MySql, MySqlPool, MySqlStorage, PoolOptions};
use async_trait::async_trait;

use crate::{
    Failure,
    job::Job,
    ledger::LEDGER,
    library::{Library, Sender, Worker as Instance},
    payload::Json,
    server::Server,
};

const QUEUE: &str = "peer";
const POOL: u32 = 20;
const BUFFER: usize = 1000;
const CONCURRENCY: usize = 64;
const POLL: Duration = Duration::from_millis(10);

/// The collation that the migrations ask for, and one that every server has.
const COLLATIONS: (&str, &str) = ("utf8mb4_0900_ai_ci", "utf8mb4_general_ci");

/// apalis-mysql with the settings that were found to be its fastest.
pub(crate) struct Apalis;

#[async_trait]
impl Library for Apalis {
    async fn make_tables(&self, server: &Server) -> Result<(), Failure> {
        server.run(include_str!("../sql/apalis_drop.sql")).await?;
        let known = server.probe(include_str!("../sql/apalis_collation.sql")).await?.finds().await?;
        let mut migrations = MySqlStorage::migrations();
        if !known {
            for migration in migrations.migrations.to_mut() {
                migration.sql = migration.sql.replace(COLLATIONS.0, COLLATIONS.1).into();
            }
        }
        Ok(migrations.run(&connect(server, 1).await?).await?)
    }

    async fn senders(&self, server: &Server, count: usize) -> Result<Vec<Box<dyn Sender>>, Failure> {
        let pool = connect(server, u32::try_from(count)?).await?;
        let sender = || Box::new(Pushes { pool: pool.clone() }) as Box<dyn Sender>;
        Ok((0..count).map(|_| sender()).collect())
    }

    async fn worker(&self, server: &Server, job: &Job) -> Result<Box<dyn Instance>, Failure> {
        Ok(Box::new(Tasks { name: format!("peer-{}", job.number), pool: connect(server, POOL).await? }))
    }

    fn left(&self) -> &'static str {
        include_str!("../sql/apalis_left.sql")
    }
}

async fn connect(server: &Server, connections: u32) -> Result<MySqlPool, Failure> {
    let options = PoolOptions::<MySql>::new().min_connections(connections).max_connections(connections);
    Ok(options.connect(server.url()).await?)
}

fn config() -> Config {
    let poll = StrategyBuilder::new().apply(IntervalStrategy::new(POLL)).build();
    Config::new(QUEUE).set_buffer_size(BUFFER).with_poll_interval(poll)
}

struct Pushes {
    pool: MySqlPool,
}

#[async_trait]
impl Sender for Pushes {
    async fn send(&mut self, numbers: Range<u64>, payload: usize) -> Result<(), Failure> {
        let messages = numbers.map(|number| Json::new(number, payload)).collect();
        let mut storage = MySqlStorage::<Json, _, _>::new_with_config(&self.pool, &config());
        Ok(storage.push_bulk(messages).await?)
    }
}

struct Tasks {
    name: String,
    pool: MySqlPool,
}

#[async_trait]
impl Instance for Tasks {
    async fn start(&mut self) -> Result<(), Failure> {
        let storage = MySqlStorage::<Json, _, _>::new_with_config(&self.pool, &config());
        let worker = WorkerBuilder::new(&self.name).backend(storage).concurrency(CONCURRENCY).build(handle);
        tokio::spawn(async move {
            if let Err(error) = worker.run().await {
                eprintln!("apalis: {error}");
            }
        });
        Ok(())
    }
}

async fn handle(message: Json) -> Result<(), BoxDynError> {
    LEDGER.record([message.number]);
    Ok(())
}
