//! Reshardings while relays are killed and handlers are slow, and on clusters whose nodes are all written to.
//! Promise: keys stay in order while shards multiply, relays are killed, messages fail and a handler outlasts
//! the command's limit, under `per_key`, `per_key_skip` and with a lock; also on a Galera cluster with
//! writers, relays and the command on three nodes; a group of several primaries is refused

use std::{io::Write, process::Stdio, time::Duration};

use claimstream_testbed::{ClusterKind, Nodes, Writers};
use futures::future::join_all;

use super::{
    orders::{Handling, Orders, Place, Plan, Slow, place},
    places,
};
use crate::operator::{Operator, Running};

const RESHARD: [&str; 4] = ["schema", "reshard", "64", "--yes"];

#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: kills"]
async fn keys_stay_in_order_while_relays_are_killed_and_a_handler_is_slow() {
    reshard_in_trouble(&["sqlite", "mysql-9.7"], "shard_lease", "per_key").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: kills"]
async fn messages_that_fail_are_overtaken_and_no_others_while_relays_are_killed() {
    reshard_in_trouble(&["mariadb-10.11"], "shard_lease", "per_key_skip").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: kills"]
async fn nothing_is_lost_behind_a_lock_while_relays_are_killed() {
    reshard_in_trouble(&["mariadb-11.8"], "lock_guarded", "none").await;
}

/// Writers at two nodes, by the library and by INSERT, and relays at two, while the command is killed and begun again at the third.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: clusters"]
async fn keys_stay_in_order_on_a_cluster_whose_nodes_are_all_written_to() {
    for (name, url) in clusters() {
        match name.starts_with("galera") {
            true => reshard_on_nodes(name, url).await,
            false => is_refused(url).await,
        }
    }
}

/// The clusters whose nodes all take writes, of which the environment has the URL of a node.
fn clusters() -> Vec<(&'static str, String)> {
    let environment = |name: &str| std::env::var(name).ok();
    let mut found = Vec::new();
    for kind in ClusterKind::ALL.into_iter().filter(|kind| kind.writers == Writers::All) {
        match kind.url(environment) {
            Some(url) => found.push((kind.name, url)),
            // Past the capture of a test's output, which would hide it as long as all is well.
            None => drop(writeln!(
                std::io::stderr(),
                "no resharding was tried on {}: {} is not set",
                kind.name,
                kind.variable
            )),
        }
    }
    found
}

/// A trigger that one member of a group makes is no cut.
async fn is_refused(url: String) {
    let place = place(Some(url)).await;
    let operator = applied(&place).await;
    let refused = operator.run(&RESHARD).failed(1);
    assert!(refused.contains("SELECT group_replication_switch_to_single_primary_mode()"), "{refused}");
    let stands = operator.run(&["schema", "reshard"]).succeeded();
    assert!(stands.contains("queues are cut into 16 shards"), "{stands}");
}

async fn applied(place: &Place) -> Operator {
    let operator = Operator::at(&place.url());
    operator.run(&["schema", "apply", "--for", "shard_lease", "--shards", "16"]).succeeded();
    operator
}

/// A handler takes longer than the command waits for a shard at first, and longer than a lease: under `shard_lease` it renews its claim,
/// and elsewhere its claim ends.
///
/// Each test has the places that show something of their own, because that takes its time.
async fn reshard_in_trouble(names: &[&str], strategy: &'static str, order: &'static str) {
    let all = places("reshardings in trouble").into_iter();
    let chosen = all.filter(|(name, _)| names.contains(&name.as_str()));
    join_all(chosen.map(|(name, url)| trouble_at(name, url, strategy, order))).await;
}

async fn trouble_at(name: String, url: Option<String>, strategy: &'static str, order: &'static str) {
    let place = place(url).await;
    let operator = applied(&place).await;
    let (lease, leases_shards) = (Duration::from_secs(3), strategy == "shard_lease");
    let renewed = leases_shards.then_some(lease / 4);
    let slow = Slow { takes: Duration::from_secs(8), renewed };
    let handling = Handling { one_fails_of: Some(23), slow: Some(slow) };
    let plan = Plan { lease, handling, ..Plan::at(&place.url(), strategy, order) };
    let mut orders = Orders::begin(place, plan).await;
    orders.until_one_is_slow().await;
    let command = operator.command(&RESHARD).stdout(Stdio::piped()).spawn().unwrap();
    for _ in 0..4 {
        tokio::time::sleep(Duration::from_millis(700)).await;
        orders.kill_a_relay().await;
    }
    let ended = tokio::task::spawn_blocking(|| command.wait_with_output().unwrap()).await.unwrap();
    let said = String::from_utf8(ended.stdout).unwrap();
    assert!(ended.status.success() && said.contains("all shards are open"), "{name}: {said}");
    // That of the slow handler, or of one of the relays that are gone.
    assert!(!leases_shards || said.contains("in hand"), "{name}: {said}");
    let handled = orders.end().await;
    println!("{name}, {strategy}, order {order}: {handled} messages, 64 shards, four relays killed\n{said}");
}

async fn reshard_on_nodes(name: &str, url: String) {
    let nodes = Nodes::of(&url).await.unwrap();
    let place = place(Some(url)).await;
    applied(&place).await;
    nodes.catch_up().await;
    let at = nodes.of_database(&place.url());
    let operator = Operator::at(&at[at.len() - 1]);
    let plan = Plan {
        writers: [at[0].clone(), at[1].clone()],
        relays: vec![at[0].clone(), at[1].clone()],
        tries: 50,
        ..Plan::at(&place.url(), "shard_lease", "per_key")
    };
    let orders = Orders::begin(place, plan).await;
    for wait in [150, 600] {
        let command = operator.command(&RESHARD).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let mut command = Running(command.unwrap());
        tokio::time::sleep(Duration::from_millis(wait)).await;
        command.0.kill().unwrap();
        command.end();
    }
    let said = tokio::task::spawn_blocking(move || operator.run(&RESHARD).succeeded()).await.unwrap();
    assert!(!said.contains("is gone"), "no relay was killed: {said}");
    let handled = orders.end().await;
    println!("{name}: {handled} messages, 64 shards\n{said}");
}
