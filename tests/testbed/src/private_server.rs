use std::{
    env,
    io::{Error, Result},
    path::PathBuf,
    process::{self, Command},
};

use sea_orm::{ConnectionTrait, Database, DbBackend, DbErr, Statement};

use crate::ScratchDatabase;

/// A server for one run of a program, with a database of the run's own that is dropped in the end.
pub struct PrivateServer {
    scratch: ScratchDatabase,
    /// Comes after the database: fields go in order.
    _started: Option<Started>,
}

impl PrivateServer {
    /// Takes the URL that is given, or that of the environment, or of a server that runs, or starts the one that is named;
    /// makes a database there that is called after the program.
    pub async fn find(
        name: &str,
        url: Option<&str>,
        program: &str,
    ) -> std::result::Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        let (url, started) = match known_url(name, url) {
            Some(url) => (url, None),
            None => start(name)?,
        };
        let database = format!("claimstream_{program}_{}", process::id());
        Ok(Self { scratch: ScratchDatabase::create(&url, &database).await?, _started: started })
    }

    /// Where the database is.
    pub fn url(&self) -> String {
        self.scratch.url()
    }

    /// What the server says of its version.
    pub async fn version(&self) -> std::result::Result<String, DbErr> {
        let db = Database::connect(self.url()).await?;
        let asked = Statement::from_string(DbBackend::MySql, "SELECT VERSION()");
        let row = db.query_one_raw(asked).await?;
        let version = row.map_or(Ok(String::new()), |row| row.try_get_by_index(0))?;
        db.close().await?;
        Ok(version)
    }
}

fn known_url(name: &str, url: Option<&str>) -> Option<String> {
    let known = crate::Server::ALL.into_iter().find(|server| server.name == name);
    let named = || known.and_then(|server| server.url(|variable| env::var(variable).ok()));
    url.map(str::to_owned).or_else(named).or_else(|| servers(&["url", name]).ok())
}

fn start(name: &str) -> Result<(String, Option<Started>)> {
    eprintln!("starting {name} ...");
    servers(&["up", name])?;
    let started = Started(name.to_owned());
    Ok((servers(&["url", name])?, Some(started)))
}

/// A server that was started for the run; stopped with it.
struct Started(String);

impl Drop for Started {
    fn drop(&mut self) {
        let _ = servers(&["down", &self.0]);
    }
}

/// What `tests/servers` answers; a server gets the memory that measuring takes unless the environment says otherwise.
fn servers(arguments: &[&str]) -> Result<String> {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../servers");
    let memory = env::var("CLAIMSTREAM_SERVER_MEMORY").unwrap_or_else(|_| "1G".into());
    let output = Command::new(script).args(arguments).env("CLAIMSTREAM_SERVER_MEMORY", memory).output()?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        return Err(Error::other(format!("{}: {}", arguments.join(" "), why.trim())));
    }
    String::from_utf8(output.stdout).map(|answer| answer.trim().to_owned()).map_err(Error::other)
}
