//! Promise: a relay logs one line for each queue and none for each message

use std::process::Stdio;

use sea_orm::{ConnectionTrait, Database, DbBackend, Statement};

use crate::{
    operator::{Ended, Operator, Running, eventually, example, id, request},
    server::Server,
};

#[test]
fn delivers_until_nothing_is_left() {
    let operator = Operator::with_database();
    let lines: String = (0..120).map(|number| request(number, "\"email\",\"sms\"") + "\n").collect();
    operator.run_with(&["notify", "-"], lines.as_bytes()).succeeded();
    let relayed = operator.deliver(&["--set", "channels.default.show_content=true"]);
    assert!(
        relayed.err.contains("strategy auto") && relayed.err.contains("preemptive_update"),
        "{relayed:?}"
    );
    assert_eq!(relayed.succeeded(), "");
    let mut bodies: Vec<String> = operator.lines("out.jsonl");
    assert_eq!(bodies.len(), 240);
    bodies.retain(|line| line.contains("\"b7\""));
    assert_eq!(bodies.len(), 2);
    assert_eq!(operator.run(&["status"]).succeeded(), "all queues are empty\n");
    let shown = operator.run(&["show", &id(7)]).succeeded();
    assert!(
        shown.contains("DISPATCHED") && shown.contains("0 pending, 2 delivered, 0 skipped, 0 failed"),
        "{shown}"
    );
    operator.deliver(&[]).succeeded();
    assert_eq!(operator.lines("out.jsonl").len(), 240);
}

#[tokio::test]
async fn deletes_what_finished_messages_left_behind() {
    let operator = Operator::with_database();
    operator.run_with(&["notify", "-"], request(1, "\"email\"").as_bytes()).succeeded();
    operator.deliver(&[]).succeeded();
    let file = format!("sqlite://{}", operator.path("claimstream.db").display());
    let database = Database::connect(file).await.unwrap();
    let bodies = async || {
        let count = "SELECT count(*) FROM claimstream_message";
        let row = database.query_one_raw(Statement::from_string(DbBackend::Sqlite, count)).await.unwrap();
        row.unwrap().try_get_by_index::<i64>(0).unwrap()
    };
    assert_eq!(bodies().await, 2);
    let older = "UPDATE claimstream_message SET created_at = created_at - 7200000000";
    database.execute_unprepared(older).await.unwrap();
    operator.deliver(&[]).succeeded();
    assert_eq!(bodies().await, 2);
    operator.deliver(&["--set", "database.retention=keep 1h"]).succeeded();
    assert_eq!(bodies().await, 0);
    operator.run_with(&["notify", "-"], request(2, "\"email\"").as_bytes()).succeeded();
    operator.deliver(&["--set", "database.retention=delete"]).succeeded();
    assert_eq!(bodies().await, 0, "both were finished by this relay");
}

#[test]
fn resolves_users_segments_and_templates() {
    let operator = Operator::with_database();
    operator.run(&["notify", &example("requests.jsonl")]).succeeded();
    let directory = format!("notifications.directory={}", example("directory.json"));
    let templates = format!("notifications.templates={}", example("templates.json"));
    operator.deliver(&["--set", &directory, "--set", &templates]).succeeded();
    let status = operator.run(&["status", "--json"]).succeeded();
    let status: serde_json::Value = serde_json::from_str(&status).unwrap();
    let free = status["queues"].as_array().unwrap().iter().all(|queue| queue["leased"] == 0);
    // Delayed requests of the file may have become due since.
    assert!(free, "{status}");
    assert!(operator.lines("out.jsonl").len() > 500);
    assert_eq!(operator.run(&["dead", "list", "--json"]).succeeded(), "{\"items\":[],\"next\":null}\n");
}

#[test]
fn posts_to_a_gateway_and_signs() {
    let server = Server::answering(200);
    let operator = Operator::with_database();
    operator.run_with(&["notify", "-"], request(1, "\"sms\"").as_bytes()).succeeded();
    operator.write(
        "claimstream.toml",
        format!(
            "[channels.sms]\nprovider = 'webhook'\nurl = 'http://{}/gate'\nsecret = 'key'\nproxy = false\n",
            server.address()
        ),
    );
    operator.run(&["relay", "--until-empty"]).succeeded();
    let posted = server.received();
    assert!(posted.starts_with("POST /gate") && posted.contains("x-claimstream-signature: v1="), "{posted}");
    assert!(operator.run(&["show", &id(1)]).succeeded().contains("DELIVERED"));
}

#[test]
fn refuses_to_run_without_a_provider_or_with_one_that_cannot_work() {
    let operator = Operator::with_database();
    let relay = |settings: &[&str]| {
        let settings: Vec<&str> = settings.iter().flat_map(|setting| ["--set", setting]).collect();
        operator.run(&[&["relay"][..], &settings].concat()).failed(2)
    };
    assert!(relay(&[]).contains("--set channels.default.provider=log"));
    assert!(relay(&["channels.sms.provider=webhook"]).contains("set channels.sms.url"));
    let missing = relay(&["channels.webhook.provider=webhook", "channels.webhook.secret_env=NO_SUCH"]);
    assert!(missing.contains("`channels.webhook.secret`: the variable NO_SUCH is not set"), "{missing}");
    let missing = relay(&["channels.default.provider=log", "notifications.templates=no.json"]);
    assert!(missing.contains("`notifications.templates`: the file no.json cannot be read"), "{missing}");
    let refused = operator.run(&["relay", "--strategy", "skip_locked"]).failed(1);
    assert!(refused.contains("use strategy preemptive_update or auto"), "{refused}");
}

