//! What a database is used for decides which tables it has.
//! Promise: an opening makes the tables of the capabilities that it asks for, nine for an outbox alone; what a
//! process does not use may be missing, and may be added while it runs

use std::collections::{BTreeMap, BTreeSet};

use claimstream::Compose;
use claimstream_domain::{Disposition, Enqueued, NewMessage, Settled, ShardCount};
use claimstream_ports::{StoreErrorKind, step::ListRuns};
use claimstream_sea_orm::{Capability, OpenOptions, SeaOrmOutbox, Severity, Strategy, StrategyChoice};
use sea_orm::{ConnectionTrait, Database, DatabaseConnection, DbBackend, Statement};

use crate::{Fixture, Instance, Ports, Server, Suite, backend::SeaOrmBackend};

/// Adds the tests on SQLite and on every server that is here.
pub fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    add(suite, "sqlite", || SeaOrmBackend::sqlite("auto"));
    for server in Server::ALL {
        let Some(url) = server.url(&environment) else { continue };
        add(suite, server.name, move || SeaOrmBackend::server(server.name, &url, "auto"));
    }
}

fn add(suite: &mut Suite, store: &str, backend: impl Fn() -> SeaOrmBackend + Clone + Send + 'static) {
    let name = |what: &str| format!("{store}::capabilities::{what}");
    let (tables, later, missing, printed) = (backend.clone(), backend.clone(), backend.clone(), backend);
    suite.add_async_test(&name("a_new_database_has_the_tables_of_what_it_is_used_for"), async move {
        has_the_tables_of_its_use(&tables()).await;
    });
    // Guard: a sweep leaves out what has no tables | adapters/sea-orm/src/sweep/whole.rs `all`: every part
    suite.add_async_test(&name("an_outbox_works_alone_and_is_used_for_more_later"), async move {
        is_used_for_more_later(&later()).await;
    });
    suite.add_async_test(&name("what_has_no_tables_is_refused_by_name"), async move {
        is_refused(&missing()).await;
    });
    // Guard: a script that is printed leaves the shards of a database as they are |
    // adapters/sea-orm/src/outbox/schema.rs `printable_schema`: no `WHERE NOT EXISTS`
    // Guard: a script that is printed leaves the view of a database with leases as it is |
    // adapters/sea-orm/src/outbox/schema.rs `printable_schema`: no `with_kept_view`
    suite.add_async_test(&name("a_printed_script_adds_to_a_database_and_changes_nothing_else"), async move {
        only_adds(&printed()).await;
    });
}

fn used_for(capabilities: &[Capability]) -> OpenOptions {
    let strategy = match capabilities.contains(&Capability::ShardLease) {
        true => StrategyChoice::Exactly(Strategy::ShardLease),
        false => StrategyChoice::Auto,
    };
    OpenOptions { strategy, capabilities: capabilities.iter().copied().collect(), ..OpenOptions::default() }
}

async fn has_the_tables_of_its_use(backend: &SeaOrmBackend) {
    const NUMBERS: [(Capability, usize); 4] = [
        (Capability::Outbox, 9),
        (Capability::ShardLease, 1),
        (Capability::Steps, 3),
        (Capability::Notifications, 18),
    ];
    let numbers = BTreeMap::from(NUMBERS);
    assert_eq!(numbers.keys().copied().collect::<Vec<_>>(), Capability::ALL);
    for capability in Capability::ALL {
        let url = backend.fresh_database().await.expect("a database");
        let outbox = SeaOrmOutbox::open(&url, used_for(&[*capability])).await.expect("open");
        let wanted = BTreeSet::from([Capability::Outbox, *capability]);
        assert_eq!(outbox.capabilities().await.expect("capabilities"), wanted);
        let made = tables(outbox.connection()).await;
        let expected: usize = wanted.iter().map(|one| numbers[one]).sum();
        assert_eq!(made.len(), expected, "{capability}: {made:?}");
    }
}

async fn is_used_for_more_later(backend: &SeaOrmBackend) {
    let url = backend.fresh_database().await.expect("a database");
    let alone = SeaOrmOutbox::open(&url, used_for(&[])).await.expect("open");
    works(&alone).await;
    let more = SeaOrmOutbox::open(&url, used_for(Capability::ALL)).await.expect("an opening for more");
    assert_eq!(more.capabilities().await.expect("capabilities").len(), Capability::ALL.len());
    assert_eq!(more.shards(), alone.shards());
    works(&alone).await;
    let again = OpenOptions { create_schema: false, ..used_for(&[]) };
    works(&SeaOrmOutbox::open(&url, again).await.expect("an opening for less")).await;
}

