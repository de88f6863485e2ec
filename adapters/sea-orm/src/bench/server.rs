use std::time::Duration;

use claimstream_ports::{StoreError, StoreErrorKind};
use sea_orm::{ConnectionTrait, Database, DatabaseConnection, DatabaseTransaction, TransactionTrait};

use super::{
    boxed::Boxed,
    name::BenchName,
    refused::{BENCH, misconfigured},
};
use crate::database::{
    args::Args, classify::classify, connecting, dialect::Dialect, pool::HardenedPool, sql::Sql,
    statements::Statements, store_timer::StoreTimer, typed_row::row, unit::rows,
};

/// A database of a bench's own on a server, and the connection that holds its name.
#[derive(Debug)]
pub(super) struct BenchServer {
    name: BenchName,
    /// Its transaction keeps the connection out of the pool, so that nothing closes it while the run lasts. It has no snapshot.
    holding: DatabaseTransaction,
    db: DatabaseConnection,
}

impl BenchServer {
    /// Makes a database, and removes those of runs that do not live any more.
    pub(super) async fn make(
        url: &str,
        timer: &StoreTimer,
        answer_within: Option<Duration>,
    ) -> Result<(Self, Vec<String>), StoreError> {
        let pool = HardenedPool { max_connections: 1, ..HardenedPool::default() };
        let connected = Database::connect(pool.options(url).map_err(misconfigured)?).boxed();
        let connected =
            connecting::unless_unreachable(url, None, Dialect::MySql, timer, answer_within, connected)
                .boxed()
                .await?;
        let db = match connected {
            Ok(db) => db,
            Err(error) => {
                return Err(connecting::refused(url, Dialect::MySql, timer, pool.acquire_timeout, error)
                    .boxed()
                    .await);
            }
        };
        let holding = db.begin().boxed().await.map_err(|e| classify(BENCH, e))?;
        let leftovers = remove_leftovers(&holding).boxed().await?;
        let name = BenchName::fresh();
        hold(&holding, &name).boxed().await?;
        let made = holding.execute_unprepared(&format!("CREATE DATABASE {}", name.as_str())).boxed().await;
        made.map_err(|e| may_not_make(classify(BENCH, e)))?;
        Ok((Self { name, holding, db }, leftovers))
    }

    pub(super) fn name(&self) -> &str {
        self.name.as_str()
    }

    /// The same server with the database of the bench.
    pub(super) fn url(&self, url: &str) -> String {
        let (address, parameters) = url.split_once('?').map_or((url, None), |(a, p)| (a, Some(p)));
        let server = address.rsplit_once('/').map_or(address, |(server, _)| server);
        let parameters = parameters.map(|parameters| format!("?{parameters}")).unwrap_or_default();
        format!("{server}/{}{parameters}", self.name.as_str())
    }

    /// Says something on the connection that holds the name, because a session that is silent for two minutes is closed.
    pub(super) async fn keep(&self) -> Result<(), StoreError> {
        let sql = Statements::of(Dialect::MySql);
        rows(&self.holding, BENCH, sql.bench.look.bind(&Args::new())).boxed().await.map(drop)
    }

    pub(super) async fn remove(self) -> Result<(), StoreError> {
        let removed = drop_database(&self.holding, &self.name).boxed().await;
        let _ = self.holding.rollback().boxed().await;
        let _ = self.db.close().boxed().await;
        removed
    }
}

async fn remove_leftovers(on: &DatabaseTransaction) -> Result<Vec<String>, StoreError> {
    let sql = Statements::of(Dialect::MySql);
    let mut removed = Vec::new();
    for row in &rows(on, BENCH, sql.bench.databases.bind(&Args::new())).boxed().await? {
        let Some(name) = BenchName::of(&Listed::read(row)?.name) else { continue };
        // Another run that lives holds it.
        if !hold(on, &name).boxed().await? {
            continue;
        }
        let strangers = rows(on, BENCH, sql.bench.strangers.bind(&named(&name))).await?;
        let is_ours = strangers.first().map(Strangers::read).transpose()?.is_some_and(|it| it.strangers == 0);
        if is_ours {
            drop_database(on, &name).await?;
            removed.push(name.as_str().to_owned());
        }
        ask(on, &sql.bench.let_go, &name).await?;
    }
    Ok(removed)
}

async fn drop_database(on: &DatabaseTransaction, name: &BenchName) -> Result<(), StoreError> {
    let dropped = on.execute_unprepared(&format!("DROP DATABASE IF EXISTS {}", name.as_str())).await;
    dropped.map(drop).map_err(|e| classify(BENCH, e))
}

async fn hold(on: &DatabaseTransaction, name: &BenchName) -> Result<bool, StoreError> {
    ask(on, &Statements::of(Dialect::MySql).bench.hold, name).await
}

async fn ask(on: &DatabaseTransaction, statement: &Sql, name: &BenchName) -> Result<bool, StoreError> {
    let found = rows(on, BENCH, statement.bind(&named(name))).await?;
    found.first().map_or(Ok(false), |row| Held::read(row).map(|answer| answer.held))
}

fn named(name: &BenchName) -> Args {
    Args::new().with("name", name.as_str())
}

row! {
    struct Listed of "bench/databases" { name: String }
}

row! {
    struct Strangers of "bench/strangers" { strangers: i64 }
}

row! {
    struct Held of "bench/hold", "bench/let_go" { held: bool }
}

fn may_not_make(error: StoreError) -> StoreError {
    if error.kind() != StoreErrorKind::Misconfigured {
        return error;
    }
    misconfigured(format!(
        "the user of the database URL may not make a database; a bench works in one of its own and never in yours, and needs CREATE and \
         what it does there: GRANT ALL ON `claimstream\\_bench\\_%`.* TO the user; the server says: {}",
        error.get_ref()
    ))
}
