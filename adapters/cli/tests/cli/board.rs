use std::process::Stdio;

use serde_json::Value;

use crate::{
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
        ("a-token-of-nobody", 401),
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
