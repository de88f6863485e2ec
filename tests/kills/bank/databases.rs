use std::time::Duration;

use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};
use futures::future::try_join_all;
use sea_orm::{ConnectionTrait, Database};
use tempfile::TempDir;
use uuid::Uuid;

use super::Failure;

/// Several databases, each with an outbox and accounts of its own.
pub(crate) struct Databases {
    pub(crate) urls: Vec<String>,
    made: Made,
}

enum Made {
    Files(TempDir),
    OnServer(String),
}

impl Databases {
    /// New ones: files, or databases on a server.
    pub(crate) async fn make(server: Option<&str>, count: usize) -> Result<Self, Failure> {
        let Some(server) = server else {
            let folder = tempfile::tempdir()?;
            let file = |n| format!("sqlite://{}", folder.path().join(format!("bank_{n}.db")).display());
            return Ok(Self { urls: (0..count).map(file).collect(), made: Made::Files(folder) });
        };
        let run = Uuid::now_v7().simple().to_string();
        let mut urls = Vec::new();
        for n in 0..count {
            let name = format!("claimstream_bank_{}_{n}", &run[20..]);
            execute(server, &format!("CREATE DATABASE {name}")).await?;
            urls.push(with_database(server, &name));
        }
        Ok(Self { urls, made: Made::OnServer(server.to_owned()) })
    }

    /// Opens them all, as one process does.
    pub(crate) async fn open(urls: &[String]) -> Result<Vec<SeaOrmOutbox>, Failure> {
        let options = || OpenOptions {
            max_connections: 8,
            acquire_timeout: Duration::from_secs(30),
            ..OpenOptions::default()
        };
        Ok(try_join_all(urls.iter().map(|url| SeaOrmOutbox::open(url, options()))).await?)
    }

    /// Takes them away again.
    pub(crate) async fn drop_all(self) -> Result<(), Failure> {
        match self.made {
            Made::Files(folder) => folder.close()?,
            Made::OnServer(server) => {
                for url in &self.urls {
                    let name = url.rsplit('/').next().and_then(|rest| rest.split('?').next());
                    execute(&server, &format!("DROP DATABASE {}", name.unwrap_or_default())).await?;
                }
            }
        }
        Ok(())
    }
}

async fn execute(server: &str, sql: &str) -> Result<(), Failure> {
    let db = Database::connect(server).await?;
    db.execute_unprepared(sql).await?;
    Ok(db.close().await?)
}

/// The URL with another database's name.
fn with_database(server: &str, name: &str) -> String {
    let (address, parameters) = server.split_once('?').map_or((server, None), |(a, p)| (a, Some(p)));
    let (scheme, rest) = address.split_once("://").unwrap_or(("mysql", address));
    let host = rest.split('/').next().unwrap_or(rest);
    let parameters = parameters.map(|given| format!("?{given}")).unwrap_or_default();
    format!("{scheme}://{host}/{name}{parameters}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_keeps_its_server_and_its_parameters() {
        let url = with_database("mysql://root@h:1/x?ssl-mode=disabled", "bank");
        assert_eq!(url, "mysql://root@h:1/bank?ssl-mode=disabled");
        assert_eq!(with_database("mysql://root@h:1", "bank"), "mysql://root@h:1/bank");
    }
}
