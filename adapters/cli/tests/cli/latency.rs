//! What the program promises in seconds. These tests need a machine that does nothing else, and run when they are asked for.
//! Promise: an open transaction blocks writers for a second at a time while shards multiply

use std::{
    io::{BufRead, BufReader},
    net::TcpListener,
    process::Stdio,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};

use crate::{
    database_server::servers,
    operator::{Operator, Running, eventually},
    providers::submit,
    resharding::orders::{message, place},
    server::{Server, free_address},
};

/// With time for the start of a process.
const PROMPTLY: Duration = Duration::from_secs(4);

/// The best and the median of five runs of a command that fails.
fn times(what: &str, operator: &Operator, command: &[&str]) -> Duration {
    let mut times = Vec::new();
    for _ in 0..5 {
        let began = Instant::now();
        operator.run(command).failed(1);
        times.push(began.elapsed());
    }
    times.sort();
    println!("{what}: p50 {:?}, best {:?}", times[2], times[0]);
    times[0]
}

/// About 1.2 s; an idle pool would ask for ten.
#[test]
#[ignore = "long: latency"]
fn a_server_that_refuses_is_named_within_seconds() {
    let url = format!("mysql://me:secret@127.0.0.1:{}/shop", free_address().port());
    let operator = Operator::new().set("CLAIMSTREAM_DATABASE__URL", &url);
    assert!(times("a refused connection", &operator, &["status"]) < PROMPTLY);
}

/// The pool alone would take twelve seconds.
#[test]
#[ignore = "long: latency"]
fn a_server_that_is_silent_is_named_within_two_seconds() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("mysql://me:secret@127.0.0.1:{}/shop", silent.local_addr().unwrap().port());
    let operator = Operator::new().set("CLAIMSTREAM_DATABASE__URL", &url);
    for command in [&["status"][..], &["schema", "plan"], &["notify", "-"]] {
        assert!(times(&format!("{command:?} on a silent server"), &operator, command) < PROMPTLY);
    }
    let waits = ["status", "--set", "database.acquire_timeout=3s"];
    assert!(times("a server that may be silent for 3 s", &operator, &waits).as_secs() >= 3);
}

#[test]
#[ignore = "long: latency"]
fn a_wrong_password_is_said_at_once() {
    for (server, url) in servers("a_wrong_password_is_said_at_once") {
        let operator = Operator::new().set("CLAIMSTREAM_DATABASE__URL", &url);
        let wrong = ["status", "--set", "database.password=wrong-hunter2"];
        assert!(times(server.name(), &operator, &wrong) < PROMPTLY);
    }
}

/// The writers during a cut that an open transaction holds up are held up for a second at a time.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: latency"]
async fn a_cut_that_waits_holds_writers_up_for_a_second_at_a_time() {
    for (server, url) in servers("a_cut_that_waits_holds_writers_up_for_a_second_at_a_time") {
        let place = place(Some(url)).await;
        let operator = Operator::new().set("CLAIMSTREAM_DATABASE__URL", &place.url());
        operator.run(&["schema", "apply", "--for", "notifications,steps", "--shards", "16"]).succeeded();
        let outbox = SeaOrmOutbox::open(&place.url(), OpenOptions::default()).await.unwrap();
        let open = outbox.begin().await.unwrap();
        outbox.enqueue_on(&open, &[message("customer-1", 1)]).await.unwrap();
        let mut command = operator.command(&["schema", "reshard", "64", "--yes"]);
        let mut command = Running(command.stdout(Stdio::piped()).spawn().unwrap());
        let mut said = BufReader::new(command.0.stdout.take().unwrap()).lines();
        assert!(said.any(|line| line.unwrap().starts_with("try 1: a transaction")), "it waits");
        let mut took = Vec::new();
        for number in 1..=60 {
            let began = Instant::now();
            outbox.enqueue_now(&[message("customer-2", number)]).await.unwrap();
            took.push(began.elapsed());
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        took.sort();
        println!("{}: an enqueue during the cut takes {:?}, {:?} at most", server.name(), took[29], took[59]);
        // Five or more of them are held up.
        assert!(took[57] < Duration::from_millis(2_500), "{took:?}");
        outbox.commit(open).await.unwrap();
        said.for_each(|line| drop(line.unwrap()));
        assert!(command.end().success());
    }
}

/// Messages a second, and how many a process takes at a time.
const RATE: f64 = 60.0;
const BLOCK: f64 = 6.0;

#[test]
#[ignore = "long: latency"]
fn four_processes_share_a_rate_and_hold_it_within_five_percent() {
    let times = Arc::<Mutex<Vec<Instant>>>::default();
    let noted = Arc::clone(&times);
    let server = Server::telling(move |_| {
        noted.lock().unwrap().push(Instant::now());
        Some((200, "{}".into()))
    });
    let operator = Operator::with_database();
    operator.write(
        "claimstream.toml",
        format!(
            "[relay]\nidle_max = \"50ms\"\n[channels.sms]\nprovider = \"webhook\"\nproxy = false\nrate = \"60/s\"\nurl = \
             \"http://{}/\"\n",
            server.address()
        ),
    );
    submit(&operator, 0..480);
    let lateness = Lateness::watch();
    let relays: Vec<_> = (0..4)
        .map(|_| Running(operator.command(&["relay"]).stderr(Stdio::null()).spawn().unwrap()))
        .collect();
    eventually("everything is delivered", || times.lock().unwrap().len() == 480);
    drop(relays);
    let mut times = times.lock().unwrap().clone();
    times.sort();
    keeps_the_rate(&times, &lateness);
}

/// A stop in the middle lengthens the whole. Only one before the first is noted shortens it, so that one is added, and so are the
/// stops that have messages arrive together in a window.
fn keeps_the_rate(times: &[Instant], lateness: &Lateness) {
    let (first, second) = (times[0], Duration::from_secs(1));
    let whole = times[479] - first + lateness.between(first - second, first + second);
    // The first block is there from the beginning.
    let rate = (480.0 - BLOCK) / whole.as_secs_f64();
    println!("rate of four processes: {rate:.1}/s of {RATE}/s, 480 messages in {whole:?}");
    assert!(rate <= RATE * 1.05, "{rate:.1}/s is more than {RATE}/s");
    for (at, since) in times.iter().enumerate() {
        let within = times[at..].iter().take_while(|one| **one < *since + 2 * second).count();
        let late = lateness.between(*since - second, *since + 2 * second);
        let most = 2.0 * RATE * 1.05 + BLOCK + RATE * late.as_secs_f64();
        assert!(within as f64 <= most, "{within} in 2 s, at most {most:.1} with {late:?} of lateness");
    }
}

/// How late this process was, looked at every 10 ms.
struct Lateness {
    noted: Arc<Mutex<Vec<(Instant, Duration)>>>,
}

impl Lateness {
    /// Watches until it is dropped.
    fn watch() -> Self {
        let noted = Arc::<Mutex<Vec<_>>>::default();
        let watched = Arc::downgrade(&noted);
        std::thread::spawn(move || {
            const EVERY: Duration = Duration::from_millis(10);
            while let Some(noted) = watched.upgrade() {
                let began = Instant::now();
                std::thread::sleep(EVERY);
                let took = began.elapsed();
                noted.lock().unwrap().push((began + took, took.saturating_sub(EVERY)));
            }
        });
        Self { noted }
    }

    fn between(&self, from: Instant, to: Instant) -> Duration {
        let noted = self.noted.lock().unwrap();
        noted.iter().filter(|(at, _)| (from..to).contains(at)).map(|(_, late)| *late).sum()
    }
}
