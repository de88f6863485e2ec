//! Promise: databases are added, drained and removed while a relay works on the others

use std::process::Stdio;

use super::{configure, delivered, distinct, hand_in, section, with_databases};
use crate::operator::{Operator, Running, eventually};

const LOG: &str = "log";

fn start(operator: &Operator, more: &[&str]) -> Running {
    let log = std::fs::File::create(operator.path(LOG)).unwrap();
    let mut command = operator.command(&[&["relay"][..], more].concat());
    Running(command.stdout(Stdio::null()).stderr(log).spawn().unwrap())
}

fn logged(operator: &Operator, what: &str) -> usize {
    operator.lines(LOG).iter().filter(|line| line.contains(what)).count()
}

#[test]
fn a_database_comes_and_another_goes_while_the_relay_runs() {
    let operator = with_databases(&["billing", "orders", "returns"]);
    let url = |name: &str, more: &str| section(name, &format!("sqlite://{name}.db"), more);
    configure(&operator, &(url("billing", "") + &url("orders", "")));
    let mut running = start(&operator, &[]);
    eventually("both relays have started", || logged(&operator, "relay started") == 2);
    hand_in(&operator, "orders", 0..60);

    // One more database, and one that is to be emptied.
    configure(&operator, &(url("billing", "drain = true") + &url("orders", "") + &url("returns", "")));
    running.signal("HUP");
    eventually("the third relay has started", || logged(&operator, "relay started") == 3);
    hand_in(&operator, "returns", 200..230);
    hand_in(&operator, "orders", 60..90);
    eventually("billing is said to be empty", || {
        logged(&operator, "the database is empty; it can be taken out") == 1
    });

    // One is gone; the others go on.
    configure(&operator, &(url("orders", "") + &url("returns", "")));
    running.signal("HUP");
    eventually("its relay has ended", || {
        let ended = |line: &String| line.contains("pipelines ended") && line.contains("billing");
        operator.lines(LOG).iter().any(ended)
    });
    hand_in(&operator, "orders", 90..120);
    let all = || distinct(&delivered(&operator), 0..400);
    eventually("everything was delivered", || all() == 120 + 30);

    // What cannot be read changes nothing.
    operator.write("claimstream.toml", "[databases.orders]\nurl = 'nothing'\n");
    running.signal("HUP");
    eventually("the fault is logged", || logged(&operator, "the configuration was not taken") == 1);
    assert_eq!(logged(&operator, "relay started"), 3, "no other relay was begun again");
    running.signal("TERM");
    assert_eq!(running.end().code(), Some(0));
    let numbers = delivered(&operator);
    assert_eq!(numbers.len(), 150, "nothing was delivered twice");
}

#[test]
fn a_database_that_comes_late_is_relayed_from_when_it_is_there() {
    let operator = with_databases(&["orders"]);
    let sections = section("orders", "sqlite://orders.db", "")
        + &section("late", "sqlite://late.db", "create_schema = false");
    configure(&operator, &sections);
    let mut running = start(&operator, &[]);
    eventually("one relay has started, and the other waits", || {
        logged(&operator, "relay started") == 1
            && logged(&operator, "cannot be opened and is tried again") == 1
    });
    hand_in(&operator, "orders", 0..20);
    eventually("the one delivers", || distinct(&delivered(&operator), 0..20) == 20);
    operator.run(&["schema", "apply", "--for", "notifications,steps", "--database", "late"]).succeeded();
    hand_in(&operator, "late", 100..110);
    eventually("the other delivers too", || distinct(&delivered(&operator), 100..110) == 10);
    running.signal("TERM");
    assert_eq!(running.end().code(), Some(0));
}
