use std::{
    process::Stdio,
    time::{Duration, Instant},
};

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

/// Waits for what a busy machine takes its time for.
#[track_caller]
fn within(what: &str, longest: Duration, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < longest, "not within {longest:?}: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// How long it takes until so many more of these numbers are delivered.
fn time_for(more: usize, operator: &Operator, of: std::ops::Range<u32>) -> Duration {
    let begun = Instant::now();
    let before = distinct(&delivered(operator), of.clone());
    within("some more are delivered", Duration::from_secs(120), || {
        distinct(&delivered(operator), of.clone()) >= before + more
    });
    begun.elapsed()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_hangs_does_not_slow_the_others_and_loses_nothing() {
    let test = "a_server_that_hangs_does_not_slow_the_others_and_loses_nothing";
    let Some(scratches) = on_different_servers(test).await else { return };
    let operator = Operator::new();
    let urls: Vec<String> = scratches.iter().map(Scratch::url).collect();
    let proxy = FreezingProxy::before(&urls[2]);
    let sections =
        section("a", &urls[0], "") + &section("b", &urls[1], "") + &section("c", &proxy.url(&urls[2]), "");
    configure(&operator, &sections);
    operator.run(&["schema", "apply"]).succeeded();
    for (name, numbers) in [("a", 0..1_000), ("b", 10_000..11_000), ("c", 20_000..21_000)] {
        hand_in(&operator, name, numbers);
    }
    // A short lease, so that what the frozen server was at comes again within the trial.
    let settings = ["--set", "relay.lease=10s", "--set", "relay.process_concurrency=48"];
    let mut running = start(&operator, &settings);
    let each = || {
        let numbers = delivered(&operator);
        [0..10_000, 10_000..20_000, 20_000..30_000].map(|of| distinct(&numbers, of))
    };
    within("each delivers", Duration::from_secs(90), || each().into_iter().all(|count| count > 50));
    let mut had = [1_000; 3];
    // A busy machine may spoil two tries.
    let is_undisturbed = (0..3).any(|_| is_undisturbed(&operator, &proxy, &mut had));
    assert!(is_undisturbed, "the two were slower while one hung, three times");
    let had = had.map(|count| count as usize);
    within("all are delivered", Duration::from_secs(180), || each() == had);
    // A settlement that was lost in the frozen connections is made when the message comes again.
    let empty = || operator.run(&["status", "--json"]).succeeded().matches("\"queues\":[]").count();
    within("nothing is left", Duration::from_secs(60), || empty() == 3);
    running.signal("TERM");
    assert_eq!(running.end().code(), Some(0));
    println!("{} twice", delivered(&operator).len() - had.iter().sum::<usize>());
}

/// Whether the two deliver as fast while the third server hangs as beside it. Hands more in where too little is left to be timed by, and
/// counts it.
fn is_undisturbed(operator: &Operator, proxy: &FreezingProxy, had: &mut [u32; 3]) -> bool {
    refill(operator, had);
    let begun = distinct(&delivered(operator), 20_000..30_000);
    within("the third delivers", Duration::from_secs(90), || {
        distinct(&delivered(operator), 20_000..30_000) > begun
    });
    let beside = time_for(400, operator, 0..20_000);
    refill(operator, had);
    proxy.freeze();
    let without = time_for(400, operator, 0..20_000);
    proxy.thaw();
    println!("400 of two servers take {beside:.1?} beside the third, and {without:.1?} while that hangs");
    without <= beside * 2 + Duration::from_secs(1)
}

/// Hands more in to each server that has not enough left.
fn refill(operator: &Operator, had: &mut [u32; 3]) {
    for (had, (name, first)) in had.iter_mut().zip([("a", 0), ("b", 10_000), ("c", 20_000)]) {
        let left = *had as usize - distinct(&delivered(operator), first..first + 10_000);
        if left < 500 {
            hand_in(operator, name, first + *had..first + *had + 500);
            *had += 500;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trickle_is_not_starved_by_a_backlog_of_ten_thousand() {
    let test = "a_trickle_is_not_starved_by_a_backlog_of_ten_thousand";
    let Some(scratches) = on_different_servers(test).await else { return };
    let operator = Operator::new();
    let sections = section("backlog", &scratches[0].url(), "") + &section("trickle", &scratches[1].url(), "");
    configure(&operator, &sections);
    operator.run(&["schema", "apply"]).succeeded();
    hand_in(&operator, "backlog", 0..10_000);
    let mut running = start(&operator, &["--set", "relay.process_concurrency=8"]);
    eventually("the backlog is being delivered", || distinct(&delivered(&operator), 0..10_000) > 50);
    let mut waits = waits_beside_the_backlog(&operator);
    waits.sort();
    println!("the waits beside the backlog were {waits:.1?}");
    assert!(waits.len() >= 3, "the backlog was gone too early");
    // The machine may stop once.
    assert!(waits[waits.len() - 2] < Duration::from_secs(5), "{waits:?}");
    running.signal("TERM");
    assert_eq!(running.end().code(), Some(0));
}

/// How long each of a dozen messages takes, of those that were delivered while much of the backlog was left.
fn waits_beside_the_backlog(operator: &Operator) -> Vec<Duration> {
    let mut waits = Vec::new();
    for number in 20_000..20_012 {
        hand_in(operator, "trickle", number..number + 1);
        let begun = Instant::now();
        while distinct(&delivered(operator), number..number + 1) == 0 {
            assert!(begun.elapsed() < Duration::from_secs(20), "{number} was not delivered");
            std::thread::sleep(Duration::from_millis(10));
        }
        let took = begun.elapsed();
        let left = 10_000 - distinct(&delivered(operator), 0..10_000);
        if left <= 100 {
            break;
        }
        waits.push(took);
    }
    waits
}

#[tokio::test(flavor = "multi_thread")]
async fn a_relay_that_is_killed_loses_nothing_in_any_database() {
    let test = "a_relay_that_is_killed_loses_nothing_in_any_database";
    let Some(scratches) = on_different_servers(test).await else { return };
    let operator = Operator::new();
    let named = ["a", "b"].iter().zip(&scratches).map(|(name, scratch)| section(name, &scratch.url(), ""));
    configure(&operator, &named.collect::<String>());
    operator.run(&["schema", "apply"]).succeeded();
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
    within("all are delivered", Duration::from_secs(150), || all() == 1_200);
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
