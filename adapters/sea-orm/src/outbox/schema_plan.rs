use std::collections::{BTreeMap, BTreeSet};

use claimstream_domain::ShardCount;
use claimstream_ports::StoreError;
use sea_orm::{ConnectOptions, Database, DatabaseConnection};

use super::{
    gone_tables::gone_tables,
    opening::{misconfigured, own_or_current_runtime},
    options::OpenOptions,
    schema::{newest, numbers, older, pending},
    schema_step::{Known, SchemaStep, judge},
};
use crate::{
    database::{
        args::Args,
        capability::{Capability, applied},
        clock::ServerClock,
        connecting,
        dialect::Dialect,
        health::Health,
        pool::{HardenedPool, LockWaits},
        reached::Reached,
        server::{server_name, server_variables},
        statements::Statements,
        store_timer::StoreTimer,
        typed_row::row,
        unit::{rows, run},
    },
    outbox::handle::SeaOrmOutbox,
};

const PLAN: &str = "schema plan";

/// What making or renewing the tables would send to one database, and what that would cost there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SchemaPlan {
    /// The server and its version.
    pub server: String,
    /// Whether the ways of the steps were tried on servers of its kind that are as old; otherwise they are those of newer ones.
    pub is_tried: bool,
    /// The capabilities that were asked for or are there already.
    pub capabilities: Vec<CapabilityPlan>,
    /// The tables of the versions that were applied that are not there, as after a `DROP TABLE`; no step makes them.
    pub gone: Vec<String>,
    /// In the order in which they are sent; none if the tables are of the newest version or of a newer one.
    pub steps: Vec<SchemaStep>,
}

/// How the tables of one capability stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CapabilityPlan {
    /// Which it is.
    pub capability: Capability,
    /// The newest version of its tables that was applied; 0 without tables.
    pub applied: i64,
    /// The newest version that this library knows.
    pub newest: i64,
}

impl SeaOrmOutbox {
    /// Says what [`open`](Self::open) with these options would send to make or renew the tables, and changes nothing. An SQLite file
    /// that is not there is not made.
    ///
    /// Numbers of rows are estimates: the server's statistics on MySQL and MariaDB, a count up to a million on SQLite.
    pub async fn schema_plan(url: &str, options: OpenOptions) -> Result<SchemaPlan, StoreError> {
        let runtime = match &options.runtime {
            Some(handle) => handle.clone(),
            None => own_or_current_runtime()?,
        };
        let url = url.to_owned();
        let planned = runtime.spawn(async move { plan(&url, &options).await });
        planned.await.unwrap_or_else(|lost| {
            Err(StoreError::new(claimstream_ports::StoreErrorKind::Unavailable, PLAN, lost))
        })
    }
}

async fn plan(url: &str, options: &OpenOptions) -> Result<SchemaPlan, StoreError> {
    let dialect = Dialect::of_url(url).map_err(misconfigured)?;
    let timeout = options.answer_within.unwrap_or(options.acquire_timeout);
    let reached = Reached::of(url, dialect, timeout, options.timer.clone()).await?;
    let url = reached.url.as_str();
    let sql = Statements::of(dialect);
    let Some(db) = connect(url, dialect, options).await? else {
        return Ok(of_new(dialect, sql, options));
    };
    let planned = examine(&db, dialect, sql, options).await;
    let _ = db.close().await;
    planned
}

/// A file that is not there, for which every statement is to be sent.
fn of_new(dialect: Dialect, sql: &Statements, options: &OpenOptions) -> SchemaPlan {
    let (capabilities, applied) = (options.needed(), BTreeMap::new());
    SchemaPlan {
        server: SQLITE.into(),
        is_tried: true,
        capabilities: plans(&capabilities, &applied),
        gone: Vec::new(),
        steps: steps(
            dialect,
            sql,
            &older(&capabilities, &applied),
            &applied,
            Some(options.shards),
            Known::default(),
        ),
    }
}

fn plans(wanted: &BTreeSet<Capability>, applied: &BTreeMap<Capability, i64>) -> Vec<CapabilityPlan> {
    let all: BTreeSet<_> = wanted.iter().chain(applied.keys()).copied().chain([Capability::Outbox]).collect();
    let plan = |capability| CapabilityPlan {
        capability,
        applied: applied.get(&capability).copied().unwrap_or_default(),
        newest: newest(capability),
    };
    all.into_iter().map(plan).collect()
}

const SQLITE: &str = "SQLite, bundled";

