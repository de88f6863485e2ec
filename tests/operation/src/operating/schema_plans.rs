//! What a plan of the schema says is what an opening sends, and what servers do with it.
//! Promise: a plan of the schema lists the statements of an opening, changes nothing, and names the rights for it

use claimstream_sea_orm::{
    Capability, Dialect, OpenOptions, SchemaPlan, SeaOrmOutbox, Strategy, StrategyChoice, schema,
};
use sea_orm::{ConnectionTrait, Database, DatabaseConnection, Statement};
use uuid::Uuid;

use crate::{
    Server, Suite,
    backend::SeaOrmBackend,
    fixture::{Command, Wire},
};

/// Adds the tests on SQLite and on every server that is here.
pub fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    suite.add_async_test(
        "sqlite::schema_plans::a_plan_changes_nothing_and_an_opening_leaves_nothing",
        async {
            changes_nothing(&SeaOrmBackend::sqlite("auto"), Dialect::Sqlite).await;
        },
    );
    suite.add_async_test("sqlite::schema_plans::a_file_that_is_not_there_is_not_made", async {
        let url = SeaOrmBackend::sqlite("auto").fresh_database().await.expect("a place");
        let plan = plan(&url).await;
        assert!(plan.capabilities.iter().all(|one| one.applied == 0) && !plan.steps.is_empty(), "{plan:?}");
        assert!(!std::path::Path::new(url.trim_start_matches("sqlite://")).exists());
    });
    for server in Server::ALL {
        let Some(url) = server.url(&environment) else { continue };
        let name = |what: &str| format!("{}::schema_plans::{what}", server.name);
        let backend = move || SeaOrmBackend::server(server.name, &url, "auto");
        let (unchanged, sent, rights) = (backend.clone(), backend.clone(), backend);
        suite.add_async_test(&name("a_plan_changes_nothing_and_an_opening_leaves_nothing"), async move {
            changes_nothing(&unchanged(), Dialect::MySql).await
        });
        suite.add_async_test(&name("a_plan_is_what_an_opening_sends"), async move {
            is_what_is_sent(&sent()).await;
        });
        suite.add_async_test(&name("the_rights_of_a_plan_are_those_that_it_takes"), async move {
            are_the_rights(&rights()).await;
        });
    }
}

async fn plan(url: &str) -> SchemaPlan {
    SeaOrmOutbox::schema_plan(url, options()).await.expect("a plan")
}

/// What a database may have been used for before.
fn earlier() -> impl Iterator<Item = &'static [Capability]> {
    (0..Capability::ALL.len()).map(|count| &Capability::ALL[..count])
}

/// A database with the tables of some capabilities, as an opening has left them.
async fn used_for(backend: &SeaOrmBackend, dialect: Dialect, capabilities: &[Capability]) -> String {
    let url = backend.fresh_database().await.expect("a database");
    let place = if dialect == Dialect::Sqlite { format!("{url}?mode=rwc") } else { url.clone() };
    let db = Database::connect(place).await.expect("connect");
    for capability in capabilities {
        for (version, script) in schema(dialect, *capability) {
            db.execute_unprepared(script).await.expect("a script");
            let at = if dialect == Dialect::Sqlite { "0" } else { "'2026-01-01'" };
            let columns = "claimstream_schema (capability, version, applied_at)";
            let note = format!("INSERT INTO {columns} VALUES ('{capability}', {version}, {at})");
            db.execute_unprepared(&note).await.expect("a version");
        }
    }
    if !capabilities.is_empty() {
        let shards = "INSERT INTO claimstream_shard (shard) VALUES (0), (1)";
        db.execute_unprepared(shards).await.expect("shards");
    }
    db.close().await.expect("close");
    url
}

/// An opening for all that a database can be used for.
fn options() -> OpenOptions {
    let strategy = StrategyChoice::Exactly(Strategy::ShardLease);
    OpenOptions { strategy, ..OpenOptions::default() }
}

async fn changes_nothing(backend: &SeaOrmBackend, dialect: Dialect) {
    for capabilities in earlier() {
        let url = used_for(backend, dialect, capabilities).await;
        let before = shape(&url, dialect).await;
        let planned = plan(&url).await;
        let applied = planned.capabilities.iter().filter(|one| one.applied == one.newest);
        assert_eq!(applied.map(|one| one.capability).collect::<Vec<_>>(), capabilities);
        assert!(planned.steps.iter().all(|step| !capabilities.contains(&step.capability)), "{planned:?}");
        assert!(planned.steps.len() >= 2, "{planned:?}");
        assert_eq!(shape(&url, dialect).await, before, "a plan after {capabilities:?} changes nothing");
        SeaOrmOutbox::open(&url, options()).await.expect("open");
        let after = plan(&url).await;
        let is_newest = after.capabilities.iter().all(|one| one.applied == one.newest);
        assert!(is_newest && after.steps.is_empty(), "after {capabilities:?}: {after:?}");
        assert_ne!(shape(&url, dialect).await, before, "the shape shows what an opening changes");
    }
}

