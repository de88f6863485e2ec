//! Servers whose defaults would change what statements mean: the outbox works on them as on any other.
//!
//! Promise: no default of a server changes what the outbox does

use std::time::Duration;

use claimstream::{Compose, Enqueue};
use claimstream_domain::{NewMessage, Settled};
use claimstream_sea_orm::{FrozenClock, Severity, Strategy};
use futures::future::try_join_all;
use sea_orm::{ConnectionTrait, Database, DbBackend, Statement};

use crate::{Fixture, Instance, LEASE, Ports, PrivateDatabase, Server, Suite, backend::SeaOrmBackend};

/// Defaults of new sessions. A server that does not have one, or does not know the value, is left without it.
///
/// The outbox sets those of the first part itself; those of the second part change nothing that it sends.
const DEFAULTS: &[(&str, &str)] = &[
    ("autocommit", "0"),
    ("completion_type", "1"),
    ("innodb_lock_wait_timeout", "1"),
    ("innodb_snapshot_isolation", "1"),
    ("max_execution_time", "60000"),
    ("max_join_size", "1"),
    ("max_statement_time", "60"),
    ("sql_auto_is_null", "1"),
    ("sql_buffer_result", "1"),
    ("sql_safe_updates", "1"),
    ("sql_select_limit", "1"),
    ("time_zone", "'+09:00'"),
    ("transaction_isolation", "'SERIALIZABLE'"),
    ("tx_isolation", "'SERIALIZABLE'"),
    ("transaction_read_only", "1"),
    ("tx_read_only", "1"),
    ("unique_checks", "0"),
    ("wait_timeout", "1"),
    (
        "sql_mode",
        "'ANSI_QUOTES,HIGH_NOT_PRECEDENCE,IGNORE_SPACE,NO_UNSIGNED_SUBTRACTION,PAD_CHAR_TO_FULL_LENGTH'",
    ),
    ("sql_mode", "CONCAT(@@GLOBAL.sql_mode, ',NO_BACKSLASH_ESCAPES,REAL_AS_FLOAT')"),
    ("sql_mode", "CONCAT(@@GLOBAL.sql_mode, ',ORACLE,EMPTY_STRING_IS_NULL,NO_BACKSLASH_ESCAPES')"),
    ("sql_mode", "CONCAT(@@GLOBAL.sql_mode, ',SIMULTANEOUS_ASSIGNMENT')"),
    //
    ("auto_increment_increment", "7"),
    ("auto_increment_offset", "3"),
    ("big_tables", "1"),
    ("binlog_row_image", "'MINIMAL'"),
    ("character_set_client", "'latin1'"),
    ("character_set_connection", "'latin1'"),
    ("character_set_results", "'latin1'"),
    ("character_set_server", "'latin1'"),
    ("check_constraint_checks", "0"),
    ("collation_connection", "'latin1_swedish_ci'"),
    ("collation_server", "'latin1_swedish_ci'"),
    ("cte_max_recursion_depth", "1"),
    ("default_regex_flags", "'DOTALL,EXTENDED,EXTRA,MULTILINE,UNGREEDY'"),
    ("default_storage_engine", "'MyISAM'"),
    ("default_tmp_storage_engine", "'MyISAM'"),
    ("default_week_format", "7"),
    ("div_precision_increment", "0"),
    ("eq_range_index_dive_limit", "1"),
    ("explicit_defaults_for_timestamp", "0"),
    ("foreign_key_checks", "0"),
    ("group_concat_max_len", "4"),
    ("in_predicate_conversion_threshold", "2"),
    ("innodb_strict_mode", "0"),
    ("join_cache_level", "0"),
    ("lc_time_names", "'de_DE'"),
    ("low_priority_updates", "1"),
    ("max_error_count", "0"),
    ("max_heap_table_size", "16384"),
    ("max_recursive_iterations", "0"),
    ("max_sort_length", "64"),
    ("old_mode", "'NO_DUP_KEY_WARNINGS_WITH_IGNORE,ZERO_DATE_TIME_CAST'"),
    ("optimizer_prune_level", "0"),
    ("optimizer_search_depth", "1"),
    ("query_cache_size", "1048576"),
    ("query_cache_type", "1"),
    ("range_optimizer_max_mem_size", "1"),
    ("session_track_gtids", "'ALL_GTIDS'"),
    ("session_track_state_change", "1"),
    ("session_track_system_variables", "'*'"),
    ("session_track_transaction_info", "'CHARACTERISTICS'"),
    ("sql_generate_invisible_primary_key", "1"),
    ("sql_if_exists", "1"),
    ("sql_notes", "0"),
    ("sql_quote_show_create", "0"),
    ("sql_require_primary_key", "1"),
    ("sql_warnings", "1"),
    ("tmp_memory_table_size", "1024"),
    ("tmp_table_size", "1024"),
    ("updatable_views_with_limit", "0"),
];

/// Adds it on every server that is here.
pub fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    for server in Server::ALL.into_iter().filter(|server| server.url(&environment).is_some()) {
        let name = format!("{}::server_defaults::change_nothing", server.name);
        suite.add_async_test(&name, change_nothing(server));
        let name = format!("{}::server_defaults::every_variable_of_a_session_is_listed", server.name);
        suite.add_async_test(&name, has_no_unlisted_variable(server.url(&environment).expect("a URL")));
    }
}

