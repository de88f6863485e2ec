use std::{
    env,
    path::PathBuf,
    process::{self, Command},
};

use claimstream_tests::ScratchDatabase;
use sea_orm::{ConnectionTrait, Database, DatabaseConnection, DbBackend, Statement};

use crate::{Failure, Options};

/// The server that is measured, with a database of its own that is dropped in the end.
pub(crate) struct Server {
    scratch: ScratchDatabase,
    /// Comes after the database: fields go in order.
    _started: Option<Started>,
}

impl Server {
    /// Takes the URL that was given, or that of the environment, or starts the server that was named; makes a database
    /// there.
    pub(crate) async fn find(options: &Options) -> Result<Self, Failure> {
        let (url, started) = match known_url(options) {
            Some(url) => (url, None),
            None => start(&options.server)?,
        };
        let scratch = ScratchDatabase::create(&url, &format!("claimstream_bench_{}", process::id())).await?;
        Ok(Self { scratch, _started: started })
    }

    /// Where the database is.
    pub(crate) fn url(&self) -> String {
        self.scratch.url()
    }

    pub(crate) async fn describe(&self) -> Result<String, Failure> {
        let db = Database::connect(self.url()).await?;
        let version = text(&db, "SELECT VERSION()").await?;
        let flush = text(&db, "SELECT CAST(@@innodb_flush_log_at_trx_commit AS CHAR)").await?;
        let pool = text(&db, "SELECT CAST(@@innodb_buffer_pool_size DIV 1048576 AS CHAR)").await?;
        db.close().await?;
        Ok(format!("{version}, innodb_flush_log_at_trx_commit = {flush}, buffer pool {pool} MiB"))
    }
}

fn known_url(options: &Options) -> Option<String> {
    let variable = options.server.to_uppercase().replace(['-', '.'], "_");
    let named = || env::var(format!("CLAIMSTREAM_{variable}_URL")).ok().filter(|url| !url.is_empty());
    options.database.clone().or_else(named).or_else(|| servers(&["url", &options.server]).ok())
}

fn start(name: &str) -> Result<(String, Option<Started>), Failure> {
    eprintln!("starting {name} ...");
    servers(&["up", name])?;
    let started = Started(name.to_owned());
    Ok((servers(&["url", name])?, Some(started)))
}

/// A server that the bench started; stopped with it.
struct Started(String);

impl Drop for Started {
    fn drop(&mut self) {
        let _ = servers(&["down", &self.0]);
    }
}

/// How often the server has resolved a deadlock since it started.
pub(crate) async fn deadlocks(db: &DatabaseConnection) -> Result<u64, Failure> {
    let count =
        "SELECT CAST(COUNT AS CHAR) FROM information_schema.INNODB_METRICS WHERE NAME = 'lock_deadlocks'";
    Ok(text(db, count).await?.parse()?)
}

async fn text(db: &DatabaseConnection, sql: &str) -> Result<String, Failure> {
    let row = db.query_one_raw(Statement::from_string(DbBackend::MySql, sql)).await?.ok_or("no answer")?;
    Ok(row.try_get_by_index::<String>(0)?)
}

fn servers(arguments: &[&str]) -> Result<String, Failure> {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("servers");
    let output = Command::new(&script).args(arguments).env("CLAIMSTREAM_SERVER_MEMORY", "1G").output()?;
    if !output.status.success() {
        return Err(
            format!("{}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim()).into()
        );
    }
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}
