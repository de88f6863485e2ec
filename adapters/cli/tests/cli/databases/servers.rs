//! Promise: a relay empties several databases, and loses nothing when it is killed; one that hangs or is away
//! does not slow the others, and a backlog of one starves no other

use std::process::Stdio;

use super::{configure, delivered, distinct, freezing_proxy::FreezingProxy, hand_in, section};
use crate::{
    database_server::{Scratch, servers},
    operator::{Operator, Running, eventually},
};

/// A database on each of two servers of different makers, and a third, if there are so many servers.
async fn on_different_servers(test: &str) -> Option<Vec<Scratch>> {
    let wanted = ["mariadb-10.11", "mysql-9.7", "mariadb-11.8"];
    let mut found = Vec::new();
    for (server, url) in servers(test) {
        if wanted.contains(&server.name()) {
            found.push(Scratch::on(url).await);
        }
    }
    (found.len() == wanted.len()).then_some(found)
}

fn start(operator: &Operator, more: &[&str]) -> Running {
    let log = std::fs::File::options().create(true).append(true).open(operator.path("log")).unwrap();
    let mut command = operator.command(&[&["relay"][..], more].concat());
    Running(command.stdout(Stdio::null()).stderr(log).spawn().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_hangs_does_not_hold_the_others_up_and_loses_nothing() {
    let test = "a_server_that_hangs_does_not_hold_the_others_up_and_loses_nothing";
    let Some(scratches) = on_different_servers(test).await else { return };
    let operator = Operator::new();
    let urls: Vec<String> = scratches.iter().map(Scratch::url).collect();
    let proxy = FreezingProxy::before(&urls[2]);
    let sections =
        section("a", &urls[0], "") + &section("b", &urls[1], "") + &section("c", &proxy.url(&urls[2]), "");
    configure(&operator, &sections);
    operator.run(&["schema", "apply", "--for", "notifications,steps"]).succeeded();
    for (name, numbers) in [("a", 0..100), ("b", 10_000..10_100), ("c", 20_000..20_500)] {
        hand_in(&operator, name, numbers);
    }
    // A short lease, so that what the frozen server was at comes again within the test.
    let settings = ["--set", "relay.lease=10s", "--set", "relay.process_concurrency=48"];
    let mut running = start(&operator, &settings);
    let each = || {
        let numbers = delivered(&operator);
        [0..10_000, 10_000..20_000, 20_000..30_000].map(|of| distinct(&numbers, of))
    };
    eventually("each delivers", || each().into_iter().all(|count| count > 20));
    proxy.freeze();
    // It hangs until the others have delivered more than the process handles at a time.
    for (name, numbers) in [("a", 100..400), ("b", 10_100..10_400)] {
        hand_in(&operator, name, numbers);
    }
    eventually("the others deliver all while one hangs", || each()[..2] == [400, 400]);
    proxy.thaw();
    eventually("all are delivered", || each() == [400, 400, 500]);
    // A settlement that was lost in the frozen connections is made when the message comes again.
    let empty = || operator.run(&["status", "--json"]).succeeded().matches("\"queues\":[]").count();
    eventually("nothing is left", || empty() == 3);
    running.signal("TERM");
    assert_eq!(running.end().code(), Some(0));
    println!("{} twice", delivered(&operator).len() - 1_300);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trickle_is_not_starved_by_a_backlog_of_ten_thousand() {
    let test = "a_trickle_is_not_starved_by_a_backlog_of_ten_thousand";
    let Some(scratches) = on_different_servers(test).await else { return };
    let operator = Operator::new();
    let sections = section("backlog", &scratches[0].url(), "") + &section("trickle", &scratches[1].url(), "");
    configure(&operator, &sections);
    operator.run(&["schema", "apply", "--for", "notifications,steps"]).succeeded();
    hand_in(&operator, "backlog", 0..10_000);
    let mut running = start(&operator, &["--set", "relay.process_concurrency=8"]);
    let done = || distinct(&delivered(&operator), 0..10_000);
    eventually("the backlog is being delivered", || done() > 50);
    for number in 20_000..20_004 {
        hand_in(&operator, "trickle", number..number + 1);
        eventually("it is delivered", || distinct(&delivered(&operator), number..number + 1) == 1);
        assert!(done() < 9_900, "{number} came after the backlog");
    }
    running.signal("TERM");
    assert_eq!(running.end().code(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: kills"]
async fn a_relay_that_is_killed_loses_nothing_in_any_database() {
    let test = "a_relay_that_is_killed_loses_nothing_in_any_database";
    let Some(scratches) = on_different_servers(test).await else { return };
    let operator = Operator::new();
    let named = ["a", "b"].iter().zip(&scratches).map(|(name, scratch)| section(name, &scratch.url(), ""));
    configure(&operator, &named.collect::<String>());
    operator.run(&["schema", "apply", "--for", "notifications,steps"]).succeeded();
    hand_in(&operator, "a", 0..600);
    hand_in(&operator, "b", 10_000..10_600);
    let settings = ["--set", "relay.lease=5s", "--set", "relay.process_concurrency=16"];
    let all = || distinct(&delivered(&operator), 0..20_000);
    for killed in 1..=3 {
        let running = start(&operator, &settings);
        eventually("some more are delivered", || all() > killed * 150);
        running.signal("KILL");
    }
    let mut running = start(&operator, &settings);
    eventually("all are delivered", || all() == 1_200);
    let accepted = |name: &str| {
        let printed =
            operator.run(&["requests", "--database", name, "--limit", "2000", "--json"]).succeeded();
        printed.matches("\"status\":\"DISPATCHED\"").count()
    };
    eventually("each request has ended once", || accepted("a") + accepted("b") == 1_200);
    running.signal("TERM");
    assert_eq!(running.end().code(), Some(0));
    let twice = delivered(&operator).len() - 1_200;
    println!("3 kills: 1200 delivered, {twice} twice");
    // A kill leaves no more than what was in the hands of handlers.
    assert!(twice <= 3 * 16, "{twice}");
}
