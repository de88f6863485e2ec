use std::{fs::File, process::Stdio};

use claimstream_testbed::{PrivateDatabase, Server as Testbed};

use crate::{
    database_server::{Scratch, servers},
    operator::{Operator, Running, eventually, id, request},
};

const DEAF: &str = "relays look by themselves, every relay.idle_max at least";

/// A relay that is woken by the binary log and would look by itself in an hour, and the file it logs to.
fn start(operator: &Operator) -> (Running, &'static str) {
    let log = File::create(operator.path("log")).unwrap();
    let mut command = operator.command(&["relay"]);
    (Running(command.stdout(Stdio::null()).stderr(log).spawn().unwrap()), "log")
}

fn operator(url: &str) -> Operator {
    let operator = Operator::at(url);
    operator.write(
        "claimstream.toml",
        "[relay]\nwakeup = 'binlog'\nidle_min = '1h'\nidle_max = '1h'\n\
         [channels.default]\nprovider = 'log'\nfile = 'out.jsonl'\n",
    );
    operator
}

#[tokio::test]
async fn a_relay_on_a_server_with_a_binary_log_delivers_at_once_what_another_process_takes_in() {
    for (server, _) in servers("a_relay_on_a_server_with_a_binary_log_delivers_at_once") {
        let testbed = Testbed::ALL.into_iter().find(|known| known.name == server.name()).unwrap();
        let database = PrivateDatabase::start(testbed, "--server-id=1 --log-bin=binlog");
        let operator = operator(database.url());
        operator.run(&["schema", "apply", "--for", "notifications,steps"]).succeeded();
        let doctor = operator.run(&["doctor"]).succeeded();
        assert!(
            doctor.contains("ok    wakeup                 the binary log is read at binlog.0"),
            "{doctor}"
        );
        let (_relay, log) = start(&operator);
        eventually("the relay reads the log", || {
            operator.lines(log).iter().any(|line| line.contains("the binary log wakes relays"))
        });
        // The relay's own first look may find the first of them.
        for number in 1..=4 {
            operator.run_with(&["notify", "-"], request(number, "\"email\"").as_bytes()).succeeded();
            eventually("it is delivered long before the hour is over", || {
                operator.run(&["show", &id(number)]).out.contains("1 delivered")
            });
        }
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_server_without_a_binary_log_is_warned_of_once() {
    for (_, url) in servers("a_server_without_a_binary_log_is_warned_of_once") {
        let scratch = Scratch::on(url).await;
        let operator = operator(&scratch.url());
        operator.run(&["schema", "apply", "--for", "notifications,steps"]).succeeded();
        let doctor = operator.run(&["doctor"]).succeeded();
        assert!(doctor.contains("the server writes no binary log; start it with log_bin"), "{doctor}");
        operator.run_with(&["notify", "-"], request(1, "\"email\"").as_bytes()).succeeded();
        let (mut relay, log) = start(&operator);
        eventually("the relay has a warning", || {
            operator.lines(log).iter().any(|line| line.contains(DEAF) && line.contains("log_bin"))
        });
        eventually("its pipelines work", || operator.run(&["show", &id(1)]).out.contains("1 delivered"));
        relay.signal("TERM");
        assert_eq!(relay.end().code(), Some(0));
        let warnings = operator.lines(log).iter().filter(|line| line.contains(DEAF)).count();
        assert_eq!(warnings, 1, "{:?}", operator.lines(log));
    }
}

#[test]
fn sqlite_has_no_binary_log_and_delivers_by_looking() {
    let operator = Operator::with_database();
    operator.run_with(&["notify", "-"], request(1, "\"email\"").as_bytes()).succeeded();
    let ended = operator.deliver(&["--set", "relay.wakeup=binlog"]);
    assert_eq!(ended.err.matches("SQLite has no binary log").count(), 1, "{ended:?}");
    ended.succeeded();
    assert_eq!(operator.lines("out.jsonl").len(), 1);
    let doctor = operator.run(&["doctor", "--set", "relay.wakeup=binlog"]).succeeded();
    assert!(doctor.contains("warn  wakeup                 SQLite has no binary log"), "{doctor}");
    assert!(!operator.run(&["doctor"]).succeeded().contains("binary log"));
}
