//! What a plan of the schema says is what an opening sends, and what servers do with it.
//! Promise: a plan of the schema lists the statements of an opening, changes nothing, and names how each
//! server changes each table and the rights for it

use std::time::Duration;

use claimstream_sea_orm::{Dialect, OpenOptions, SchemaPlan, SchemaWay, SeaOrmOutbox, schema};
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
        assert_eq!((plan.applied, plan.steps.is_empty()), (0, false));
        assert!(!std::path::Path::new(url.trim_start_matches("sqlite://")).exists());
    });
    for server in Server::ALL {
        let Some(url) = server.url(&environment) else { continue };
        let name = |what: &str| format!("{}::schema_plans::{what}", server.name);
        let backend = move || SeaOrmBackend::server(server.name, &url, "auto");
        let (unchanged, sent, ways, rights) = (backend.clone(), backend.clone(), backend.clone(), backend);
        suite.add_async_test(&name("a_plan_changes_nothing_and_an_opening_leaves_nothing"), async move {
            changes_nothing(&unchanged(), Dialect::MySql).await
        });
        suite.add_async_test(&name("a_plan_is_what_an_opening_sends"), async move {
            is_what_is_sent(&sent()).await;
        });
        // Guard: a plan lists how a change of columns is carried out |
        // adapters/sea-orm/src/outbox/schema_step.rs `COLUMNS`: in place instead of instant
        suite.add_async_test(&name("the_server_changes_tables_in_the_ways_of_the_plan"), async move {
            are_the_ways_of_the_server(&ways()).await;
        });
        suite.add_async_test(&name("the_rights_of_a_plan_are_those_that_it_takes"), async move {
            are_the_rights(&rights()).await;
        });
    }
}

async fn plan(url: &str) -> SchemaPlan {
    SeaOrmOutbox::schema_plan(url, OpenOptions::default()).await.expect("a plan")
}

/// The versions from which a database may come.
fn older(dialect: Dialect) -> Vec<i64> {
    let known = schema(dialect).iter().map(|(version, _)| *version);
    let newest = known.clone().max().expect("a version");
    std::iter::once(0).chain(known).filter(|version| *version < newest).collect()
}

/// A database with the tables of a version, as an opening of that time has left them.
async fn of_version(backend: &SeaOrmBackend, dialect: Dialect, version: i64) -> String {
    let url = backend.fresh_database().await.expect("a database");
    let place = if dialect == Dialect::Sqlite { format!("{url}?mode=rwc") } else { url.clone() };
    let db = Database::connect(place).await.expect("connect");
    for (made, script) in schema(dialect).iter().filter(|(made, _)| *made <= version) {
        db.execute_unprepared(script).await.expect("a script");
        let at = if dialect == Dialect::Sqlite { "0" } else { "'2026-01-01'" };
        let note = format!("INSERT INTO claimstream_schema (version, applied_at) VALUES ({made}, {at})");
        db.execute_unprepared(&note).await.expect("a version");
    }
    if version > 0 {
        let shards = "INSERT INTO claimstream_shard (shard) VALUES (0), (1)";
        db.execute_unprepared(shards).await.expect("shards");
    }
    db.close().await.expect("close");
    url
}

