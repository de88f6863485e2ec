//! Along which keys the questions of operators are answered: lists of dead letters never read what letters carry, and a message is
//! found without a walk through its queue.
//! Promise: lists for operators read along a key or an index, and lists of dead letters, sagas and timers
//! read no payloads

use claimstream_sea_orm::SeaOrmOutbox;
use sea_orm::{ConnectionTrait, DbBackend, QueryResult, Statement, TransactionTrait, Value};
use uuid::Uuid;

use crate::{
    Server, Suite,
    backend::SeaOrmBackend,
    statement::{bytes, sql},
};

/// Adds the test on every server that is here.
pub fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    for server in Server::ALL {
        let Some(url) = server.url(&environment) else { continue };
        let backend = SeaOrmBackend::server(server.name, &url, "auto");
        let name = format!("{}::auto::operators_reads::they_walk_along_keys", server.name);
        suite.add_async_test(&name, async move { walk_along_keys(&backend).await });
    }
}

const LETTERS: usize = 2_000;

/// A year in microseconds.
const YEAR: i64 = 365 * 24 * 3_600 * 1_000_000;

async fn walk_along_keys(backend: &SeaOrmBackend) {
    let url = backend.database().await.expect("a database");
    let outbox = backend.open(&url, None).await.expect("open");
    fill(&outbox).await;
    let text = |text: &str| vec![Value::from(text)];
    let args = vec![
        ("queue", text("orders")),
        ("after", vec![bytes(Uuid::from_u128(7))]),
        ("bound", vec![253_402_300_799_999_999_i64.into()]),
        ("reason", text("busy")),
        ("limit", vec![50_i64.into()]),
        ("age", vec![YEAR.into()]),
        ("most", vec![10_000_i64.into()]),
        ("shard", vec![3_i64.into()]),
        ("from", vec![0_i64.into()]),
        ("before", vec![40_i64.into()]),
        ("id", vec![bytes(Uuid::from_u128(5))]),
        ("dedup_key", text("k-10")),
        ("fence", vec![1_i64.into()]),
        ("first", text("job-5")),
        ("free", vec![bytes(Uuid::nil())]),
        ("ids", (0..8).map(|n| bytes(Uuid::from_u128(n))).collect()),
    ];
    for (name, table, keys) in [
        ("dead_letters/newest", "claimstream_dead", &["newest_in_queue"][..]),
        ("dead_letters/count", "claimstream_dead", &["newest_in_queue"]),
        ("dead_letters/count_reason", "claimstream_dead", &["newest_in_queue"]),
        ("dead_letters/listed", "claimstream_dead", &["PRIMARY"]),
        ("dead_letters/list", "claimstream_dead", &["PRIMARY"]),
        ("observe/places", "claimstream_message", &["PRIMARY"]),
        ("observe/find", "claimstream_queue", &["PRIMARY"]),
        ("observe/kept", "claimstream_message", &["PRIMARY"]),
        ("observe/keyed", "claimstream_dedup", &["PRIMARY"]),
        ("notifications/message_read", "claimstream_notification_message", &["PRIMARY"]),
        ("notifications/request_listed", "claimstream_notification_request", &["PRIMARY"]),
        ("observe/instances", "claimstream_instance", &["PRIMARY"]),
        ("observe/leases", "claimstream_lease", &["PRIMARY"]),
        ("audit/page", "claimstream_audit", &["PRIMARY"]),
        ("audit/forget_older", "claimstream_audit", &["age"]),
        ("observe/leases_of", "claimstream_lease", &["PRIMARY"]),
        ("observe/lease", "claimstream_lease", &["PRIMARY"]),
        ("shard_lease/release", "claimstream_lease", &["PRIMARY"]),
        ("locks/list", "claimstream_lock", &["PRIMARY"]),
    ] {
        let plan = explained(&outbox, sql(name, &args)).await;
        println!("operators_reads: {name}: {plan:?}");
        let of_table: Vec<_> =
            plan.iter().filter(|step| !step[0].starts_with('<') && step[0] != "i").collect();
        assert!(!of_table.is_empty(), "{name} reads {table}: {plan:?}");
        for [_, way, key, extra] in of_table {
            let along = ["range", "ref", "eq_ref", "const"].contains(&&**way) && keys.contains(&&**key);
            assert!(along && !extra.contains("filesort"), "{name} is not read along {keys:?}: {plan:?}");
        }
    }
    let index_only = explained(&outbox, sql("dead_letters/count", &args)).await;
    assert!(index_only.iter().any(|step| step[3].contains("Using index")), "{index_only:?}");
    let next = vec![("after", text("a"))];
    let plan = explained(&outbox, sql("dead_letters/next_queue", &next)).await;
    assert!(plan[0][2] == "newest_in_queue" && !plan[0][3].contains("filesort"), "{plan:?}");
    for (name, way) in [
        ("steps/of_run", "ref"),
        ("observe/first_key", ""),
        ("observe/last_key", ""),
        ("observe/key_queue", ""),
    ] {
        let plan = explained(&outbox, sql(name, &ledger_args())).await;
        println!("operators_reads: {name}: {plan:?}");
        let [_, found_way, key, extra] = &plan[0];
        let is_one_look = extra.contains("optimized away");
        assert!(
            is_one_look || (found_way == way && key == "PRIMARY" && !extra.contains("filesort")),
            "{plan:?}"
        );
    }
    // One look at the front of each shard, and none at what stands behind it.
    for name in ["sweep/unreadable", "alive/unreadable"] {
        let plan = explained(&outbox, sql(name, &args)).await;
        println!("operators_reads: {name}: {plan:?}");
        let front = plan.iter().find(|step| step[0] == "claimstream_queue").expect("the queue");
        assert!(front[3].contains("Using index for group-by"), "{name}: {plan:?}");
    }
    runs_are_read_by_age(&outbox).await;
    a_later_page_reads_no_more_than_the_first(&outbox, args).await;
    let sorting = "SELECT id FROM claimstream_dead ORDER BY attempts LIMIT 9";
    let plan = explained(&outbox, Statement::from_string(DbBackend::MySql, sorting)).await;
    assert!(plan[0][3].contains("filesort"), "a sort goes unseen: {plan:?}");
}

