use std::{env, path::PathBuf, process::Command};

use sea_orm::{ConnectionTrait, Database, DatabaseConnection, DbBackend, Statement};

use crate::{Failure, Options};

/// The server that is measured; one that the bench started is stopped with it.
pub(crate) struct Server {
    url: String,
    started: Option<String>,
}

impl Server {
    /// Takes the URL that was given, or that of the environment, or starts the server that was named.
    pub(crate) fn find(options: &Options) -> Result<Self, Failure> {
        if let Some(url) = &options.database {
            return Ok(Self { url: url.clone(), started: None });
        }
        let variable = options.server.to_uppercase().replace(['-', '.'], "_");
        if let Ok(url) = env::var(format!("CLAIMSTREAM_{variable}_URL")) {
            return Ok(Self { url, started: None });
        }
        if let Ok(url) = servers(&["url", &options.server]) {
            return Ok(Self { url, started: None });
        }
        eprintln!("starting {} ...", options.server);
        servers(&["up", &options.server])?;
        Ok(Self { url: servers(&["url", &options.server])?, started: Some(options.server.clone()) })
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) async fn describe(&self) -> Result<String, Failure> {
        let db = Database::connect(&self.url).await?;
        let version = text(&db, "SELECT VERSION()").await?;
        let flush = text(&db, "SELECT CAST(@@innodb_flush_log_at_trx_commit AS CHAR)").await?;
        let pool = text(&db, "SELECT CAST(@@innodb_buffer_pool_size DIV 1048576 AS CHAR)").await?;
        db.close().await?;
        Ok(format!("{version}, innodb_flush_log_at_trx_commit = {flush}, buffer pool {pool} MiB"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(name) = &self.started {
            let _ = servers(&["down", name]);
        }
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
