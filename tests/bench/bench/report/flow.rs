//! The targets of what users run all day: notifications, order, a steady load.

use super::{
    book::Book,
    targets::{Ask, Target, drained, enqueued, many, notifications, ordered, steady},
};
use crate::{record::Record, scenario::sqlite};

/// Adds them for one server.
pub(super) fn add(book: &Book, server: &str, targets: &mut Vec<Target>) {
    notified(book, server, targets);
    in_order(book, server, targets);
    all_day(book, server, targets);
    enqueueing(book, server, targets);
    on_a_file(book, targets);
}

fn notified(book: &Book, server: &str, targets: &mut Vec<Target>) {
    let small = || notifications("shard_lease", 3, false);
    let statements = book.figure(server, "statements_per_message", small());
    let what = "notifications, 3 relays, requests of one recipient, statements for each";
    targets.push(Target::new(what, Ask::AtMost(1.0), statements));
    let rate = book.against_before(server, "rate", small());
    targets.push(Target::new(
        format!("notifications, the same, rate against {}", Book::BEFORE),
        Ask::AtLeast(20.0),
        rate,
    ));
    let large = notifications("shard_lease", 3, true);
    let rate = book.ratio(server, "rate", large, drained("shard_lease", 4));
    let what = "one request to many recipients, 3 relays, against draining as many messages, 4 instances";
    targets.push(Target::new(what, Ask::AtLeast(0.15), rate));
}

fn in_order(book: &Book, server: &str, targets: &mut Vec<Target>) {
    for (keys, name, ask) in [(10_000, "10,000 keys", 0.7), (200, "200 keys", 0.5)] {
        for instances in [1, 4] {
            let found = book.ratio(server, "rate", ordered(instances, keys), ordered(instances, 0));
            let what = format!("order by key, {name}, against none, {}", many(instances));
            targets.push(Target::new(what, Ask::AtLeast(ask), found));
        }
    }
    let found = book.against_before(server, "rate", ordered(1, 1));
    let what = format!("order by key, one key, 1 instance, against {}", Book::BEFORE);
    targets.push(Target::new(what, Ask::AtLeast(50.0), found));
}

fn all_day(book: &Book, server: &str, targets: &mut Vec<Target>) {
    let alone = steady("producers alone");
    let found = book.ratio(server, "server_cpu_ms_per_1000", steady("shard_lease"), alone);
    let what = "steady 5,000 / s, 4 instances: server CPU that consuming adds to that of enqueueing";
    targets.push(Target::new(what, Ask::AtMost(1.0), found.map(|all| all - 1.0)));
    for (figure, name, ask) in [("latency_p50_ms", "p50", 10.0), ("latency_p99_ms", "p99", 40.0)] {
        let found = book.figure(server, figure, steady("shard_lease"));
        targets.push(Target::new(
            format!("steady 5,000 / s, 4 instances: {name}, ms"),
            Ask::AtMost(ask),
            found,
        ));
    }
    let highest =
        |name: &'static str| move |one: &Record| one.scenario == "highest_rate" && one.contender == name;
    let found = book.ratio(server, "highest_rate", highest("shard_lease"), highest("handwritten"));
    let what = "highest steady rate of `shard_lease` against `handwritten`";
    targets.push(Target::new(what, Ask::AtLeast(0.9), found));
    let peers = |one: &Record| one.scenario == "highest_rate" && one.peer.is_some();
    let found = book.ratio(server, "highest_rate", highest("shard_lease"), peers);
    targets.push(Target::new("the same against the best other library", Ask::AtLeast(2.0), found));
    let far = |name: &'static str| {
        move |one: &Record| {
            let same = one.number("delay_ms") == Some(5.0) && one.instances == 4;
            one.scenario == "network" && one.contender == name && same
        }
    };
    let found = book.ratio(server, "rate", far("shard_lease"), far("preemptive_update"));
    let what = "`shard_lease` against `preemptive_update` at 5 ms of network, 4 instances";
    targets.push(Target::new(what, Ask::AtLeast(1.0), found));
}

/// The same whatever the server.
fn on_a_file(book: &Book, targets: &mut Vec<Target>) {
    let of = |scenario: &'static str, name: &'static str| {
        move |one: &Record| one.scenario == scenario && one.contender == name
    };
    let ours = of("drain", "preemptive_update");
    let drained = book.ratio(sqlite::NAME, "rate", ours, of("drain", "handwritten"));
    targets.push(Target::new("SQLite, drain against a queue by hand", Ask::AtLeast(0.7), drained));
    let highest = of("highest_rate", "preemptive_update");
    let held = book.ratio(sqlite::NAME, "highest_rate", highest, of("highest_rate", "handwritten"));
    let what = "SQLite, highest steady rate against a queue by hand";
    targets.push(Target::new(what, Ask::AtLeast(0.7), held));
}

fn enqueueing(book: &Book, server: &str, targets: &mut Vec<Target>) {
    for (contender, kind) in [("library", ""), ("library, begin_own", ", in a transaction of `begin_own`")] {
        for (figure, name) in [("server_cpu_ms_per_1000", "server CPU"), ("insert_p50_ms", "p50")] {
            let by_hand = enqueued("insert, two tables", 1, 1);
            let found = book.ratio(server, figure, enqueued(contender, 1, 1), by_hand);
            let what = format!("enqueue of one message{kind} against two inserts by hand, {name}");
            targets.push(Target::new(what, Ask::AtMost(1.2), found));
        }
    }
}