/// What the statements of runs and timers are asked with.
fn ledger_args() -> Vec<(&'static str, Vec<Value>)> {
    let text = |text: &str| vec![Value::from(text)];
    let number = |number: i64| vec![Value::from(number)];
    vec![
        ("scope", text("saga:transfer")),
        ("run", text("7")),
        ("limit", number(50)),
        ("queue", text("orders")),
        ("after", text("a")),
        ("from", text("timer/")),
        ("end", text("timer0")),
    ]
}

/// Runs are found along the index by age, which ends where a look ends, and nothing is sorted.
async fn runs_are_read_by_age(outbox: &SeaOrmOutbox) {
    let text = |text: &str| vec![Value::from(text)];
    let number = |number: i64| vec![Value::from(number)];
    let args = vec![
        ("from", number(1_577_836_800_000_000)),
        ("after_scope", text("saga:transfer")),
        ("after_run", text("7")),
        ("after_step", text("")),
        ("to", number(1_577_836_900_000_000)),
        ("to_scope", text("saga:transfer")),
        ("to_run", text("9")),
        ("to_step", text("")),
        ("quiet", number(1)),
        ("first", text("saga:")),
        ("end", text("saga;")),
        ("last_step", text("")),
        ("ended", [4_i64, 5].map(Value::from).into()),
        ("limit", number(50)),
        ("others", number(999)),
    ];
    for name in ["steps/reach", "steps/runs"] {
        let plan = explained(outbox, sql(name, &args)).await;
        println!("operators_reads: {name}: {plan:?}");
        let [_, way, key, extra] = &plan[0];
        assert!(way == "range" && key == "age" && !extra.contains("filesort"), "{name}: {plan:?}");
        assert!(name != "steps/reach" || extra.contains("Using index"), "{name}: {plan:?}");
        let others = plan[1..].iter().filter(|step| !step[0].is_empty() && !step[0].starts_with('<'));
        let along = others.clone().all(|step| step[2] == "PRIMARY" && step[1] == "ref");
        assert!(along, "{name}: {plan:?}");
    }
}

