//! Along which keys messages are moved to new shards.
//! Promise: statements of a resharding read along keys

use sea_orm::{ConnectionTrait, Value};
use uuid::Uuid;

use super::operators_reads::explained;
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
        let name = format!("{}::auto::resharding::its_statements_walk_along_keys", server.name);
        suite.add_async_test(&name, async move { walk_along_keys(&backend).await });
    }
}

const MESSAGES: usize = 4_000;

async fn walk_along_keys(backend: &SeaOrmBackend) {
    let url = backend.database().await.expect("a database");
    let outbox = backend.open(&url, None).await.expect("open");
    let rows = |row: &dyn Fn(usize) -> String| (1..=MESSAGES).map(row).collect::<Vec<_>>().join(", ");
    let id = |n: usize| format!("UNHEX(LPAD(HEX({n}), 32, '0'))");
    let due = |n: usize| format!("TIMESTAMP'2020-01-01 00:00:00' + INTERVAL {n} SECOND");
    let entry = |n: usize| format!("('orders', {}, {}, {})", n % 16, due(n), id(n));
    let body = |n: usize| {
        format!("({}, 'orders', {}, 'key-{}', 'text/plain', 'x', {})", id(n), n % 16, n % 500, due(n))
    };
    let lease = |n: usize| format!("('queue-{}', {}, 1, {}, 0, 0)", n / 16, n % 16, due(n));
    for (table, rows) in [
        ("claimstream_queue (queue, shard, available_at, id)", rows(&entry)),
        (
            "claimstream_message (id, queue, shard, ordering_key, content_type, payload, created_at)",
            rows(&body),
        ),
        ("claimstream_lease (queue, shard, fence, held_until, in_flight, token)", rows(&lease)),
        (
            "claimstream_lease (queue, shard, fence, held_until, in_flight, token)",
            "('orders', 3, 1, UTC_TIMESTAMP(6), 0, 0)".into(),
        ),
    ] {
        let insert = format!("INSERT INTO {table} VALUES {rows}");
        outbox.connection().execute_unprepared(&insert).await.expect("rows");
    }
    let analyze = "ANALYZE TABLE claimstream_queue, claimstream_message, claimstream_lease";
    outbox.connection().execute_unprepared(analyze).await.expect("statistics");
    let args = vec![
        ("queue", vec![Value::from("orders")]),
        ("shard", vec![3_i64.into()]),
        ("target", vec![19_i64.into()]),
        ("below", vec![253_402_300_799_999_999_i64.into()]),
        ("id", vec![bytes(Uuid::max())]),
        ("first", vec![1_577_836_800_000_000_i64.into()]),
        ("last", vec![1_577_836_900_000_000_i64.into()]),
        ("limit", vec![500_i64.into()]),
        ("after", vec![bytes(Uuid::from_u128(7))]),
        ("fence", vec![1_i64.into()]),
        ("token", vec![1_i64.into()]),
        ("ids", (0..8).map(|n| bytes(Uuid::from_u128(16 * n + 3))).collect()),
    ];
    for name in ["page", "move_rows", "move_bodies", "take", "lease", "bodies", "letters"] {
        let name = format!("resharding/{name}");
        let plan = explained(&outbox, sql(&name, &args)).await;
        println!("resharding: {name}: {plan:?}");
        let reads = plan.iter().filter(|step| step[0].starts_with('q') || step[0].starts_with("claim"));
        let reads: Vec<_> = reads.collect();
        assert!(
            !reads.is_empty() && reads.iter().all(|step| step[2] == "PRIMARY" && step[1] != "index"),
            "{name}: {plan:?}"
        );
        assert!(!plan.iter().any(|step| step[3].contains("filesort")), "{name} sorts: {plan:?}");
        let bodies = plan.iter().filter(|step| step[0] == "m");
        assert!(bodies.into_iter().all(|step| step[1] == "eq_ref"), "{name}: {plan:?}");
    }
    let next =
        explained(&outbox, sql("resharding/next_queue", &vec![("after", vec![Value::from("a")])])).await;
    let is_seek = next[0][3].contains("optimized away") || next[0][2] == "PRIMARY";
    assert!(is_seek, "{next:?}");
}
