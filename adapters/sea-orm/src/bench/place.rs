use std::{collections::BTreeMap, time::Duration};

use claimstream_ports::StoreError;
use sea_orm::{Database, DatabaseConnection};

use super::{
    boxed::Boxed,
    file::BenchFile,
    refused::{BENCH, misconfigured},
    server::BenchServer,
};
use crate::database::{
    args::Args,
    classify::classify,
    dialect::Dialect,
    pool::HardenedPool,
    reached::Reached,
    server::{server_name, server_variables},
    statements::Statements,
    store_timer::StoreTimer,
    unit::{rows, run},
};

/// A database for measurements, apart from the one that a URL names: on MySQL and MariaDB a database of its own on
/// the same server, on SQLite a file in a folder of its own next to that of the URL.
///
/// Nothing of the database that the URL names is read or written. What a run leaves that was killed is removed by the next one: a name
/// is held as long as its run lives, so that no run removes what another one uses. It needs tokio around it.
#[derive(Debug)]
pub struct BenchPlace {
    kind: Kind,
    url: String,
    dialect: Dialect,
    db: DatabaseConnection,
    leftovers: Vec<String>,
}

#[derive(Debug)]
enum Kind {
    Server(BenchServer),
    File(BenchFile),
}

impl BenchPlace {
    /// Makes it; first removes what runs have left that were killed.
    ///
    /// Refuses a user that may not make a database, with the statement that grants it.
    pub async fn make(url: &str, answer_within: Option<Duration>) -> Result<Self, StoreError> {
        let dialect = Dialect::of_url(url).map_err(misconfigured)?;
        let timeout = answer_within.unwrap_or(HardenedPool::default().acquire_timeout);
        let timer = StoreTimer::default();
        let reached = Reached::of(url, dialect, timeout, timer.clone()).boxed().await?;
        let url = reached.url.as_str();
        let (kind, leftovers) = match dialect {
            Dialect::MySql => {
                let (server, leftovers) = BenchServer::make(url, &timer, answer_within).boxed().await?;
                (Kind::Server(server), leftovers)
            }
            Dialect::Sqlite => {
                let (file, leftovers) = BenchFile::make(url)?;
                (Kind::File(file), leftovers)
            }
        };
        let url = match &kind {
            Kind::Server(server) => server.url(url),
            Kind::File(file) => file.url(),
        };
        match Self::prepare(&url, dialect).boxed().await {
            Ok(db) => Ok(Self { kind, url, dialect, db, leftovers }),
            Err(error) => {
                let _ = kind.remove().boxed().await;
                Err(error)
            }
        }
    }

    async fn prepare(url: &str, dialect: Dialect) -> Result<DatabaseConnection, StoreError> {
        let db = connect(url).boxed().await?;
        let sql = Statements::of(dialect);
        run(&db, BENCH, sql.bench.table.bind(&Args::new())).boxed().await?;
        run(&db, BENCH, sql.bench.row.bind(&Args::new())).boxed().await?;
        Ok(db)
    }

    /// The URL of the database, to open outboxes there; it may bear a password.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The name of the database or of the folder.
    pub fn name(&self) -> &str {
        match &self.kind {
            Kind::Server(server) => server.name(),
            Kind::File(file) => file.name(),
        }
    }

    /// What was left by runs that were killed, and was removed.
    pub fn leftovers(&self) -> &[String] {
        &self.leftovers
    }

    /// Keeps its name for two minutes more: call it at least once a minute, or the server closes the session that holds the name, and
    /// another run may remove the database.
    pub async fn keep(&self) -> Result<(), StoreError> {
        match &self.kind {
            Kind::Server(server) => server.keep().boxed().await,
            Kind::File(_) => Ok(()),
        }
    }

    /// Asks the least that can be asked, and answers when the answer has come.
    pub async fn look(&self) -> Result<(), StoreError> {
        let sql = Statements::of(self.dialect);
        rows(&self.db, BENCH, sql.bench.look.bind(&Args::new())).boxed().await.map(drop)
    }

    /// Writes one row in a transaction of its own, and answers when it has committed.
    pub async fn commit(&self) -> Result<(), StoreError> {
        let sql = Statements::of(self.dialect);
        run(&self.db, BENCH, sql.bench.beat.bind(&Args::new())).boxed().await.map(drop)
    }

    /// The server's product and version.
    pub async fn server(&self) -> Result<String, StoreError> {
        match self.dialect {
            Dialect::MySql => server_name(&self.db, Statements::of(self.dialect)).boxed().await,
            Dialect::Sqlite => Ok("SQLite, bundled".into()),
        }
    }

    /// What the server says of its settings; nothing on SQLite.
    pub async fn variables(&self) -> Result<BTreeMap<String, String>, StoreError> {
        match self.dialect {
            Dialect::MySql => server_variables(&self.db, Statements::of(self.dialect)).boxed().await,
            Dialect::Sqlite => Ok(BTreeMap::new()),
        }
    }

    /// Removes it with all that is in it. Outboxes that were opened there are of no use afterwards.
    pub async fn remove(self) -> Result<(), StoreError> {
        let _ = self.db.close().boxed().await;
        self.kind.remove().boxed().await
    }
}

impl Kind {
    async fn remove(self) -> Result<(), StoreError> {
        match self {
            Self::Server(server) => server.remove().boxed().await,
            Self::File(file) => file.remove(),
        }
    }
}

/// One connection.
async fn connect(url: &str) -> Result<DatabaseConnection, StoreError> {
    let pool = HardenedPool { max_connections: 1, ..HardenedPool::default() };
    Database::connect(pool.options(url).map_err(misconfigured)?).boxed().await.map_err(|e| classify(BENCH, e))
}
