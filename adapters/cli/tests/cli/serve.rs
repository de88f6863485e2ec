//! Promise: a key is one notification: repeated, concurrent, at several servers, with another body (A1.8);
//! recipients and channels are counted (A1.6)

use std::{
    process::Stdio,
    sync::{Arc, Barrier},
};

use serde_json::{Value, json};

use crate::{
    database_server::{Scratch, servers},
    operator::{Operator, Running, eventually},
    web_client::{Answer, WebClient},
};

/// A server that runs, with or without a relay, and its log.
pub(crate) struct Served {
    pub(crate) running: Running,
    pub(crate) client: WebClient,
}

pub(crate) const LOG: &str = "log";

pub(crate) fn start(operator: &Operator, arguments: &[&str]) -> Served {
    let log = std::fs::File::create(operator.path(LOG)).unwrap();
    let usual = ["--log-format", "json", "--set", "serve.listen=127.0.0.1:0"];
    let mut command = operator.command(&[&["serve"][..], arguments, &usual].concat());
    let running = Running(command.stdout(Stdio::null()).stderr(log).spawn().unwrap());
    let mut address = None;
    eventually("the server has started", || {
        let lines = operator.lines(LOG);
        let events = lines.iter().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        address = events.filter_map(|event| event["address"].as_str()?.parse().ok()).next();
        address.is_some()
    });
    Served { running, client: WebClient { address: address.unwrap(), token: None } }
}

pub(crate) const OPEN: [&str; 2] = ["--set", "serve.anonymous=true"];
pub(crate) const RELAY: [&str; 5] =
    ["--relay", "--set", "channels.default.provider=log", "--set", "channels.default.file=out.jsonl"];

fn body(title: &str) -> Value {
    json!({
        "requester": {"type": "service", "id": "shop"}, "recipients": [{"email": "ann@example.com"}],
        "channels": ["email"], "content": {"title": title},
    })
}

pub(crate) fn path(answer: &Answer) -> String {
    format!("/v1/notifications/{}", answer.body["id"].as_str().unwrap())
}

/// Plays a scenario on a file and on every server that is here.
pub(crate) async fn on_every_store(test: &str, scenario: impl Fn(&Operator)) {
    scenario(&Operator::with_database());
    for (_, url) in servers(test) {
        let scratch = Scratch::on(url).await;
        let operator = Operator::at(&scratch.url());
        operator.run(&["schema", "apply", "--for", "notifications,steps"]).succeeded();
        scenario(&operator);
    }
}

#[tokio::test]
async fn a1_6_two_users_and_two_addresses_on_two_channels_are_eight_combinations() {
    on_every_store("a1_6", |operator| {
        let directory = json!({"users": [
            {"user": "u-1", "email": "one@example.com", "device_token": "d-1"},
            {"user": "u-2", "email": "two@example.com", "device_token": "d-2"},
        ], "segments": {}});
        operator.write("directory.json", directory.to_string());
        let directory = ["--set", "notifications.directory=directory.json"];
        let served = start(operator, &[&RELAY[..], &OPEN, &directory].concat());
        let request = json!({
            "requester": {"type": "service", "id": "shop"},
            "recipients": [{"user": "u-1"}, {"user": "u-2"}, {"email": "ann@example.com"}, {"device_token": "d-3"}],
            "channels": ["email", "push"], "content": {"title": "Paid"},
        });
        let sent = served.client.send("a1.6", &request);
        assert_eq!(sent.status, 201, "{sent:?}");
        eventually("everything is delivered", || served.client.get(&path(&sent)).body["delivered"] == 6);
        let shown = served.client.get(&path(&sent)).body;
        assert_eq!((&shown["status"], &shown["total"], &shown["skipped"]), (&json!("DISPATCHED"), &json!(8), &json!(2)));
        let messages = served.client.get(&format!("{}/messages", path(&sent))).body;
        let of = |status: &str| {
            let all = messages["messages"].as_array().unwrap().iter();
            all.filter(|message| message["status"] == status).count()
        };
        assert_eq!((of("DELIVERED"), of("SKIPPED")), (6, 2));
        assert_eq!(operator.lines("out.jsonl").len(), 6);
    })
    .await;
}

#[tokio::test]
async fn a1_8_one_key_is_one_notification_however_often_and_concurrently_it_is_sent() {
    on_every_store("a1_8", |operator| {
        let served = [start(operator, &OPEN), start(operator, &OPEN)];
        let refused = served[0].client.send("a1.8", &json!({}));
        assert_eq!(refused.status, 400, "{refused:?}");
        let first = served[0].client.send("a1.8", &body("a"));
        assert_eq!(first.status, 201, "a refused call may be mended: {first:?}");
        let again = served[1].client.send("a1.8", &body("a"));
        assert_eq!((again.status, &again.body), (200, &first.body));
        assert!(again.head.contains("idempotent-replayed: true"), "{again:?}");
        assert_eq!(served[0].client.send("a1.8", &body("b")).status, 422);
        for round in 0..10 {
            let answers = concurrently(&served, &format!("a1.8/{round}"));
            let created = answers.iter().filter(|answer| answer.status == 201).count();
            assert_eq!(created, 1, "{answers:?}");
            assert!(answers.iter().all(|answer| [200, 201, 409].contains(&answer.status)), "{answers:?}");
            assert_eq!(served[1].client.send(&format!("a1.8/{round}"), &body("a")).status, 200);
        }
        let mut listed = served[0].client.get("/v1/notifications?limit=500").body;
        assert_eq!(listed["notifications"].as_array_mut().unwrap().len(), 11);
    })
    .await;
}

