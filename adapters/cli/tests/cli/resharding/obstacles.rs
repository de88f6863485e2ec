//! What may be in the way of a resharding: transactions, rights, names and relays that are gone.
//! Promise: a half-finished cut is continued or taken back; a prepared XA transaction blocks it; missing
//! rights are named before anything changes

use std::{
    io::{BufRead, BufReader, Lines},
    process::{ChildStdout, Stdio},
};

use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};
use claimstream_testbed::eventually;
use sea_orm::{ConnectionTrait, Database, DatabaseConnection, DbBackend, Statement, TransactionTrait};
use uuid::Uuid;

use super::{
    orders::{Place, message, misplaced, place},
    places,
};
use crate::{
    database_server::servers,
    operator::{Operator, Running, id, request},
};

const RESHARD: [&str; 4] = ["schema", "reshard", "64", "--yes"];
const END: [&str; 4] = ["schema", "reshard", "--end", "--yes"];

async fn applied(place: &Place) -> (Operator, DatabaseConnection) {
    let operator = Operator::at(&place.url());
    operator.run(&["schema", "apply", "--for", "shard_lease", "--shards", "16"]).succeeded();
    (operator, Database::connect(place.url()).await.unwrap())
}

async fn enqueue(place: &Place, keys: usize) {
    let outbox = SeaOrmOutbox::open(&place.url(), OpenOptions::default()).await.unwrap();
    let all: Vec<_> = (0..keys).map(|key| message(&format!("customer-{key}"), 1)).collect();
    for some in all.chunks(1_000) {
        outbox.enqueue_now(some).await.unwrap();
    }
}

fn begin(operator: &Operator) -> (Running, Lines<BufReader<ChildStdout>>) {
    let mut command = Running(operator.command(&RESHARD).stdout(Stdio::piped()).spawn().unwrap());
    let said = BufReader::new(command.0.stdout.take().unwrap()).lines();
    (command, said)
}

/// Waits until the command says what begins like this.
fn wait_for(said: &mut Lines<BufReader<ChildStdout>>, start: &str) {
    assert!(said.any(|line| line.unwrap().starts_with(start)), "{start}");
}

fn stands(operator: &Operator) -> String {
    operator.run(&["schema", "reshard", "--json"]).succeeded().trim().to_owned()
}

const RIGHTS: &str = include_str!("../../../../../docs/rights.md");

const AS_BEFORE: &str = r#"{"shards":16,"open":16,"resharding":null}"#;

