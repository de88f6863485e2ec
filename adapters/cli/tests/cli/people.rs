//! Recipients, segments, preferences and suppressed addresses over HTTP, by the lines that the documents show.

use serde_json::{Value, json};

use crate::{
    operator::{Operator, eventually},
    serve::{OPEN, Served, on_every_store, path, start},
};

/// The calls of a page: method, path and body of each line that calls the server with `curl`.
fn calls(page: &str) -> Vec<(String, String, String)> {
    let lines =
        page.lines().filter(|line| line.starts_with("curl ") && line.contains("http://127.0.0.1:8080"));
    let call = |line: &str| {
        let after = |flag: &str| line.split_once(flag).map(|(_, rest)| rest);
        let method = after("-X ").and_then(|rest| rest.split(' ').next()).unwrap_or("GET");
        let path = after("http://127.0.0.1:8080").unwrap().split(' ').next().unwrap();
        let body = after("-d '").and_then(|rest| rest.strip_suffix('\'')).unwrap_or_default();
        (method.to_owned(), path.to_owned(), body.to_owned())
    };
    lines.map(call).collect()
}

/// Plays all calls of a page; each must go well. Answers the bodies.
fn play(served: &Served, page: &str, count: usize) -> Vec<Value> {
    let calls = calls(page);
    assert_eq!(calls.len(), count, "{calls:?}");
    let answer = |(method, path, body): &(String, String, String)| {
        let answer = served.client.call(method, path, None, body).unwrap();
        assert_eq!(answer.status, 200, "{method} {path}: {answer:?}");
        answer.body
    };
    calls.iter().map(answer).collect()
}

const HERE: [&str; 2] = ["--set", "directory.source=database"];

#[tokio::test]
async fn the_calls_of_the_pages_do_what_the_pages_say() {
    on_every_store("people", |operator| {
        let served = start(operator, &[&OPEN[..], &HERE].concat());
        let bodies = play(&served, include_str!("../../../../docs/directory.md"), 5);
        assert_eq!(bodies[2]["members"][0]["user"], "u-1");
        assert_eq!(bodies[3]["segments"], json!(["customers"]));
        assert_eq!(served.client.get("/v1/recipients/u-1").status, 404, "it was forgotten");
        assert_eq!(served.client.get("/v1/segments/customers/members").body["members"], json!([]));
        let bodies = play(&served, include_str!("../../../../docs/preferences.md"), 5);
        assert_eq!(bodies[0], bodies[1]);
        assert_eq!(bodies[1]["rules"][0]["category"], "marketing");
        assert_eq!(bodies[3]["suppressions"][0]["reason"], "bounced");
        assert_eq!(bodies[4], json!({"was_suppressed": true}));
        assert_eq!(served.client.get("/v1/suppressions").body["suppressions"], json!([]));
    })
    .await;
}

#[tokio::test]
async fn a_user_that_was_put_is_reached_until_it_opts_out_and_is_forgotten() {
    on_every_store("people_reached", |operator| {
        let log = ["--relay", "--set", "channels.default.provider=log", "--set", "channels.default.file=out.jsonl"];
        let served = start(operator, &[&log[..], &OPEN, &HERE].concat());
        let put = |path: &str, body: Value| {
            let answer = served.client.call("PUT", path, None, &body.to_string()).unwrap();
            assert_eq!(answer.status, 200, "{answer:?}");
        };
        put("/v1/recipients/a%2F%C3%A4", json!({"email": "ann@example.com"}));
        let request = json!({
            "requester": {"type": "service", "id": "shop"}, "recipients": [{"user": "a/ä"}], "channels": ["email"],
            "category": "marketing", "content": {"title": "Sale"},
        });
        let sent = served.client.send("first", &request);
        eventually("it is delivered", || served.client.get(&path(&sent)).body["delivered"] == 1);
        put("/v1/recipients/a%2F%C3%A4/preferences", json!({"rules": [{"category": "marketing", "allowed": false}]}));
        let sent = served.client.send("second", &request);
        eventually("it is skipped", || served.client.get(&path(&sent)).body["skipped"] == 1);
        for records in [2, 0] {
            let gone = served.client.call("DELETE", "/v1/recipients/a%2F%C3%A4", None, "").unwrap();
            assert_eq!((gone.status, &gone.body["records"]), (200, &json!(records)), "{gone:?}");
        }
        assert_eq!(served.client.get("/v1/recipients/a%2F%C3%A4/preferences").body, json!({}));
    })
    .await;
}

#[test]
fn a_relay_asks_another_server_for_its_users() {
    let (there, here) = (Operator::with_database(), Operator::with_database());
    let served = start(&there, &[&OPEN[..], &HERE].concat());
    let put = |path: &str, body: &str| {
        assert_eq!(served.client.call("PUT", path, None, body).unwrap().status, 200);
    };
    put("/v1/recipients/u-1", r#"{"email":"ann@example.com"}"#);
    put("/v1/recipients/u-2", r#"{"email":"bob@example.com"}"#);
    put("/v1/segments/vip/members/u-2", "");
    let request = r#"{"id":"018f6b2e-0000-7000-8000-000000000001","requester":{"type":"service","id":"shop"},"recipients":[{"user":"u-1"},{"user":"u-9"},{"segment":"vip"}],"channels":["email"],"content":{"title":"t"}}"#;
    here.run_with(&["notify", "-"], request.as_bytes()).succeeded();
    let url = format!("directory.url=http://{}/v1", served.client.address);
    here.deliver(&["--set", "directory.source=http", "--set", &url]).succeeded();
    let shown = here.run(&["show", "018f6b2e-0000-7000-8000-000000000001"]).succeeded();
    assert!(shown.contains("2 delivered, 1 skipped, 0 failed"), "{shown}");
    let why = here.run(&["relay", "--set", "directory.source=http"]).failed(2);
    assert!(why.contains("`directory.source`: set directory.url for http"), "{why}");
}
