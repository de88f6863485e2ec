//! More shards for queues that are at work.
//! Promise: keys stay in order and nothing is lost or doubled while shards multiply, relays claim, writers
//! use the old number, and the command is killed; afterwards each message with an ordering key is in its new
//! shard

mod obstacles;
pub(crate) mod orders;
mod trouble;

use std::{
    io::{BufRead, BufReader},
    process::Stdio,
    time::Duration,
};

use claimstream_domain::ShardCount;
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};

use self::orders::{Orders, Plan, place};
use crate::{
    database_server::servers,
    operator::{Operator, Running, eventually},
};

/// Relays claim and writers write that know the old number, one of them by INSERT, while the command is killed again and again.
/// Guard: after the cut a trigger sends each message to its new shard |
/// adapters/sea-orm/src/resharding/cut.rs `in_file`: `SELECT 1` instead of the trigger on SQLite
#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: kills"]
async fn keys_stay_in_order_while_their_shards_multiply_and_the_command_is_killed() {
    for (name, url) in places("keys_stay_in_order_while_their_shards_multiply_and_the_command_is_killed") {
        reshard_at_work(&name, url, "shard_lease", "per_key").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: kills"]
async fn nothing_is_lost_or_doubled_where_rows_are_claimed() {
    for (name, url) in places("nothing_is_lost_or_doubled_where_rows_are_claimed") {
        let skips = !(name == "sqlite" || name == "mariadb-10.5");
        reshard_at_work(&name, url, if skips { "skip_locked" } else { "preemptive_update" }, "none").await;
    }
}

/// Writers are held up between two tries at most: they go on while the transaction is open.
#[tokio::test(flavor = "multi_thread")]
async fn an_open_transaction_holds_up_the_cut_and_no_writer_until_it_ends() {
    for (_, url) in servers("an_open_transaction_holds_up_the_cut_and_no_writer_until_it_ends") {
        let place = place(Some(url)).await;
        let operator = Operator::at(&place.url());
        operator.run(&["schema", "apply", "--for", "shard_lease", "--shards", "16"]).succeeded();
        let outbox = SeaOrmOutbox::open(&place.url(), OpenOptions::default()).await.unwrap();
        let open = outbox.begin().await.unwrap();
        outbox.enqueue_on(&open, &[orders::message("customer-1", 1)]).await.unwrap();
        let mut command = operator.command(&["schema", "reshard", "64", "--yes"]);
        let mut command = Running(command.stdout(Stdio::piped()).spawn().unwrap());
        let mut said = BufReader::new(command.0.stdout.take().unwrap()).lines();
        assert!(said.any(|line| line.unwrap().starts_with("try 1: a transaction")), "it waits");
        for tries in 2..=4 {
            outbox.enqueue_now(&[orders::message("customer-2", tries)]).await.unwrap();
            let next = format!("try {tries}: a transaction");
            assert!(said.any(|line| line.unwrap().starts_with(&next)), "it waits on");
        }
        outbox.commit(open).await.unwrap();
        let said: Vec<String> = said.map(Result::unwrap).collect();
        assert!(command.end().success(), "{said:?}");
        assert!(
            said.iter().any(|line| line == "messages are written by the new number from now on"),
            "{said:?}"
        );
        assert!(orders::misplaced(&place, 64).await.is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_finds_its_shard_whatever_its_key_and_its_writer() {
    for (name, url) in places("a_message_finds_its_shard_whatever_its_key_and_its_writer") {
        let place = place(url).await;
        let operator = Operator::at(&place.url());
        operator.run(&["schema", "apply", "--for", "shard_lease", "--shards", "3"]).succeeded();
        let old = SeaOrmOutbox::open(&place.url(), OpenOptions::default()).await.unwrap();
        orders::enqueue_many(&old).await;
        orders::bury_all(&place).await;
        operator.run(&["schema", "reshard", "255", "--yes"]).succeeded();
        orders::enqueue_many(&old).await;
        let mut keys: Vec<String> = ["k", "Kunde 1 €", "\u{1f600}\u{0}x", " "].map(str::to_owned).into();
        keys.extend((1..=255).map(|length| "é7".repeat(85)[..].chars().take(length).collect()));
        keys.retain(|key: &String| key.len() <= 255);
        for key in &keys {
            old.enqueue_now(&[orders::message(key, 1)]).await.unwrap();
            let tx = old.begin().await.unwrap();
            old.enqueue_on(&tx, &[orders::message(key, 2)]).await.unwrap();
            old.commit(tx).await.unwrap();
        }
        let misplaced = orders::misplaced(&place, 255).await;
        assert!(misplaced.is_empty(), "{name}: {misplaced:?}");
        let opened = SeaOrmOutbox::open(&place.url(), OpenOptions::default()).await.unwrap();
        assert_eq!(opened.shards(), ShardCount::new(255).unwrap());
        assert!(operator.run(&["schema", "reshard", "--end", "--yes"]).succeeded().contains("are gone"));
        opened.enqueue_now(&[orders::message("k", 3)]).await.unwrap();
        let revived = operator.run(&["dead", "revive", "--all", "--yes"]).succeeded();
        assert!(revived.contains("revived 500"), "{revived}");
        let misplaced = orders::misplaced(&place, 255).await;
        assert!(misplaced.is_empty(), "{name}, of dead letters: {misplaced:?}");
        old.enqueue_now(&[orders::message("k", 4)]).await.unwrap();
        assert_eq!(orders::misplaced(&place, 255).await.len(), 1, "{name}: the trigger is gone");
    }
}

#[test]
fn a_number_that_would_not_do_is_refused_and_a_preview_changes_nothing() {
    let operator = Operator::at("sqlite://claimstream.db");
    operator.run(&["schema", "apply", "--for", "shard_lease", "--shards", "16"]).succeeded();
    for more in [&["60"][..], &["60", "--yes"], &["8"], &["16"]] {
        let refused = operator.run(&[&["schema", "reshard"], more].concat()).failed(1);
        assert!(refused.contains("a multiple of 16: 32, 48, 64 and so on, up to 256"), "{refused}");
    }
    assert!(operator.run(&["schema", "reshard", "257"]).failed(2).contains("1 to 256"));
    let stands = r#"{"shards":16,"open":16,"resharding":null}"#;
    assert!(operator.run(&["schema", "reshard", "64"]).succeeded().contains("nothing was changed"));
    assert_eq!(operator.run(&["schema", "reshard", "--json"]).succeeded().trim(), stands);
    let plan = planned(&operator, "64");
    assert_eq!((&plan["action"], &plan["from"], &plan["to"]), (&"begin".into(), &16.into(), &64.into()));
    assert!(plan["statements"][0].as_str().unwrap().starts_with("CREATE TRIGGER"), "{plan}");
    assert_eq!(plan["emptied"].as_array().unwrap().len(), 16, "{plan}");
    assert_eq!((&plan["opened"][0], &plan["opened"][47]), (&16.into(), &63.into()), "{plan}");
    let none = operator.run(&["schema", "reshard", "--end", "--yes"]).succeeded();
    assert_eq!(none, "there is no resharding to end\n");
    operator.run(&["schema", "reshard", "64", "--yes"]).succeeded();
    operator.run(&["schema", "reshard", "64", "--yes"]).succeeded();
    let stands = r#"{"shards":64,"open":64,"resharding":{"from":16,"to":64,"cut":true}}"#;
    assert_eq!(operator.run(&["schema", "reshard", "--json"]).succeeded().trim(), stands);
    let plan = planned(&operator, "64");
    assert_eq!((&plan["action"], &plan["statements"]), (&"continue".into(), &serde_json::json!([])));
    assert_eq!((&plan["emptied"], &plan["opened"]), (&serde_json::json!([]), &serde_json::json!([])));
    let plan = planned(&operator, "--end");
    assert_eq!(plan["action"], "end");
    assert_eq!(plan["statements"][0], "DROP TRIGGER IF EXISTS claimstream_64_shards_of_queue");
    let doctor = operator.run(&["doctor"]).succeeded();
    assert!(doctor.contains("all 64 shards are open, and triggers send"), "{doctor}");
    let refused = operator.run(&["schema", "reshard", "128"]).failed(1);
    assert!(refused.contains("claimstream schema reshard --end"), "{refused}");
    let refused = operator.run(&["schema", "reshard", "128", "--yes"]).failed(1);
    assert!(refused.contains("claimstream schema reshard --end"), "{refused}");
    operator.run(&["schema", "reshard", "--end", "--yes"]).succeeded();
    assert!(!operator.run(&["doctor"]).succeeded().contains("triggers send"));
    assert!(operator.run(&["schema", "reshard", "128", "--yes"]).succeeded().contains("all shards are open"));
}

/// What the command would do.
fn planned(operator: &Operator, what: &str) -> serde_json::Value {
    let said = operator.run(&["schema", "reshard", what, "--json"]).succeeded();
    serde_json::from_str::<serde_json::Value>(&said).unwrap()["plan"].take()
}

fn places(test: &str) -> Vec<(String, Option<String>)> {
    let servers = servers(test).into_iter().map(|(server, url)| (server.name().to_owned(), Some(url)));
    std::iter::once(("sqlite".to_owned(), None)).chain(servers).collect()
}

async fn reshard_at_work(name: &str, url: Option<String>, strategy: &'static str, order: &'static str) {
    let place = place(url).await;
    let operator = Operator::at(&place.url());
    operator.run(&["schema", "apply", "--for", "shard_lease", "--shards", "16"]).succeeded();
    let plan = Plan::at(&place.url(), strategy, order);
    let orders = Orders::begin(place, plan).await;
    for wait in [30, 90, 150, 250, 400, 700, 1_200] {
        let mut command = operator.command(&["schema", "reshard", "64", "--yes"]);
        let mut command = Running(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        tokio::time::sleep(Duration::from_millis(wait)).await;
        command.0.kill().unwrap();
        command.end();
    }
    let ended = tokio::task::spawn_blocking(move || {
        let said = operator.run(&["schema", "reshard", "64", "--yes"]).succeeded();
        eventually("the doctor says that triggers are there", || {
            operator.run(&["doctor"]).out.contains("all 64 shards are open")
        });
        let status = operator.run(&["status", "--json"]).succeeded();
        assert!(!status.contains("\"stray\":1"), "{status}");
        said
    });
    let said = ended.await.unwrap();
    let handled = orders.end().await;
    println!("{name}, {strategy}, order {order}: {handled} messages, 64 shards\n{said}");
}