async fn changes_nothing(backend: &SeaOrmBackend, dialect: Dialect) {
    for version in older(dialect) {
        let url = of_version(backend, dialect, version).await;
        let before = shape(&url, dialect).await;
        let planned = plan(&url).await;
        assert_eq!(planned.applied, version);
        assert!(planned.steps.iter().all(|step| step.version > version), "{planned:?}");
        assert!(planned.steps.len() >= 2, "{planned:?}");
        assert_eq!(shape(&url, dialect).await, before, "a plan from version {version} changes nothing");
        SeaOrmOutbox::open(&url, OpenOptions::default()).await.expect("open");
        let after = plan(&url).await;
        assert_eq!((after.applied, after.steps), (planned.newest, vec![]), "from version {version}");
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
        let versions = "SELECT CAST(version AS CHAR(9)) FROM claimstream_schema ORDER BY 1";
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
    for version in older(Dialect::MySql) {
        let url = of_version(backend, Dialect::MySql, version).await;
        let planned: Vec<String> = plan(&url).await.steps.into_iter().map(|step| step.statement).collect();
        let wire = Wire::to(&url).await.expect("a port");
        SeaOrmOutbox::open(&wire.url, OpenOptions::default()).await.expect("open");
        let sent = wire.commands.take().into_iter().filter_map(|command| match command {
            Command::Query(text) | Command::Execute(text) => Some(text),
            Command::Prepare(_) | Command::Ping => None,
        });
        let sent: Vec<String> = sent.filter(|text| changes_the_schema(text)).collect();
        assert_eq!(sent, planned, "from version {version}");
    }
}

fn changes_the_schema(text: &str) -> bool {
    let beginnings = ["CREATE ", "ALTER ", "DROP ", "INSERT INTO claimstream_s"];
    beginnings.iter().any(|beginning| text.starts_with(beginning))
}

/// The server is asked for each way by name, on tables with rows, and refuses a faster one.
async fn are_the_ways_of_the_server(backend: &SeaOrmBackend) {
    const REQUESTS: u64 = 3_000;
    let url = of_version(backend, Dialect::MySql, 3).await;
    let db = Database::connect(&url).await.expect("connect");
    fill(&db, REQUESTS).await;
    let planned = plan(&url).await;
    assert!(planned.is_tried, "{planned:?}");
    let changed = |text: &str| text.starts_with("ALTER ") || text.starts_with("CREATE INDEX ");
    let mut seen = Vec::new();
    for step in planned.steps.iter().filter(|step| changed(&step.statement)) {
        let rows = step.rows.expect("statistics");
        assert!((REQUESTS / 3..=REQUESTS * 3).contains(&rows), "{rows} of {REQUESTS}: {step:?}");
        let comma = if step.statement.starts_with("ALTER ") { "," } else { "" };
        let with = |how: &str| format!("{}{comma} {how}", step.statement);
        let instant = db.execute_unprepared(&with("ALGORITHM=INSTANT")).await;
        match step.way {
            SchemaWay::Instant => drop(instant.unwrap_or_else(|refused| panic!("{step:?}: {refused}"))),
            SchemaWay::InPlace => {
                instant.expect_err("an index is not made at once");
                let in_place =
                    db.execute_unprepared(&with(&format!("ALGORITHM=INPLACE{comma} LOCK=NONE"))).await;
                in_place.unwrap_or_else(|refused| panic!("{step:?}: {refused}"));
                assert!(step.about() > Some(Duration::ZERO), "{step:?}");
            }
            way => panic!("no released step is {way}: {step:?}"),
        }
        seen.push(step.way);
    }
    assert!(seen.contains(&SchemaWay::Instant) && seen.contains(&SchemaWay::InPlace), "{seen:?}");
    let reordered = "ALTER TABLE claimstream_notification_message MODIFY status \
                     ENUM('CANCELLED', 'PENDING', 'DELIVERED', 'SKIPPED', 'FAILED') NOT NULL, ALGORITHM=INSTANT";
    db.execute_unprepared(reordered).await.expect_err("a status before the others writes every row");
    db.close().await.expect("close");
}

/// As many requests, and a message of each, with statistics.
async fn fill(db: &DatabaseConnection, requests: u64) {
    let id = |n: u64| format!("UNHEX(LPAD(HEX({n}), 32, '0'))");
    let now = "UTC_TIMESTAMP(6)";
    let request = |n| format!("({}, 'DISPATCHED', '{{}}', {now}, {now})", id(n));
    let message = |n| format!("({0}, {0}, 'email', 'a@b.example', 'DELIVERED', {now}, {now})", id(n));
    let rows = |row: &dyn Fn(u64) -> String| (1..=requests).map(row).collect::<Vec<_>>().join(", ");
    for (table, rows) in [
        ("claimstream_notification_request (id, status, request, created_at, changed_at)", rows(&request)),
        (
            "claimstream_notification_message (id, request_id, channel, recipient, status, created_at, changed_at)",
            rows(&message),
        ),
    ] {
        db.execute_unprepared(&format!("INSERT INTO {table} VALUES {rows}")).await.expect("rows");
        let name = table.split(' ').next().expect("a name");
        db.execute_unprepared(&format!("ANALYZE TABLE {name}")).await.expect("statistics");
    }
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
    let opened = SeaOrmOutbox::open(&made, OpenOptions::default()).await;
    admin.execute_unprepared(&format!("DROP USER '{user}'@'%'")).await.expect("drop");
    admin.close().await.expect("close");
    opened.map(drop)
}
