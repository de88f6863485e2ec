//! Promise: `/healthz` never asks the database; `/readyz` names everything that fails; `/metrics` shows what
//! was delivered

use std::{net::SocketAddr, process::Stdio};

use sea_orm::{ConnectionTrait, Database};
use serde_json::Value;

use crate::{
    operator::{Operator, Running, eventually, request},
    serve::LOG,
    web_client::WebClient,
};

/// A relay or a server with probes, and a client of them.
pub(crate) fn start(operator: &Operator, arguments: &[&str]) -> (Running, WebClient) {
    let log = std::fs::File::create(operator.path(LOG)).unwrap();
    let usual =
        ["--log-format", "json", "--set", "probes.listen=127.0.0.1:0", "--set", "probes.count_every=1s"];
    let channels = ["--set", "channels.default.provider=log", "--set", "channels.default.file=out.jsonl"];
    let mut command = operator.command(&[arguments, &usual, &channels].concat());
    let running = Running(command.stdout(Stdio::null()).stderr(log).spawn().unwrap());
    let mut address = None;
    eventually("the probes have started", || {
        let lines = operator.lines(LOG);
        let events = lines.iter().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        address = events.filter_map(|event| event["probes"].as_str()?.parse().ok()).next();
        address.is_some()
    });
    let client = WebClient { address: address.unwrap(), token: None };
    eventually("the database was opened", || client.call("GET", "/readyz", None, "").is_ok());
    (running, client)
}

fn healthcheck(operator: &Operator, address: SocketAddr) -> crate::operator::Ended {
    operator.run(&["healthcheck", "--set", &format!("probes.listen={address}")])
}

#[test]
fn a_relay_shows_that_it_is_ready_and_what_it_has_delivered() {
    let operator = Operator::with_database();
    let lines: String = (0..20).map(|number| request(number, "\"email\",\"sms\"") + "\n").collect();
    operator.run_with(&["notify", "-"], lines.as_bytes()).succeeded();
    let (mut running, client) = start(&operator, &["relay"]);
    assert_eq!(client.get("/healthz").status, 200);
    assert_eq!(client.get("/readyz").status, 200, "{:?}", client.get("/readyz"));
    assert_eq!(healthcheck(&operator, client.address).succeeded(), "ready\n");
    eventually("everything is delivered and counted", || {
        let metrics = client.get("/metrics");
        assert_eq!(metrics.status, 200);
        assert!(metrics.head.contains("content-type: text/plain; version=0.0.4"), "{}", metrics.head);
        [
            r#"claimstream_settled_total{queue="notification-requests",outcome="done"} 20"#,
            r#"claimstream_settled_total{queue="notification-messages",outcome="done"} 40"#,
            r#"claimstream_enqueued_total{queue="notification-messages"} 40"#,
            r#"claimstream_handle_seconds_count{queue="notification-messages",outcome="ack"} 40"#,
            concat!(r#"claimstream_build_info{version=""#, env!("CARGO_PKG_VERSION"), r#""} 1"#),
        ]
        .iter()
        .all(|line| metrics.text.lines().any(|one| one == *line))
    });
    let metrics = client.get("/metrics").text;
    for name in metrics.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()) {
        assert!(metrics.contains(&format!("# HELP {name} ")), "{name} says nothing of itself");
    }
    assert_eq!(client.get("/nothing").status, 404);
    running.signal("TERM");
    assert!(running.end().success());
    let why = healthcheck(&operator, client.address).failed(1);
    assert!(why.contains("no answer from 127.0.0.1:"), "{why}");
}

#[tokio::test]
async fn a_process_whose_database_does_not_answer_lives_and_is_not_ready() {
    let operator = Operator::with_database();
    let (_running, client) =
        start(&operator, &["serve", "--set", "serve.listen=127.0.0.1:0", "--set", "serve.anonymous=true"]);
    assert_eq!(client.get("/readyz").status, 200);
    let file = format!("sqlite://{}", operator.path("claimstream.db").display());
    let database = Database::connect(file).await.unwrap();
    let rename = "ALTER TABLE claimstream_message RENAME TO elsewhere";
    database.execute_unprepared(rename).await.unwrap();
    eventually("it is not ready", || client.get("/readyz").status == 503);
    let answer = client.get("/readyz");
    assert_eq!(answer.body["detail"], "the database does not answer");
    assert_eq!(client.get("/healthz").status, 200);
    let why = healthcheck(&operator, client.address).failed(1);
    assert!(why.contains("not ready: the database does not answer"), "{why}");
    let back = "ALTER TABLE elsewhere RENAME TO claimstream_message";
    database.execute_unprepared(back).await.unwrap();
    eventually("it is ready again", || client.get("/readyz").status == 200);
}

#[test]
fn an_address_that_is_taken_is_refused_with_its_setting() {
    let operator = Operator::with_database();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = format!("probes.listen={}", taken.local_addr().unwrap());
    let why = operator.run(&["relay", "--set", &listen]).failed(1);
    assert!(why.contains("`probes.listen`: ") && why.contains("cannot be listened at"), "{why}");
}
