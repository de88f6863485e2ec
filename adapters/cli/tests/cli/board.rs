//! Promise: a board on a public address needs tokens to start

use std::process::Stdio;

use serde_json::Value;

use crate::{
    dead::with_dead_letters,
    operator::{Operator, Running, eventually, request},
    serve::{LOG, OPEN},
    web_client::WebClient,
};

const TOKENS: &str = "ann read env:ANN\nops admin env:OPS\nshop send env:SHOP\n";

/// A server with a board, and a client of the board.
fn start(operator: &Operator, arguments: &[&str]) -> (Running, WebClient) {
    let log = std::fs::File::create(operator.path(LOG)).unwrap();
    let usual = [
        "serve",
        "--board",
        "--log-format",
        "json",
        "--set",
        "serve.listen=127.0.0.1:0",
        "--set",
        "board.listen=127.0.0.1:0",
    ];
    let mut command = operator.command(&[&usual[..], &OPEN, arguments].concat());
    let running = Running(command.stdout(Stdio::null()).stderr(log).spawn().unwrap());
    let mut address = None;
    eventually("the board has started", || {
        let lines = operator.lines(LOG);
        let events = lines.iter().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        address = events.filter_map(|event| event["board"].as_str()?.parse().ok()).next();
        address.is_some()
    });
    let client = WebClient { address: address.unwrap(), token: None };
    eventually("the board answers", || client.call("GET", "/", None, "").is_ok());
    (running, client)
}

#[test]
fn shows_the_queues_of_a_database_and_stops_with_the_server() {
    let operator = Operator::with_database();
    operator.run_with(&["notify", "-"], request(1, "\"email\"").as_bytes()).succeeded();
    let (mut running, client) = start(&operator, &[]);
    let page = client.get("/");
    assert_eq!(page.status, 200);
    assert!(page.text.contains("<bdi>notification-requests</bdi>"), "{}", page.text);
    assert!(page.head.contains("content-security-policy: default-src 'none'"), "{}", page.head);
    running.signal("TERM");
    assert!(running.end().success());
    assert!(client.call("GET", "/", None, "").is_err());
}

#[test]
fn asks_for_a_token_with_the_scope_read_or_admin_and_logs_none() {
    let operator = Operator::with_database()
        .set("ANN", "a-token-of-ann-to-look-with")
        .set("OPS", "a-token-of-ops-to-change-with")
        .set("SHOP", "a-token-of-the-shop-to-send-with");
    operator.write("tokens", TOKENS);
    let tokens = ["--set", "board.tokens_file=tokens", "--log-level", "trace"];
    let (mut running, mut client) = start(&operator, &tokens);
    assert_eq!(client.get("/").status, 303);
    for (token, status) in [
        ("a-token-of-ann-to-look-with", 200),
        ("a-token-of-ops-to-change-with", 200),
        ("a-token-of-the-shop-to-send-with", 401),
        ("an-unknown-token", 401),
    ] {
        client.token = Some(token.into());
        assert_eq!(client.get("/").status, status, "{token}");
    }
    let form = [("content-type", "application/x-www-form-urlencoded"), ("sec-fetch-site", "same-origin")];
    let signed_in = client.exchange("POST", "/sign-in", &form, "token=a-token-of-ann-to-look-with").unwrap();
    assert_eq!(signed_in.status, 303);
    let word =
        signed_in.head.split("claimstream_board=").nth(1).unwrap().split(';').next().unwrap().to_owned();
    running.signal("TERM");
    running.end();
    let log = operator.lines(LOG).join("\n");
    assert!(log.contains("\"actor\":\"ann\"") && log.contains("\"action\":\"sign in\""), "{log}");
    for secret in ["a-token-of", word.as_str()] {
        assert!(!log.contains(secret), "{secret} is logged");
    }
}

#[test]
fn refuses_to_be_reached_by_other_machines_without_a_token() {
    let operator = Operator::with_database();
    let serve = |more: &[&str]| operator.run(&[&["serve", "--board"][..], &OPEN, more].concat());
    let why = serve(&["--set", "board.listen=0.0.0.0:0"]).failed(2);
    assert!(
        why.contains("`board.listen`: others than this machine reach it; set board.tokens_file"),
        "{why}"
    );
    let why = serve(&["--set", "board.tokens=ann look hunter2"]).failed(2);
    assert!(why.contains("`board.tokens`: token 1: the scope \"look\"") && !why.contains("hunter2"), "{why}");
    let why = serve(&["--set", "board.hosts=http://ops.example.com"]).failed(2);
    assert!(why.contains("`board.hosts`") && why.contains("without ports"), "{why}");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let why = serve(&["--set", &format!("board.listen={}", taken.local_addr().unwrap())]).failed(1);
    assert!(why.contains("`board.listen`: ") && why.contains("cannot be listened at"), "{why}");
}

#[test]
fn dead_letters_are_revived_from_the_browser() {
    let operator = with_dead_letters();
    let (_running, client) = start(&operator, &[]);
    let groups = client.get("/dead?queue=notification-messages");
    assert!(groups.status == 200 && groups.text.contains("Revive all of this queue"), "{}", groups.text);
    let form = [("content-type", "application/x-www-form-urlencoded"), ("sec-fetch-site", "same-origin")];
    let post = |path: &str, body: &str| client.exchange("POST", path, &form, body).unwrap();
    let foreign = [("content-type", "application/x-www-form-urlencoded"), ("sec-fetch-site", "cross-site")];
    let body = "action=revive&queue=notification-messages";
    assert_eq!(client.exchange("POST", "/dead/preview", &foreign, body).unwrap().status, 403);
    let preview = post("/dead/preview", body);
    assert!(preview.text.contains("<strong>3</strong> letters"), "{}", preview.text);
    let name = preview.text.split("name=\"preview\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let begun = post("/dead/confirm", &format!("preview={name}"));
    assert_eq!(begun.status, 303, "{begun:?}");
    let page = begun.head.split("location: ").nth(1).unwrap().lines().next().unwrap().to_owned();
    eventually("everything is revived", || {
        client.get(&page).text.contains("<strong>3</strong> revived, 3 looked at")
    });
    let status = operator.run(&["status", "--json"]).succeeded();
    assert!(status.contains("\"due\":3") && status.contains("\"dead\":0"), "{status}");
    let log = operator.lines(LOG).join("\n");
    assert!(log.contains("\"action\":\"revived\"") && log.contains("\"count\":3"), "{log}");
    let audit = operator.run(&["audit"]).succeeded();
    assert!(audit.contains("dead letters of queue notification-messages"), "{audit}");
    let entries: Vec<&str> = audit.lines().skip(1).collect();
    assert!(entries[0].contains("revived") && entries[1].contains("revive "), "{audit}");
    let doctor = client.get("/doctor");
    assert!(doctor.text.contains("<h2>outbox</h2>") && doctor.text.contains(">schema<"), "{}", doctor.text);
    assert!(
        doctor.text.contains("<h2>notifications</h2>") && doctor.text.contains(">directory<"),
        "{}",
        doctor.text
    );
}

#[test]
fn a_board_that_is_read_only_changes_nothing() {
    let operator = Operator::with_database();
    let (_running, client) = start(&operator, &["--set", "board.read_only=true"]);
    let form = [("content-type", "application/x-www-form-urlencoded"), ("sec-fetch-site", "same-origin")];
    let refused = client.exchange("POST", "/dead/preview", &form, "action=purge&queue=q").unwrap();
    assert!(refused.status == 403 && refused.text.contains("board.read_only is set"), "{refused:?}");
}