#[tokio::test(flavor = "multi_thread")]
async fn queues_behind_names_that_are_no_text_are_resharded_too() {
    for (name, url) in places("queues_behind_names_that_are_no_text_are_resharded_too") {
        let place = place(url).await;
        let (operator, db) = applied(&place).await;
        enqueue(&place, 50).await;
        let names = match name.as_str() {
            "sqlite" => &["CAST(X'616263ff' AS TEXT)", "X'6f7264657273'", "'zzz'", "X'00'"][..],
            _ => &["X'616263ff'", "'zzz'", "X'ff'"],
        };
        for (number, name) in names.iter().enumerate() {
            let due = if place.is_file() { "1" } else { "UTC_TIMESTAMP(6)" };
            let id = format!("X'{:032x}'", number + 1);
            let entry = format!(
                "INSERT INTO claimstream_queue (queue, shard, available_at, id) VALUES ({name}, 3, {due}, {id})"
            );
            db.execute_unprepared(&entry).await.unwrap();
        }
        operator.run(&RESHARD).succeeded();
        assert_eq!(misplaced(&place, 64).await, [], "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shard_of_many_pages_is_put_in_order() {
    for (name, url) in places("a_shard_of_many_pages_is_put_in_order") {
        let place = place(url).await;
        let operator = Operator::at(&place.url());
        operator.run(&["schema", "apply", "--for", "shard_lease", "--shards", "1"]).succeeded();
        enqueue(&place, 12_000).await;
        operator.run(&["schema", "reshard", "4", "--yes"]).succeeded();
        assert_eq!(misplaced(&place, 4).await, [], "{name}");
    }
}

/// In addition, it tries what is missing: a transaction on one table does not have triggers created again on another.
#[tokio::test(flavor = "multi_thread")]
async fn half_a_cut_is_continued_or_taken_back() {
    for (server, url) in servers("half_a_cut_is_continued_or_taken_back") {
        let place = place(Some(url)).await;
        let (operator, db) = applied(&place).await;
        let triggers = || async {
            let of_ours =
                "SELECT COUNT(*) FROM information_schema.triggers WHERE trigger_schema = DATABASE()";
            place.scratch().count(of_ours).await
        };
        let begin_half = || async {
            let open = db.begin().await.unwrap();
            open.execute_unprepared("DELETE FROM claimstream_queue WHERE queue = 'none'").await.unwrap();
            let (mut command, mut said) = begin(&operator);
            wait_for(&mut said, "try 1: a transaction");
            command.0.kill().unwrap();
            command.end();
            open.rollback().await.unwrap();
        };
        begin_half().await;
        assert_eq!(triggers().await, 2, "{}", server.name());
        let doctor = operator.run(&["doctor"]).succeeded();
        assert!(doctor.contains("or take it back with `claimstream schema reshard --end --yes`"), "{doctor}");
        let other = operator.run(&["schema", "reshard", "32", "--yes"]).failed(1);
        assert!(other.contains("a resharding into 64 shards was begun"), "{other}");
        assert!(operator.run(&END).succeeded().contains("taken back; queues are cut into 16 shards"));
        assert_eq!((triggers().await, stands(&operator).as_str()), (0, AS_BEFORE), "{}", server.name());

        begin_half().await;
        let open = db.begin().await.unwrap();
        open.execute_unprepared("DELETE FROM claimstream_message WHERE queue = 'none'").await.unwrap();
        let (mut command, mut said) = begin(&operator);
        let cut = said.any(|line| line.unwrap() == "messages are written by the new number from now on");
        assert!(cut, "{}", server.name());
        open.rollback().await.unwrap();
        assert!(said.any(|line| line.unwrap().starts_with("all shards are open")), "{}", server.name());
        assert!(command.end().success());
        assert_eq!(triggers().await, 3, "{}", server.name());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prepared_transaction_whose_client_is_gone_holds_up_the_cut() {
    for (server, url) in servers("a_prepared_transaction_whose_client_is_gone_holds_up_the_cut") {
        let place = place(Some(url)).await;
        let (operator, db) = applied(&place).await;
        let (xid, key) = (format!("'{}'", Uuid::now_v7().simple()), "customer-1");
        // One connection, because the transaction belongs to it.
        let mut options = sea_orm::ConnectOptions::new(place.url());
        options.max_connections(1).min_connections(1);
        let client = Database::connect(options).await.unwrap();
        let shard = claimstream_domain::ShardCount::new(16).unwrap().shard_of_bytes(key.as_bytes()).number();
        for statement in [
            format!("XA START {xid}"),
            format!(
                "INSERT INTO claimstream_message (id, queue, shard, ordering_key, content_type, payload, created_at) \
                 VALUES (REPEAT('a', 16), 'orders', {shard}, '{key}', 'text/plain', 'x', UTC_TIMESTAMP(6))"
            ),
            format!(
                "INSERT INTO claimstream_queue (queue, shard, available_at, id) \
                 VALUES ('orders', {shard}, UTC_TIMESTAMP(6), REPEAT('a', 16))"
            ),
            format!("XA END {xid}"),
            format!("XA PREPARE {xid}"),
        ] {
            client.execute_unprepared(&statement).await.unwrap();
        }
        client.close().await.unwrap();
        let (mut command, mut said) = begin(&operator);
        let waits = said.any(|line| line.unwrap().starts_with("try 2: a transaction"));
        let early = operator.run(&["schema", "reshard", "--json"]).out;
        // Before anything is asserted: while it is there, MariaDB drops no database.
        db.execute_unprepared(&format!("XA COMMIT {xid}")).await.unwrap();
        assert!(waits && early.contains("\"cut\":false"), "{}: {early}", server.name());
        assert!(said.any(|line| line.unwrap().starts_with("all shards are open")), "{}", server.name());
        assert!(command.end().success());
        assert_eq!(misplaced(&place, 64).await, [], "{}", server.name());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rights_that_are_missing_are_named_before_anything_changes() {
    for (server, url) in servers("rights_that_are_missing_are_named_before_anything_changes") {
        let place = place(Some(url)).await;
        let (_, db) = applied(&place).await;
        enqueue(&place, 50).await;
        let (user, scratch) = (format!("cs_{}", &Uuid::now_v7().simple().to_string()[16..]), place.scratch());
        db.execute_unprepared(&format!("CREATE USER '{user}'@'%'")).await.unwrap();
        let grant = |rights: &str, on: &str| {
            let grant = format!("GRANT {rights} ON {}.{on} TO '{user}'@'%'", scratch.name());
            async { db.execute_unprepared(&{ grant }).await.unwrap() }
        };
        // Those that the page gives to the user that makes the tables.
        grant("SELECT, INSERT, UPDATE, CREATE, ALTER, INDEX, DROP, CREATE VIEW", "*").await;
        let url = place.url();
        let (_, at) = url.split_once('@').unwrap();
        let operator = Operator::at(&format!("mysql://{user}@{at}"));
        let refused = operator.run(&RESHARD).failed(1);
        for right in ["DELETE ON claimstream_schema", "DELETE ON claimstream_pause"] {
            assert!(refused.contains(&format!("GRANT {right}")), "{}: {refused}", server.name());
        }
        assert!(
            !refused.contains("GRANT INSERT") && refused.contains("nothing has been changed"),
            "{refused}"
        );
        assert_eq!(stands(&operator), AS_BEFORE, "{}", server.name());
        grant("DELETE", "claimstream_schema").await;
        grant("DELETE", "claimstream_pause").await;
        let refused = operator.run(&RESHARD).failed(1);
        assert!(refused.contains("GRANT TRIGGER on the database"), "{}: {refused}", server.name());
        assert_eq!(stands(&operator), AS_BEFORE, "{}", server.name());
        let all = format!("REVOKE ALL PRIVILEGES, GRANT OPTION FROM '{user}'@'%'");
        db.execute_unprepared(&all).await.unwrap();
        for line in RIGHTS.lines().filter(|line| line.starts_with("GRANT") && line.contains("'resharder'")) {
            let line = line.replace("shop.", &format!("{}.", scratch.name()));
            db.execute_unprepared(&line.replace("'resharder'", &format!("'{user}'"))).await.unwrap();
        }
        operator.run(&RESHARD).succeeded();
        assert_eq!(misplaced(&place, 64).await, [], "{}", server.name());
        let revoke = format!("REVOKE TRIGGER ON {}.* FROM '{user}'@'%'", scratch.name());
        db.execute_unprepared(&revoke).await.unwrap();
        let refused = operator.run(&END).failed(1);
        assert!(refused.contains("TRIGGER"), "{}: {refused}", server.name());
        assert!(stands(&operator).contains("\"cut\":true"), "{}", server.name());
        grant("TRIGGER", "*").await;
        operator.run(&END).succeeded();
        db.execute_unprepared(&format!("DROP USER '{user}'@'%'")).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_says_once_that_a_relay_must_run() {
    let place = place(None).await;
    let (operator, db) = applied(&place).await;
    enqueue(&place, 50).await;
    let leases = "INSERT INTO claimstream_lease (queue, shard, holder, label, fence, held_until, in_flight, token) \
                  SELECT 'orders', shard, X'01', 'pod-7', 1, 1, 1, 0 FROM claimstream_shard";
    db.execute_unprepared(leases).await.unwrap();
    // The command closes a shard each time that it looks at it.
    for statement in [
        "CREATE TABLE looks (number INTEGER)",
        "CREATE TRIGGER look AFTER INSERT ON claimstream_pause BEGIN INSERT INTO looks VALUES (1); END",
    ] {
        db.execute_unprepared(statement).await.unwrap();
    }
    let (mut command, said) = begin(&operator);
    eventually("the command has looked at each shard several times", async || {
        let count = Statement::from_string(DbBackend::Sqlite, "SELECT COUNT(*) FROM looks");
        let looks: i64 = db.query_one_raw(count).await.unwrap().unwrap().try_get_by_index(0).unwrap();
        looks > 6 * 16
    })
    .await;
    db.execute_unprepared("UPDATE claimstream_lease SET in_flight = 0").await.unwrap();
    let said: Vec<String> = said.map(Result::unwrap).collect();
    assert!(command.end().success(), "{said:?}");
    let of_shard_3 = "pod-7 is gone and has left messages of shard 3 of queue orders in hand; a relay of this queue must run";
    let times = said.iter().filter(|line| line.starts_with(of_shard_3)).count();
    assert_eq!(times, 1, "{said:?}");
    assert_eq!(misplaced(&place, 64).await, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resharding_of_a_file_is_taken_back_before_its_cut() {
    let place = place(None).await;
    let (operator, db) = applied(&place).await;
    let begun = "INSERT INTO claimstream_schema (capability, version, shards, from_shards) VALUES ('resharding', 1, 64, 16)";
    db.execute_unprepared(begun).await.unwrap();
    let preview = operator.run(&END[..3]).succeeded();
    assert!(
        preview.contains("with --yes the resharding is taken back, and queues are left at 16 shards"),
        "{preview}"
    );
    assert!(operator.run(&END).succeeded().contains("taken back"));
    assert_eq!(stands(&operator), AS_BEFORE);
    operator.run(&["schema", "reshard", "32", "--yes"]).succeeded();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_keeps_text_as_utf_16_is_refused() {
    let place = place(None).await;
    let db = Database::connect(format!("{}?mode=rwc", place.url())).await.unwrap();
    for statement in ["PRAGMA encoding = 'UTF-16le'", "CREATE TABLE business (id INTEGER)"] {
        db.execute_unprepared(statement).await.unwrap();
    }
    db.close().await.unwrap();
    let (operator, _) = applied(&place).await;
    let refused = operator.run(&RESHARD).failed(1);
    assert!(
        refused.contains("the file keeps text as UTF-16") && refused.contains("nothing has been changed"),
        "{refused}"
    );
    assert_eq!(stands(&operator), AS_BEFORE);
}

/// Guard: a request is cancelled in the shard that its body names |
/// adapters/sea-orm/src/notifications/cancelling.rs `remove_from_outbox`: the shard by the current number
#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_was_written_by_the_old_number_is_cancelled() {
    for (name, url) in places("a_request_that_was_written_by_the_old_number_is_cancelled") {
        let place = place(url).await;
        let (operator, _) = applied(&place).await;
        for number in 1..=8 {
            let later =
                request(number, "\"email\"").replacen("\"content\"", "\"delay_ms\":3600000,\"content\"", 1);
            operator.run_with(&["notify", "-"], later.as_bytes()).succeeded();
        }
        operator.run(&RESHARD).succeeded();
        for number in 1..=8 {
            operator.run(&["cancel", &id(number)]).succeeded();
        }
        let left = operator.run(&["status", "--json"]).succeeded();
        assert!(!left.contains("notification-requests"), "{name}: {left}");
    }
}
