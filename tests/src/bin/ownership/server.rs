use std::{env, path::PathBuf, process};

use claimstream_tests::ScratchDatabase;
use sea_orm::{ConnectionTrait, Database, DbBackend, Statement};

use crate::{Failure, Setting};

/// The server that is looked at, with a database of its own that is dropped in the end.
pub(crate) struct Server {
    scratch: ScratchDatabase,
    /// Comes after the database: fields go in order.
    _started: Option<Started>,
}

impl Server {
    /// Takes the URL that was given, or that of the environment, or starts the server that was named.
    pub(crate) async fn find(setting: &Setting) -> Result<Self, Failure> {
        let (url, started) = match known_url(setting) {
            Some(url) => (url, None),
            None => {
                eprintln!("starting {} ...", setting.server);
                servers(&["up", &setting.server])?;
                (servers(&["url", &setting.server])?, Some(Started(setting.server.clone())))
            }
        };
        let name = format!("claimstream_ownership_{}", process::id());
        Ok(Self { scratch: ScratchDatabase::create(&url, &name).await?, _started: started })
    }

    /// Where the database is.
    pub(crate) fn url(&self) -> String {
        self.scratch.url()
    }

    /// What the server says of itself.
    pub(crate) async fn version(&self) -> Result<String, Failure> {
        let db = Database::connect(self.url()).await?;
        let asked = Statement::from_string(DbBackend::MySql, "SELECT VERSION()");
        let row = db.query_one_raw(asked).await?.ok_or("no version")?;
        let version = row.try_get_by_index::<String>(0)?;
        db.close().await?;
        Ok(version)
    }
}

fn known_url(setting: &Setting) -> Option<String> {
    let variable = setting.server.to_uppercase().replace(['-', '.'], "_");
    let named = || env::var(format!("CLAIMSTREAM_{variable}_URL")).ok().filter(|url| !url.is_empty());
    setting.database.clone().or_else(named).or_else(|| servers(&["url", &setting.server]).ok())
}

/// A server that was started for the run; stopped with it.
struct Started(String);

impl Drop for Started {
    fn drop(&mut self) {
        let _ = servers(&["down", &self.0]);
    }
}

fn servers(arguments: &[&str]) -> Result<String, Failure> {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("servers");
    let output = process::Command::new(script).args(arguments).output()?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{}: {}", arguments.join(" "), why.trim()).into());
    }
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}
