//! Runs each program: it fails if anything was lost or doubled.
#![forbid(unsafe_code)]

use std::{
    process::Command,
    sync::{Mutex, PoisonError},
};

const NOTIFICATIONS: &str = env!("CARGO_BIN_EXE_notifications");
const TRANSFER: &str = env!("CARGO_BIN_EXE_transfer");
const POINTS_AND_BALANCE: &str = env!("CARGO_BIN_EXE_points_and_balance");

#[test]
#[ignore = "long: kills"]
fn three_processes_deliver_each_notification_once() {
    run(NOTIFICATIONS, &[]);
}

#[test]
#[ignore = "long: kills"]
fn notifications_survive_the_kills_of_their_relays() {
    run(NOTIFICATIONS, &["--count", "2000", "--kill-every", "2s"]);
}

#[test]
#[ignore = "long: faults"]
fn notifications_over_http_survive_an_outage_of_their_provider() {
    run(NOTIFICATIONS, &["--serve"]);
}

#[test]
#[ignore = "long: kills"]
fn transfers_survive_the_kills_of_their_workers() {
    run(TRANSFER, &["--count", "2000", "--kill-every", "500ms"]);
}

#[test]
#[ignore = "long: kills"]
fn payments_over_five_databases_survive_the_kills_of_their_workers() {
    run(POINTS_AND_BALANCE, &["--count", "2000", "--kill-every", "500ms"]);
}

/// Each has several busy processes, so they run one after the other.
static TURN: Mutex<()> = Mutex::new(());

fn run(program: &str, arguments: &[&str]) {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let ended = Command::new(program).args(arguments).status().expect("the program starts");
    assert!(ended.success(), "{program} {}: {ended}", arguments.join(" "));
}