/// A server's next release may have a variable that changes what a statement means.
async fn has_no_unlisted_variable(url: String) {
    let pages = [
        include_str!("../../../../docs/server-settings.md"),
        include_str!("../../../../docs/inside/design/connections.md"),
    ];
    let listed: Vec<_> = pages.iter().flat_map(|page| page.split('`').skip(1).step_by(2)).collect();
    let server = Database::connect(&url).await.expect("connect");
    let names = Statement::from_string(DbBackend::MySql, "SHOW SESSION VARIABLES");
    let mut unlisted = Vec::new();
    for row in server.query_all_raw(names).await.expect("variables") {
        let name = row.try_get_by_index::<String>(0).expect("a name");
        if !listed.iter().any(|pattern| fits(pattern, &name))
            && server.execute_unprepared(&format!("SELECT @@SESSION.{name}")).await.is_ok()
        {
            unlisted.push(name);
        }
    }
    assert!(unlisted.is_empty(), "docs/server-settings.md and D382 do not name {unlisted:?}");
}

/// Whether a name fits a pattern, in which `*` is any text.
fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, rest)) => name.strip_prefix(start).is_some_and(|name| {
            (0..=name.len()).any(|at| name.is_char_boundary(at) && fits(rest, &name[at..]))
        }),
    }
}

/// Guard: a session sets every variable that changes what a statement means | adapters/sea-orm/src/database/link.rs
/// `ask_on_separate_connection`: no setup
async fn change_nothing(server: Server) {
    let private = tokio::task::spawn_blocking(move || PrivateDatabase::start(server, ""));
    let private = private.await.expect("a server");
    let backend = |strategy: &Strategy| SeaOrmBackend::server(server.name, private.url(), strategy.name());
    let backends: Vec<_> = server.strategies().iter().map(backend).collect();
    let databases =
        try_join_all(backends.iter().map(SeaOrmBackend::fresh_database)).await.expect("databases");
    let changed = change(private.url()).await;
    assert!(changed.len() >= 25, "the server has only {changed:?}");
    for (backend, url) in backends.iter().zip(databases) {
        works(backend, &url).await;
    }
    // The databases are dropped behind this.
    let admin = Database::connect(private.url()).await.expect("connect");
    admin.execute_unprepared("SET GLOBAL TRANSACTION READ WRITE").await.expect("writable");
}

/// Changes the defaults of sessions that begin later; returns those that the server has.
async fn change(url: &str) -> Vec<&'static str> {
    let admin = Database::connect(url).await.expect("connect");
    let mut changed = Vec::new();
    for &(name, value) in DEFAULTS {
        if admin.execute_unprepared(&format!("SET GLOBAL {name} = {value}")).await.is_ok() {
            changed.push(name);
        }
    }
    changed
}

/// Everything that a database goes through: it is made, written to, claimed from, swept and examined.
async fn works(backend: &SeaOrmBackend, url: &str) {
    let clock = FrozenClock::at(Fixture::start().as_micros());
    let outbox = backend.open(url, Some(clock.clone())).await.expect("open");
    let limits = "SHOW SESSION VARIABLES WHERE Variable_name IN ('max_execution_time', 'max_statement_time')";
    let limits = Statement::from_string(DbBackend::MySql, limits);
    for limit in outbox.connection().query_all_raw(limits).await.expect("limits of statements") {
        let limit = limit.try_get_by_index::<String>(1).expect("a number");
        assert_eq!(limit.parse::<f64>(), Ok(0.0), "statements of the outbox have deadlines of their own");
    }
    let instance = Instance::new(1, Ports::of(outbox.clone()), Fixture::fresh_queue(), 10);
    let message =
        |bytes: &[u8]| NewMessage::bytes(instance.queue().clone(), "text/plain", bytes).expect("a message");
    let live = message(b"later").deliver_after(Duration::from_secs(86_400 * 30));
    let first = [message(b""), message(b"'\\%_\""), message(b"third"), message(b"fourth"), live];
    outbox.enqueue_now(&first).await.expect("enqueue");
    let tx = outbox.begin().await.expect("begin");
    outbox.enqueue(&tx, &[message(b"in a transaction")]).await.expect("enqueue");
    outbox.commit(tx).await.expect("commit");

    let taken = instance.take_all().await;
    assert_eq!(taken.len(), 5);
    assert!(taken.iter().any(|claimed| claimed.message.payload.bytes().is_empty()));
    assert_eq!(instance.nack(&taken[0], LEASE, "again").await, Settled::Accepted);
    assert_eq!(instance.bury(&taken[1], "no").await, Settled::Accepted);
    for claimed in &taken[2..] {
        assert_eq!(instance.ack(claimed).await, Settled::Accepted);
    }
    instance.finds_nothing().await;
    clock.advance(LEASE);
    assert_eq!(instance.ack(&instance.take_one().await).await, Settled::Accepted);

    clock.advance(Duration::from_secs(86_400 * 2));
    assert_eq!(outbox.sweep().await.expect("sweep").bodies, 4, "of what is finished");
    let failures = outbox.doctor().await.expect("doctor").into_iter();
    let failures: Vec<_> = failures.filter(|finding| finding.severity == Severity::Failure).collect();
    assert!(failures.is_empty(), "{failures:?}");
    clock.advance(Duration::from_secs(86_400 * 30));
    assert_eq!(instance.take_one().await.message.payload.bytes(), b"later");
}