/// A message is enqueued, claimed, settled and swept, and the doctor has no complaint.
async fn works(outbox: &SeaOrmOutbox) {
    let instance = Instance::new(7, Ports::of(outbox.clone()), Fixture::fresh_queue(), 10);
    let message = NewMessage::json(instance.queue().clone(), &7).expect("a message");
    assert_eq!(outbox.enqueue_now(&[message]).await.expect("enqueue"), [Enqueued::New]);
    let claimed = instance.take_one().await;
    let done = Disposition::Done { emit: vec![] };
    assert_eq!(instance.settle(&claimed.receipt, done).await, Settled::Accepted);
    outbox.sweep().await.expect("sweep");
    let findings = outbox.doctor().await.expect("findings");
    assert!(findings.iter().all(|one| one.severity != Severity::Failure), "{findings:?}");
}

async fn is_refused(backend: &SeaOrmBackend) {
    let url = backend.fresh_database().await.expect("a database");
    let outbox = SeaOrmOutbox::open(&url, used_for(&[])).await.expect("open");
    for (capability, way_out) in [
        (Capability::Steps, "claimstream schema apply --for steps"),
        (Capability::Notifications, "claimstream schema apply --for notifications"),
        (Capability::ShardLease, "claimstream schema apply --for shard_lease"),
    ] {
        let options = OpenOptions { create_schema: false, ..used_for(&[capability]) };
        let error = SeaOrmOutbox::open(&url, options).await.expect_err("tables are missing");
        assert_eq!(error.kind(), StoreErrorKind::Misconfigured, "{error}");
        assert!(error.to_string().contains(way_out), "{error}");
    }
    let error = outbox.steps("saga:transfer", "1", 10).await.expect_err("tables are missing");
    assert_eq!(error.kind(), StoreErrorKind::Misconfigured, "{error}");
}

async fn only_adds(backend: &SeaOrmBackend) {
    let url = backend.fresh_database().await.expect("a database");
    let shards = ShardCount::new(4).expect("a count");
    let options = OpenOptions { shards, ..used_for(&[Capability::ShardLease]) };
    let outbox = SeaOrmOutbox::open(&url, options).await.expect("open");
    let view = view(outbox.connection()).await;
    let added = BTreeSet::from([Capability::Steps]);
    let script = SeaOrmOutbox::printable_schema(outbox.dialect(), &added, ShardCount::default());
    outbox.connection().execute_unprepared(&script).await.expect("the script runs");
    let wanted = BTreeSet::from([Capability::Outbox, Capability::ShardLease, Capability::Steps]);
    assert_eq!(outbox.capabilities().await.expect("capabilities"), wanted);
    assert_eq!(outbox.shard_status().await.expect("shards").count, shards);
    assert_eq!(self::view(outbox.connection()).await, view, "the view shows leases");
    let fresh = backend.fresh_database().await.expect("a database");
    let db = Database::connect(if fresh.starts_with("sqlite") {
        format!("{fresh}?mode=rwc")
    } else {
        fresh.clone()
    });
    db.await.expect("connect").execute_unprepared(&script).await.expect("the script makes a database");
    let options = OpenOptions { create_schema: false, ..used_for(&[Capability::Steps]) };
    let made = SeaOrmOutbox::open(&fresh, options).await.expect("open what was printed");
    assert_eq!(made.shards(), ShardCount::default());
    let view = self::view(made.connection()).await;
    assert!(!view.contains("claimstream_lease") && view.contains("claimstream_queue"), "{view}");
}

/// How the view of the outbox is made.
async fn view(db: &DatabaseConnection) -> String {
    let backend = db.get_database_backend();
    let query = match backend {
        DbBackend::Sqlite => "SELECT sql FROM sqlite_master WHERE name = 'claimstream_outbox'",
        _ => {
            "SELECT VIEW_DEFINITION FROM information_schema.VIEWS \
             WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'claimstream_outbox'"
        }
    };
    let row =
        db.query_one_raw(Statement::from_string(backend, query)).await.expect("a view").expect("a view");
    row.try_get_by_index(0).expect("a text")
}

async fn tables(db: &DatabaseConnection) -> Vec<String> {
    let backend = db.get_database_backend();
    let query = match backend {
        DbBackend::Sqlite => "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1",
        _ => {
            "SELECT CAST(TABLE_NAME AS CHAR) FROM information_schema.TABLES \
             WHERE TABLE_TYPE = 'BASE TABLE' AND TABLE_SCHEMA = DATABASE() ORDER BY 1"
        }
    };
    let rows = db.query_all_raw(Statement::from_string(backend, query)).await.expect("tables");
    rows.iter().map(|row| row.try_get_by_index(0).expect("a name")).collect()
}