/// The answers to the same call by eight clients at the same time, four at each server.
fn concurrently(served: &[Served; 2], key: &str) -> Vec<Answer> {
    let together = Arc::new(Barrier::new(8));
    let calls = (0..8).map(|n| {
        let (client, together, key) = (served[n % 2].client.clone(), Arc::clone(&together), key.to_owned());
        std::thread::spawn(move || {
            together.wait();
            client.send(&key, &body("a"))
        })
    });
    let calls: Vec<_> = calls.collect();
    calls.into_iter().map(|call| call.join().unwrap()).collect()
}

#[test]
fn a_notification_is_on_its_way_before_the_relay_looks_by_itself() {
    let operator = Operator::with_database();
    let slow = ["--set", "relay.idle_min=10m", "--set", "relay.idle_max=10m"];
    let served = start(&operator, &[&RELAY[..], &OPEN, &slow].concat());
    for n in 0..3 {
        let sent = served.client.send(&n.to_string(), &body("a"));
        eventually("it is delivered", || served.client.get(&path(&sent)).body["delivered"] == 1);
    }
}

#[test]
fn a_notification_that_has_not_begun_is_called_off() {
    let operator = Operator::with_database();
    let served = start(&operator, &OPEN);
    let sent = served.client.send("1", &body("a"));
    let cancel = || served.client.call("POST", &format!("{}/cancel", path(&sent)), None, "").unwrap();
    assert_eq!((cancel().status, cancel().status), (200, 200));
    assert_eq!(served.client.get(&path(&sent)).body["status"], "CANCELLED");
    let listed = served.client.get("/v1/notifications?status=CANCELLED").body;
    assert_eq!(listed["notifications"][0]["id"], sent.body["id"]);
    assert_eq!(operator.deliver(&[]).succeeded(), "");
    assert_eq!(operator.lines("out.jsonl").len(), 0);
}

#[test]
fn tokens_come_from_a_file_and_neither_they_nor_contents_are_logged() {
    let operator = Operator::with_database().set("SHOP_TOKEN", "a-token-of-the-shop-itself");
    operator.write("tokens", "# callers\nshop send env:SHOP_TOKEN\n");
    let serve = ["--set", "serve.tokens_file=tokens", "--log-level", "trace"];
    let mut served = start(&operator, &[&RELAY[..], &serve].concat());
    assert_eq!(served.client.send("1", &body("a")).status, 401);
    served.client.token = Some("a-token-of-the-shop-itself".into());
    let sent = served.client.send("order-7", &body("a secret matter"));
    assert_eq!(sent.status, 201);
    assert_eq!(served.client.get(&path(&sent)).status, 403);
    eventually("it is delivered", || operator.lines("out.jsonl").len() == 1);
    served.running.signal("TERM");
    served.running.end();
    let log = operator.lines(LOG).join("\n");
    assert!(log.contains("shop (send)") && log.contains(sent.body["id"].as_str().unwrap()), "{log}");
    for secret in ["a-token", "secret matter", "ann@example.com"] {
        assert!(!log.contains(secret), "{secret} is logged");
    }
}

#[test]
fn ends_in_order_at_a_signal_and_what_was_answered_is_there() {
    for arguments in [&OPEN[..], &[&OPEN[..], &RELAY].concat()] {
        let operator = Operator::with_database();
        let mut served = start(&operator, arguments);
        let sent = served.client.send("1", &body("a"));
        served.running.signal("TERM");
        assert_eq!(served.running.end().code(), Some(0));
        assert!(served.client.call("GET", "/healthz", None, "").is_err());
        let shown = operator.run(&["show", sent.body["id"].as_str().unwrap()]).succeeded();
        assert!(shown.contains("request"), "{shown}");
        assert!(operator.lines(LOG).iter().any(|line| line.contains("server stopped")));
    }
}

#[test]
fn refuses_to_start_without_callers_or_an_address_of_its_own() {
    let operator = Operator::with_database();
    let refused = operator.run(&["serve"]).failed(2);
    assert!(
        refused.contains("`serve.tokens`: is not set") && refused.contains("serve.anonymous=true"),
        "{refused}"
    );
    let refused = operator
        .run(&["serve", "--set", "serve.anonymous=true", "--set", "serve.listen=0.0.0.0:0"])
        .failed(2);
    assert!(refused.contains("others than this machine"), "{refused}");
    let refused = operator.run(&["serve", "--set", "serve.tokens=shop send hunter2"]).failed(2);
    assert!(
        refused.contains("token 1: shop: the token is given as") && !refused.contains("hunter2"),
        "{refused}"
    );
    let served = start(&operator, &OPEN);
    let listen = format!("serve.listen={}", served.client.address);
    let refused = operator.run(&["serve", "--set", "serve.anonymous=true", "--set", &listen]).failed(1);
    assert!(refused.contains("`serve.listen`") && refused.contains("cannot be listened at"), "{refused}");
    let refused = operator.run(&["serve", "--relay", "--set", "serve.anonymous=true"]).failed(2);
    assert!(refused.contains("channels.default.provider=log"), "{refused}");
}

#[test]
fn doctor_says_what_is_configured() {
    let operator = Operator::with_database();
    let hash = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
    let tokens = format!("serve.tokens=shop send,read sha256:{hash}");
    let found = operator.run(&["doctor", "--set", &tokens, "--set", "serve.listen=0.0.0.0:80"]).out;
    assert!(found.contains("0.0.0.0:80, callers shop (send, read); put a proxy"), "{found}");
    let found = operator.run(&["doctor", "--set", "serve.anonymous=true"]).out;
    assert!(found.contains("every user of this machine may do everything"), "{found}");
    let found = operator.run(&["doctor", "--set", "serve.tokens_file=none"]);
    assert!(found.code == Some(1) && found.out.contains("the file none cannot be read"), "{found:?}");
    assert!(!operator.run(&["doctor"]).out.contains("callers"));
}