/// One connection, under which nothing is changed; `None` for a file that is not there.
async fn connect(
    url: &str,
    dialect: Dialect,
    options: &OpenOptions,
) -> Result<Option<DatabaseConnection>, StoreError> {
    let pool =
        HardenedPool { max_connections: 1, acquire_timeout: options.acquire_timeout, frozen_clock: None };
    let health = Health::new(options.timer.clone());
    let mut connecting = pool.options_with(url, None, health, LockWaits::OfSession).map_err(misconfigured)?;
    #[cfg(feature = "sqlite")]
    if dialect == Dialect::Sqlite {
        let Ok(file) = url.parse::<sea_orm::sqlx::sqlite::SqliteConnectOptions>() else {
            return Err(misconfigured("the database URL cannot be read"));
        };
        if !file.get_filename().exists() {
            return Ok(None);
        }
        // Unlike the pool of an outbox, this makes no file and leaves its journal as it is.
        connecting = ConnectOptions::new(url.to_owned());
        connecting.max_connections(1).sqlx_logging(false);
        connecting.map_sqlx_sqlite_opts(|options| options.create_if_missing(false));
    }
    let connected = Database::connect(connecting);
    let (timer, answer_within) = (&options.timer, options.answer_within);
    let connected =
        connecting::unless_unreachable(url, None, dialect, timer, answer_within, connected).await?;
    match connected {
        Ok(db) => Ok(Some(db)),
        Err(error) => Err(connecting::refused(url, dialect, timer, options.acquire_timeout, error).await),
    }
}

async fn examine(
    db: &DatabaseConnection,
    dialect: Dialect,
    sql: &Statements,
    options: &OpenOptions,
) -> Result<SchemaPlan, StoreError> {
    let none = Args::new();
    let (server, is_tried) = match dialect {
        Dialect::Sqlite => (SQLITE.to_owned(), true),
        Dialect::MySql => {
            run(db, PLAN, sql.schema.fresh.bind(&none)).await?;
            let variables = server_variables(db, sql).await?;
            let version = variables.get("version").map_or("", String::as_str);
            (server_name(db, sql).await?, is_tried(version))
        }
    };
    let mut applied = applied(db, sql).await?;
    let known = known(db, sql).await?;
    let is_cut = known.tables.contains_key("claimstream_shard")
        && !rows(db, PLAN, sql.schema.shard_list.bind(&none)).await?.is_empty();
    let shards = (!is_cut).then_some(options.shards);
    let capabilities = options.needed();
    let steps = steps(dialect, sql, &older(&capabilities, &applied), &applied, shards, known);
    let plans = plans(&capabilities, &applied);
    if is_cut {
        // Shards are written behind the first version, also where the table of versions is gone.
        applied.entry(Capability::Outbox).or_insert(1);
    }
    let gone = gone_tables(db, sql, dialect, &applied).await?;
    Ok(SchemaPlan { server, is_tried, capabilities: plans, gone, steps })
}

/// The tables that are there, with about as many rows, and the indexes.
async fn known(db: &DatabaseConnection, sql: &Statements) -> Result<Known, StoreError> {
    let none = Args::new();
    let mut known = Known::default();
    for row in &rows(db, PLAN, sql.schema.tables.bind(&none)).await? {
        let Table { name, estimate } = Table::read(row)?;
        known.tables.insert(name, estimate.and_then(|rows| rows.try_into().ok()));
    }
    for row in &rows(db, PLAN, sql.schema.indexes.bind(&none)).await? {
        let Index { on_table, name } = Index::read(row)?;
        known.indexes.push((on_table, name));
    }
    Ok(known)
}

row! {
    struct Table of "schema/tables" { name: String, estimate: Option<i64> }
}

row! {
    struct Index of "schema/indexes" { on_table: String, name: String }
}

/// The statements of all versions that are not applied, in order, each with what it does to what is there then.
fn steps(
    dialect: Dialect,
    sql: &Statements,
    capabilities: &[Capability],
    applied: &BTreeMap<Capability, i64>,
    mut shards: Option<ShardCount>,
    mut known: Known,
) -> Vec<SchemaStep> {
    let mut steps = Vec::new();
    let clock = ServerClock::new(None, StoreTimer::default());
    for capability in capabilities {
        let applied = applied.get(capability).copied().unwrap_or_default();
        for (version, mut statements) in pending(dialect, *capability, applied) {
            if *capability == Capability::Outbox
                && let Some(shards) = shards.take()
            {
                statements.push(sql.schema.shard_insert.bind_rows(&Args::new(), &numbers(shards)).sql);
            }
            let args = Args::at(dialect, &clock).with("capability", capability.name());
            statements.push(sql.schema.applied.bind(&args.with("version", version)).sql);
            let judged = statements.iter().map(|one| judge(dialect, (*capability, version), one, &mut known));
            steps.extend(judged);
        }
    }
    steps
}

/// Whether a server is as new as the oldest of its kind that the trials of plans run on: MariaDB 10.5, MySQL 9.7.
fn is_tried(version: &str) -> bool {
    let number = |text: Option<&str>| text.and_then(|text| text.parse::<u32>().ok()).unwrap_or_default();
    let mut parts = version.split(['.', '-']);
    let version_number = (number(parts.next()), number(parts.next()));
    let oldest = if version.contains("MariaDB") { (10, 5) } else { (9, 7) };
    version_number >= oldest
}

#[cfg(test)]
mod tests {
    use super::is_tried;

    #[test]
    fn servers_that_are_older_than_those_that_were_tried_are_recognised() {
        for tried in ["10.5.29-MariaDB", "11.8.3-MariaDB-log", "9.7.0-community"] {
            assert!(is_tried(tried), "{tried}");
        }
        for older in ["10.4.33-MariaDB", "5.7.44-log", "8.4.6", "", "some proxy"] {
            assert!(!is_tried(older), "{older}");
        }
    }
}
