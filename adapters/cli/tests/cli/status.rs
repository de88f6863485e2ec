use std::{
    io::{BufRead, BufReader},
    process::Stdio,
};

use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};
use sea_orm::ConnectionTrait;
use serde_json::Value;

use crate::operator::{Operator, Running, request};

fn with_one_request() -> Operator {
    let operator = Operator::with_database();
    operator.run_with(&["notify", "-"], request(1, "\"email\"").as_bytes()).succeeded();
    operator
}

#[test]
fn counts_what_is_in_each_queue() {
    let operator = with_one_request();
    let status = operator.run(&["status"]).succeeded();
    let lines: Vec<Vec<&str>> = status.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["QUEUE", "DEPTH", "DUE", "SCHEDULED", "RETRYING", "LEASED", "LAG", "DEAD"]);
    assert_eq!(lines[1][..6], ["notification-requests", "1", "1", "0", "0", "0"]);
    assert_eq!(lines[1].last(), Some(&"0"));
}

#[test]
fn is_json_for_programs() {
    let status: Value =
        serde_json::from_str(&with_one_request().run(&["status", "--json"]).succeeded()).unwrap();
    let queue = &status["queues"][0];
    assert_eq!(queue["queue"], "notification-requests");
    assert_eq!((&queue["depth"], &queue["dead"]), (&1.into(), &0.into()));
    assert!(queue["oldest_seconds"].as_f64().is_some());
    assert!(status["observed_at"].as_str().unwrap().ends_with('Z'));
}

#[tokio::test]
async fn names_queues_with_messages_that_no_consumer_claims() {
    let operator = with_one_request();
    let file = format!("sqlite://{}", operator.path("claimstream.db").display());
    let outbox = SeaOrmOutbox::open(&file, OpenOptions::default()).await.unwrap();
    outbox.connection().execute_unprepared("UPDATE claimstream_queue SET shard = 200").await.unwrap();
    outbox.connection().clone().close().await.unwrap();
    let status = operator.run(&["status"]).succeeded();
    let remark = "notification-requests: 1 messages lie in shards that no relay reads; see doctor";
    assert_eq!(status.lines().last(), Some(remark));
    assert!(operator.run(&["status", "--json"]).succeeded().contains("\"stray\":1"));
    let doctor = operator.run(&["doctor"]);
    assert!(
        doctor.code == Some(1) && doctor.out.contains("1 messages of queue notification-requests"),
        "{doctor:?}"
    );
}

#[test]
fn is_shown_again_and_again() {
    let operator = with_one_request();
    let mut command = operator.command(&["status", "--watch", "0.1", "--json"]);
    let mut running = Running(command.stdout(Stdio::piped()).spawn().unwrap());
    let lines = BufReader::new(running.0.stdout.take().unwrap()).lines();
    let shown: Vec<String> = lines.map(Result::unwrap).take(3).collect();
    assert!(shown.iter().all(|line| line.contains("notification-requests")), "{shown:?}");
    let growth = |line: &String| {
        serde_json::from_str::<Value>(line).unwrap()["queues"][0]["growth_per_second"].clone()
    };
    assert_eq!(shown.iter().map(growth).collect::<Vec<_>>(), [Value::Null, 0.0.into(), 0.0.into()]);
    assert!(operator.run(&["status", "--watch", "0"]).failed(2).contains("at least 0.1"));
    assert!(operator.run(&["status", "--watch", "NaN"]).failed(2).contains("at least 0.1"));
}

#[test]
fn a_watch_has_a_clock_and_says_how_fast_a_queue_grows() {
    let operator = with_one_request();
    let mut command = operator.command(&["status", "--watch", "0.1"]);
    let mut running = Running(command.stdout(Stdio::piped()).spawn().unwrap());
    let lines = BufReader::new(running.0.stdout.take().unwrap()).lines();
    let shown: Vec<String> = lines.map(Result::unwrap).take(6).collect();
    assert!(shown[0].ends_with("Z, every 0.1s") && shown[3].ends_with("Z, every 0.1s"), "{shown:?}");
    assert!(!shown[1].contains("GROWTH/S") && shown[4].contains("GROWTH/S"), "{shown:?}");
    assert!(shown[5].split_whitespace().any(|cell| cell == "+0.0"), "{shown:?}");
}

#[test]
fn finds_a_file_whose_name_the_url_has_to_encode() {
    let operator = Operator::at("sqlite://my%20shop%3F.db");
    operator.run(&["schema", "apply", "--for", "notifications,steps"]).succeeded();
    assert!(operator.path("my shop?.db").exists());
    assert_eq!(operator.run(&["status"]).succeeded(), "all queues are empty\n");
    operator.run(&["dead", "list"]).succeeded();
    operator.run(&["doctor"]).succeeded();
}

#[test]
fn a_database_without_tables_is_refused_with_what_makes_them() {
    let operator = Operator::at("sqlite://empty.db");
    operator.write("empty.db", "");
    let refused = operator.run(&["status"]).failed(1);
    assert!(refused.contains("run `claimstream schema apply`"), "{refused}");
    assert!(!refused.contains("or open with"), "the program does not make them here: {refused}");
    operator.run(&["schema", "apply", "--for", "notifications,steps"]).succeeded();
    operator.run(&["status"]).succeeded();
}
