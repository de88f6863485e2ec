use std::{
    env,
    process::Stdio,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};
use claimstream_testbed::{PrivateDatabase, PrivateRedis, ScratchDatabase, Server};
use futures::future::try_join_all;
use sea_orm::{ConnectionTrait, Database, DatabaseConnection, DbBackend, Statement};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, ChildStdout, Command},
    time::sleep,
};

use crate::{Failure, row::Row, times::Moments, way::Way};

/// What is measured on a server.
#[derive(Clone, Copy)]
pub(crate) struct Measure {
    pub(crate) messages: u64,
    pub(crate) idle: Duration,
}

/// How long a relay takes until its waits have grown.
const UNTIL_IDLE: Duration = Duration::from_secs(12);

impl Measure {
    /// A row of the table for each way.
    pub(crate) async fn on(self, server: Server) -> Result<Vec<Row>, Failure> {
        let start =
            move || (PrivateDatabase::start(server, "--server-id=1 --log-bin=binlog"), PrivateRedis::start());
        let (database, redis) = tokio::task::spawn_blocking(start).await?;
        let redis = redis.url();
        let mut places = Vec::new();
        for way in Way::ALL {
            let place = ScratchDatabase::create(database.url(), &format!("wakeups_{}", way.name())).await?;
            SeaOrmOutbox::open(&place.url(), OpenOptions::default()).await?;
            places.push((way, place));
        }
        let on = Database::connect(database.url()).await?;
        let mut statements = Vec::new();
        for (way, place) in &places {
            statements.push(self.idle_statements(&on, *way, &place.url(), redis).await?);
        }
        let taking = places.iter().map(|(way, place)| self.times(*way, place.url(), redis));
        let times = try_join_all(taking).await?;
        let rows = places.iter().zip(times).zip(statements);
        Ok(rows.map(|(((way, _), times), statements)| Row::of(server, *way, &times, statements)).collect())
    }

    /// How many statements the server gets in a minute from a relay that has nothing to do.
    async fn idle_statements(
        self,
        on: &DatabaseConnection,
        way: Way,
        url: &str,
        redis: &str,
    ) -> Result<f64, Failure> {
        let _relay = start(&["relay", url, way.name(), redis])?;
        sleep(UNTIL_IDLE).await;
        let before = questions(on).await?;
        sleep(self.idle).await;
        // The question itself is one.
        let asked = questions(on).await? - before - 1.0;
        Ok(asked * 60.0 / self.idle.as_secs_f64())
    }

    async fn times(self, way: Way, url: String, redis: &str) -> Result<Vec<Duration>, Failure> {
        let handled = Arc::new(Mutex::new(Moments::default()));
        let mut relay = start(&["relay", &url, way.name(), redis])?;
        let lines = relay.stdout.take().ok_or("the relay has no output")?;
        tokio::spawn(note(lines, Arc::clone(&handled)));
        sleep(UNTIL_IDLE).await;
        let mut writer = start(&["write", &url, way.name(), redis, &self.messages.to_string()])?;
        let committed = Arc::new(Mutex::new(Moments::default()));
        note(writer.stdout.take().ok_or("the writer has no output")?, Arc::clone(&committed)).await;
        if !writer.wait().await?.success() {
            return Err("the writer has failed".into());
        }
        // The last may lie until the relay looks by itself.
        sleep(Duration::from_secs(6)).await;
        let handled = handled.lock().unwrap_or_else(PoisonError::into_inner);
        let committed = committed.lock().unwrap_or_else(PoisonError::into_inner);
        match (committed.count() as u64, handled.count() as u64) {
            (all, same) if all == self.messages && same == all => Ok(committed.until(&handled)),
            (all, some) => Err(format!("{all} were committed, and {some} were handled").into()),
        }
    }
}

/// This program again, which is stopped with the answer.
fn start(arguments: &[&str]) -> Result<Child, Failure> {
    let mut command = Command::new(env::current_exe()?);
    Ok(command.args(arguments).stdout(Stdio::piped()).kill_on_drop(true).spawn()?)
}

async fn note(lines: ChildStdout, moments: Arc<Mutex<Moments>>) {
    let mut lines = BufReader::new(lines).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        moments.lock().unwrap_or_else(PoisonError::into_inner).note(&line);
    }
}

async fn questions(on: &DatabaseConnection) -> Result<f64, Failure> {
    let asked = Statement::from_string(DbBackend::MySql, "SHOW GLOBAL STATUS LIKE 'Questions'");
    let row = on.query_one_raw(asked).await?.ok_or("no answer")?;
    Ok(row.try_get_by_index::<String>(1)?.parse()?)
}