/// A list is read on at its place, and not from the newest letter again: the server says how many rows it has looked at.
async fn a_later_page_reads_no_more_than_the_first(
    outbox: &SeaOrmOutbox,
    args: Vec<(&'static str, Vec<Value>)>,
) {
    let second = 1_000_000_i64;
    let oldest = 1_577_836_800_i64;
    let bound = (oldest + LETTERS as i64 / 2) * second;
    let of = |name| match name {
        "bound" => vec![bound.into()],
        "limit" => vec![20_i64.into()],
        _ => args.iter().find(|(known, _)| *known == name).expect("an argument").1.clone(),
    };
    let args: Vec<_> = ["queue", "after", "bound", "limit"].map(|name| (name, of(name))).into();
    let transaction = outbox.connection().begin().await.expect("one connection");
    transaction.execute_unprepared("FLUSH STATUS").await.expect("nothing read yet");
    let page = transaction.query_all_raw(sql("dead_letters/newest", &args)).await.expect("a page");
    let status = Statement::from_string(DbBackend::MySql, "SHOW SESSION STATUS LIKE 'Handler_read%'");
    let reads = transaction.query_all_raw(status).await.expect("the status");
    let reads: u64 = reads
        .iter()
        .map(|row| row.try_get_by_index::<String>(1).expect("a number").parse::<u64>().expect("a number"))
        .sum();
    assert_eq!(page.len(), 20);
    println!("operators_reads: a page of 20 behind 100 letters reads {reads} rows");
    assert!(reads <= 2 * 20 + 4, "a page of 20 behind 100 letters reads {reads} rows");
}

/// Many dead letters, messages, instances, leases and locks, most of them of another queue.
async fn fill(outbox: &SeaOrmOutbox) {
    let rows = |row: &dyn Fn(usize) -> String| (1..=LETTERS).map(row).collect::<Vec<_>>().join(", ");
    let died = |n: usize| format!("TIMESTAMP'2020-01-01 00:00:00' + INTERVAL {n} SECOND");
    let queue = |n: usize| if n.is_multiple_of(10) { "orders" } else { "mails" };
    let letter = |n: usize| {
        let (queue, died) = (queue(n), died(n));
        format!(
            "(UNHEX(LPAD(HEX({n}), 32, '0')), '{queue}', 3, 'text/plain', 'x', {died}, 1, 'busy', {died})"
        )
    };
    let waiting = |n: usize| {
        let (queue, due) = (queue(n), died(n));
        format!("('{queue}', {}, {due}, UNHEX(LPAD(HEX({n}), 32, '0')))", n % 16)
    };
    let dead =
        "claimstream_dead (id, queue, shard, content_type, payload, created_at, attempts, reason, died_at)";
    let live = "claimstream_queue (queue, shard, available_at, id)";
    let body = |n: usize| {
        let (queue, died) = (queue(n), died(n));
        format!("(UNHEX(LPAD(HEX({n}), 32, '0')), '{queue}', 3, 'text/plain', 'x', {died})")
    };
    let instance = |n: usize| format!("(UNHEX(LPAD(HEX({n}), 16, '0')), 'relay', {})", died(n));
    let noted = |n: usize| {
        let at = if n < 40 { died(n) } else { "UTC_TIMESTAMP(6)".into() };
        format!("({at}, 'ann', 'pause', 'queue orders', NULL)")
    };
    let audit = "claimstream_audit (noted_at, actor, action, subject, affected)";
    let key = |n: usize| format!("('{}', 'k-{n}', UNHEX(LPAD(HEX({n}), 32, '0')), {})", queue(n), died(n));
    let request = |n: usize| {
        let (json, at) = (r#"{"requester": {"type": "service", "id": "shop"}}"#, died(n));
        format!("(UNHEX(LPAD(HEX({n}), 32, '0')), 'PENDING', '{json}', {at}, {at})")
    };
    let record = |n: usize| {
        let (id, at) = (format!("UNHEX(LPAD(HEX({n}), 32, '0'))"), died(n));
        format!("({id}, {id}, 'email', 'address:a', 'PENDING', {at}, {at})")
    };
    let keys = "claimstream_dedup (queue, dedup_key, message_id, created_at)";
    let requests = "claimstream_notification_request (id, status, request, created_at, changed_at)";
    let records = "claimstream_notification_message (id, request_id, channel, recipient, status, created_at, changed_at)";
    // One shard of the queue that is asked about has a lease, and it is held.
    let lease = |n: usize| {
        let queue = if n == 3 { "orders" } else { queue(n) };
        format!("('{queue}', {n}, UNHEX('0102030405060708'), 1, {}, 0, 0)", died(n))
    };
    let lock = |n: usize| format!("('job-{n}', {n}, {}, UNHEX(REPEAT('01', 16)))", died(n));
    let bodies = "claimstream_message (id, queue, shard, content_type, payload, created_at)";
    let instances = "claimstream_instance (instance, label, seen_at)";
    let leases = "claimstream_lease (queue, shard, holder, fence, held_until, in_flight, token)";
    let locks = "claimstream_lock (lock_key, fence, held_until, token)";
    let step = |n: usize| {
        format!(
            "('{}', '{n}', '', 1, 1, '', {d}, {d})",
            if n.is_multiple_of(10) { "saga:transfer" } else { "mails" },
            d = died(n)
        )
    };
    let steps = "claimstream_step (scope, run, step, state, version, origin, created_at, changed_at)";
    let timer_key =
        |n: usize| format!("('{}', 'timer/bill/{n}', UNHEX(LPAD(HEX({n}), 32, '0')), {})", queue(n), died(n));
    for (table, rows) in [
        (keys, rows(&key)),
        (requests, rows(&request)),
        (records, rows(&record)),
        (steps, rows(&step)),
        (keys, rows(&timer_key)),
        (dead, rows(&letter)),
        (live, rows(&waiting)),
        (bodies, rows(&body)),
        (instances, rows(&instance)),
        (leases, rows(&lease)),
        (audit, rows(&noted)),
        (locks, rows(&lock)),
    ] {
        let insert = format!("INSERT INTO {table} VALUES {rows}");
        outbox.connection().execute_unprepared(&insert).await.expect("rows");
    }
    let tables = "ANALYZE TABLE claimstream_dead, claimstream_queue, claimstream_message, claimstream_instance, claimstream_lease, claimstream_audit, claimstream_dedup, claimstream_notification_request, claimstream_notification_message, claimstream_lock, claimstream_step";
    outbox.connection().execute_unprepared(tables).await.expect("statistics");
}

/// Table, way, key and extra of each step.
pub(super) async fn explained(outbox: &SeaOrmOutbox, statement: Statement) -> Vec<[String; 4]> {
    let sql = format!("EXPLAIN FORMAT=TRADITIONAL {}", statement.sql);
    let plan = outbox.connection().query_all_raw(Statement { sql, ..statement }).await.expect("a plan");
    let text = |row: &QueryResult, column| {
        row.try_get::<Option<String>>("", column).ok().flatten().unwrap_or_default()
    };
    plan.iter().map(|row| ["table", "type", "key", "Extra"].map(|column| text(row, column))).collect()
}