#[test]
fn the_setting_that_a_refusal_names_is_one_that_works() {
    let operator = Operator::with_database();
    let refused = operator.run(&["relay"]).failed(2);
    let setting = refused.split("--set ").nth(1).and_then(|rest| rest.split_whitespace().next()).unwrap();
    operator.run_with(&["notify", "-"], request(1, "\"email\"").as_bytes()).succeeded();
    let out = operator.run(&["relay", "--until-empty", "--set", setting]).succeeded();
    assert_eq!(out.lines().count(), 1, "{out}");
}

#[cfg(unix)]
#[test]
fn ends_in_order_at_a_signal() {
    for signal in ["TERM", "INT"] {
        let operator = Operator::with_database();
        let (mut running, log) = start(&operator, &["--set", "channels.default.provider=log"]);
        eventually("the relay has started", || {
            operator.lines(log).iter().any(|line| line.contains("relay started"))
        });
        operator.run_with(&["notify", "-"], request(1, "\"email\"").as_bytes()).succeeded();
        eventually("the message is delivered", || {
            operator.run(&["show", &id(1)]).out.contains("1 delivered")
        });
        running.signal(signal);
        assert_eq!(running.end().code(), Some(0));
        assert!(operator.lines(log).iter().any(|line| line.contains("relay stopped")));
    }
}

#[cfg(unix)]
#[test]
fn stops_at_once_at_a_second_signal() {
    let server = Server::silent();
    let operator = Operator::with_database();
    operator.run_with(&["notify", "-"], request(1, "\"sms\"").as_bytes()).succeeded();
    let url = format!("channels.sms.url=http://{}/", server.address());
    let settings =
        ["--set", "channels.sms.provider=webhook", "--set", &url, "--set", "channels.sms.proxy=false"];
    let (mut running, log) =
        start(&operator, &[&settings[..], &["--set", "channels.sms.timeout=1h"]].concat());
    eventually("a delivery is under way", || server.received().contains("POST"));
    running.signal("INT");
    eventually("it has received the signal", || {
        operator.lines(log).iter().any(|line| line.contains("a second signal"))
    });
    assert_eq!(running.0.try_wait().unwrap(), None, "it waits for the delivery");
    running.signal("INT");
    assert_eq!(running.end().code(), Some(130));
    let leased = operator.run(&["status"]).succeeded();
    assert!(leased.contains("notification-messages"), "{leased}");
}

/// A relay that runs until it is stopped, and the file it logs to.
fn start(operator: &Operator, arguments: &[&str]) -> (Running, &'static str) {
    let log = std::fs::File::create(operator.path("log")).unwrap();
    let mut command = operator.command(&[&["relay"][..], arguments].concat());
    (Running(command.stdout(Stdio::null()).stderr(log).spawn().unwrap()), "log")
}

#[test]
fn logs_a_line_for_each_queue_and_not_for_each_message() {
    let operator = Operator::with_database();
    let lines: String = (1..=20).map(|number| request(number, "\"email\"") + "\n").collect();
    operator.run_with(&["notify", "-"], lines.as_bytes()).succeeded();
    let ended = operator.deliver(&["--log-format", "json"]);
    let events: Vec<serde_json::Value> =
        ended.err.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(!ended.err.contains("notification.message") && events.len() < 20, "{}", ended.err);
    let summed = |queue: &str, field: &str| -> u64 {
        let of_queue = events.iter().filter(|it| it["message"] == "relay at work" && it["queue"] == queue);
        of_queue.map(|event| event[field].as_u64().unwrap()).sum()
    };
    for queue in ["notification-requests", "notification-messages"] {
        assert_eq!((summed(queue, "claimed"), summed(queue, "done")), (20, 20), "{}", ended.err);
    }
    let ended = |pipelines: &str| {
        events.iter().find(|it| it["message"] == "pipelines ended" && it["pipelines"] == pipelines).unwrap()["acked"].clone()
    };
    assert_eq!((ended("requests"), ended("messages")), (20.into(), 20.into()));
    operator.run_with(&["notify", "-"], request(21, "\"email\"").as_bytes()).succeeded();
    let all = operator.deliver(&["--log-format", "json", "--log-level", "debug"]).err;
    assert!(all.contains("notification.message.delivered"), "{all}");
}

#[test]
fn logs_json_lines_for_programs() {
    let operator = Operator::with_database();
    let Ended { code, err, .. } = operator.deliver(&["--log-format", "json"]);
    assert_eq!(code, Some(0), "{err}");
    for line in err.lines() {
        let event: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(event["level"].is_string() && event["message"].is_string(), "{line}");
    }
    assert!(err.contains("\"message\":\"relay started\""), "{err}");
    assert!(!err.contains("Report {") && !err.contains("Some("), "no Rust stands in a field: {err}");
    assert_eq!(operator.deliver(&["--log-level", "off"]).err, "");
}