/// All names of tables and indexes with their columns or texts, and the versions that are noted.
async fn shape(url: &str, dialect: Dialect) -> Vec<String> {
    let db = Database::connect(url).await.expect("connect");
    let (of_tables, of_indexes) = match dialect {
        Dialect::Sqlite => ("SELECT name || COALESCE(sql, '') FROM sqlite_master ORDER BY 1", "SELECT 'x'"),
        Dialect::MySql => (
            "SELECT CONCAT(TABLE_NAME, '.', COLUMN_NAME, ' ', COLUMN_TYPE) FROM information_schema.COLUMNS \
             WHERE TABLE_SCHEMA = DATABASE() ORDER BY 1",
            "SELECT CONCAT(TABLE_NAME, '.', INDEX_NAME, '.', COLUMN_NAME) FROM information_schema.STATISTICS \
             WHERE TABLE_SCHEMA = DATABASE() ORDER BY 1",
        ),
    };
    let mut shape = texts(&db, of_tables).await;
    shape.extend(texts(&db, of_indexes).await);
    if shape.iter().any(|name| name.starts_with("claimstream_schema")) {
        let versions = "SELECT CAST(capability AS CHAR(32)) FROM claimstream_schema ORDER BY 1";
        shape.extend(texts(&db, versions).await);
    }
    db.close().await.expect("close");
    shape
}

async fn texts(db: &DatabaseConnection, query: &str) -> Vec<String> {
    let rows = db.query_all_raw(Statement::from_string(db.get_database_backend(), query)).await;
    rows.expect("rows").iter().map(|row| row.try_get_by_index(0).expect("a text")).collect()
}

/// The wire has a list of what was sent.
async fn is_what_is_sent(backend: &SeaOrmBackend) {
    for capabilities in earlier() {
        let url = used_for(backend, Dialect::MySql, capabilities).await;
        let planned: Vec<String> = plan(&url).await.steps.into_iter().map(|step| step.statement).collect();
        let wire = Wire::to(&url).await.expect("a port");
        SeaOrmOutbox::open(&wire.url, options()).await.expect("open");
        let sent = wire.commands.take().into_iter().filter_map(|command| match command {
            Command::Query(text) | Command::Execute(text) => Some(text),
            Command::Prepare(_) | Command::Ping => None,
        });
        let sent: Vec<String> = sent.filter(|text| changes_the_schema(text)).collect();
        assert_eq!(sent, planned, "after {capabilities:?}");
    }
}

fn changes_the_schema(text: &str) -> bool {
    let beginnings = ["CREATE ", "ALTER ", "DROP ", "INSERT INTO claimstream_s"];
    beginnings.iter().any(|beginning| text.starts_with(beginning))
}

/// A user with the rights of the plan makes the tables, and one that lacks any of them does not.
async fn are_the_rights(backend: &SeaOrmBackend) {
    let fresh = backend.fresh_database().await.expect("a database");
    let steps = plan(&fresh).await.steps;
    let mut rights: Vec<&str> = steps.iter().flat_map(|step| step.rights).copied().collect();
    rights.sort_unstable();
    rights.dedup();
    assert!(rights.len() >= 5, "{rights:?}");
    as_user_with(&fresh, &rights).await.expect("the rights of the plan are enough");
    for lacking in &rights {
        let url = backend.fresh_database().await.expect("a database");
        let rest: Vec<&str> = rights.iter().filter(|right| *right != lacking).copied().collect();
        let refused = as_user_with(&url, &rest).await;
        assert!(refused.is_err(), "the tables are made without {lacking}");
    }
}

/// Makes the tables as a user that has these rights on the database and no others.
async fn as_user_with(url: &str, rights: &[&str]) -> Result<(), claimstream_ports::StoreError> {
    let admin = Database::connect(url).await.expect("connect");
    let (address, parameters) = url.split_once('?').expect("parameters");
    let (place, database) = address.rsplit_once('/').expect("a database");
    let (_, host) = place.split_once('@').expect("a user");
    let user = format!("cs_{}", &Uuid::now_v7().simple().to_string()[16..]);
    for statement in [
        format!("CREATE USER '{user}'@'%'"),
        format!("GRANT {} ON {database}.* TO '{user}'@'%'", rights.join(", ")),
    ] {
        admin.execute_unprepared(&statement).await.expect("a user");
    }
    let made = format!("mysql://{user}@{host}/{database}?{parameters}");
    let opened = SeaOrmOutbox::open(&made, options()).await;
    admin.execute_unprepared(&format!("DROP USER '{user}'@'%'")).await.expect("drop");
    admin.close().await.expect("close");
    opened.map(drop)
}
