//! Promise: while a directory over HTTP is away or answers something else, no user is unknown

use std::sync::Arc;

use claimstream_channels::{HttpDirectory, HttpDirectoryConfig, Secret};
use claimstream_domain::notification::SegmentPlace;
use claimstream_ports::{StoreErrorKind, mock::HandTimer, notification::RecipientDirectory};
use futures::future::join;
use serde_json::{Value, json};

use crate::message::LONG;
use crate::web_server::{Answer, Received, WebServer};

/// A server that knows every user and segment but those that begin with `x`, and a directory on it.
async fn server() -> (WebServer, HttpDirectory) {
    server_by(&HandTimer::default()).await
}

/// The same; answers are waited for by this timer.
async fn server_by(timer: &HandTimer) -> (WebServer, HttpDirectory) {
    let server = WebServer::answering(|received| {
        let answer = answer(&received);
        Box::pin(async move { answer })
    });
    let server = server.await;
    let directory = HttpDirectory::new(HttpDirectoryConfig {
        token: Some(Secret::new("hunter2")),
        connect_timeout: LONG,
        timeout: LONG,
        environment_proxies: false,
        ..HttpDirectoryConfig::new(server.url("/v1/").parse().expect("a URL"))
    });
    (server, directory.expect("a good configuration").with_timer(Arc::new(timer.clone())))
}

fn answer(received: &Received) -> Answer {
    let path = received.line.split(' ').nth(1).unwrap_or_default().to_owned();
    if path == "/v1/lookup" {
        let body: Value = serde_json::from_slice(&received.body).expect("JSON");
        let users: Vec<&str> =
            body["users"].as_array().expect("ids").iter().filter_map(Value::as_str).collect();
        return match users.first().copied().unwrap_or_default() {
            "slow" => Answer::Silence,
            "gone" => Answer::Close,
            "broken" => plain(500, ""),
            "locked" => plain(403, ""),
            "elsewhere" => plain(404, "<html>"),
            "odd" => plain(200, "<html>"),
            "half" if users.contains(&"spoiled") => {
                plain(200, r#"{"recipients":[{"user":"half","email":7},{"user":"spoiled","email":7}]}"#)
            }
            "half" => plain(
                200,
                r#"{"recipients":[{"user":"half","email":7},{"user":"whole"}],"unreadable":["named"]}"#,
            ),
            "anonymous" => plain(200, r#"{"recipients":[{"email":"ann@example.com"}]}"#),
            "long" => plain(200, &" ".repeat(HttpDirectory::MAX_BYTES + 1)),
            _ => {
                let known = users.iter().filter(|id| !id.starts_with('x')).rev();
                let known: Vec<_> =
                    known.map(|id| json!({"user": id, "email": format!("{id}@example.com")})).collect();
                plain(200, &json!({"recipients": known}).to_string())
            }
        };
    }
    let segment = path.split('/').nth(3).unwrap_or_default();
    match segment {
        "x" => plain(404, r#"{"type":"urn:claimstream:problem:unknown-segment","title":"t","status":404}"#),
        "elsewhere" => plain(404, r#"{"type":"about:blank"}"#),
        "wrong" => plain(
            200,
            r#"{"members":[{"user":"a"},{"user":"b","email":7},{"user":"c","time_zone":"Mars"},{"user":"d"}],"unreadable":["z"]}"#,
        ),
        "all%20wrong" => {
            plain(200, r#"{"members":[{"user":"a","email":7},{"user":"b","email":7}],"unreadable":["c"]}"#)
        }
        "named" => plain(200, r#"{"members":[],"unreadable":["a","b"]}"#),
        "nameless" => plain(200, r#"{"members":[{"user":"a"},{"email":"ann@example.com"}]}"#),
        "circle" => plain(200, r#"{"members":[{"user":"a"}],"next":"a"}"#),
        _ if path.contains("after=") => plain(200, r#"{"members":[{"user":"b"}],"next":null}"#),
        _ => plain(200, r#"{"members":[{"user":"a"}],"next":"a"}"#),
    }
}

fn plain(status: u16, body: &str) -> Answer {
    let length = body.len();
    let head = format!("HTTP/1.1 {status} x\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
    Answer::Raw([head.as_bytes(), body.as_bytes()].concat())
}

fn ids(ids: &[&str]) -> Vec<String> {
    ids.iter().map(|id| (*id).to_owned()).collect()
}

#[tokio::test]
async fn users_come_in_the_order_of_their_ids_whatever_the_server_does() {
    let (server, directory) = server().await;
    let found = directory.users(&ids(&["b", "x", "a/ä", "b"])).await.expect("an answer");
    let shown: Vec<_> = found.users.iter().map(|user| user.as_ref().map(|user| user.key.as_str())).collect();
    assert_eq!(shown, [Some("user:b"), None, Some("user:a/ä"), Some("user:b")]);
    assert_eq!(found.users[0].as_ref().and_then(|user| user.email.as_deref()), Some("b@example.com"));
    let received = server.received();
    assert_eq!(received.len(), 1, "one call for all");
    assert_eq!(received[0].line, "POST /v1/lookup HTTP/1.1");
    assert_eq!(received[0].header("authorization"), Some("Bearer hunter2"));
    assert_eq!(
        serde_json::from_slice::<Value>(&received[0].body).expect("JSON")["users"],
        json!(["a/ä", "b", "x"])
    );
    let many: Vec<String> = (0..501).map(|n| format!("u{n}")).collect();
    assert!(directory.users(&many).await.expect("an answer").users.iter().all(Option::is_some));
    assert_eq!(server.received().len(), 3, "500 at a time");
}

#[tokio::test]
async fn members_come_page_by_page_and_an_unknown_segment_differs_from_a_wrong_url() {
    let (server, directory) = server().await;
    let page =
        directory.members("vip/ä", &SegmentPlace::Start, 1_000).await.expect("an answer").expect("known");
    assert_eq!((page.members[0].key.as_str(), page.next.as_deref()), ("user:a", Some("a")));
    let place = SegmentPlace::After("a&b".into());
    let page = directory.members("vip/ä", &place, 10).await.expect("an answer").expect("known");
    assert_eq!((page.members[0].key.as_str(), page.next), ("user:b", None));
    let lines: Vec<_> = server.received().into_iter().map(|received| received.line).collect();
    assert_eq!(lines[0], "GET /v1/segments/vip%2F%C3%A4/members?limit=500 HTTP/1.1");
    assert_eq!(lines[1], "GET /v1/segments/vip%2F%C3%A4/members?limit=10&after=a%26b HTTP/1.1");
    assert_eq!(directory.members("x", &SegmentPlace::Start, 10).await.expect("an answer"), None);
    let wrong = directory.members("elsewhere", &SegmentPlace::Start, 10).await.expect_err("a wrong URL");
    assert_eq!(wrong.kind(), StoreErrorKind::Misconfigured, "{wrong}");
    let circle =
        directory.members("circle", &SegmentPlace::After("a".into()), 10).await.expect_err("a circle");
    assert_eq!(circle.kind(), StoreErrorKind::Corrupt, "{circle}");
}

/// Guard: a user that cannot be read keeps no other from the answer | src/http_directory.rs `users`: such an entry is an error
#[tokio::test]
async fn a_user_that_cannot_be_read_keeps_no_other_from_the_answer() {
    let (_server, directory) = server().await;
    let found = directory.users(&ids(&["spoiled", "half"])).await.expect("an answer");
    assert_eq!((found.users, found.unreadable), (vec![None, None], ids(&["half", "spoiled"])));
    let found = directory.users(&ids(&["half", "whole", "named"])).await.expect("an answer");
    let keys: Vec<_> = found.users.iter().map(|user| user.as_ref().map(|user| user.key.as_str())).collect();
    assert_eq!((keys, found.unreadable), (vec![None, Some("user:whole"), None], ids(&["named", "half"])));
}

#[tokio::test]
async fn a_member_that_cannot_be_read_keeps_no_other_from_its_page() {
    let (_server, directory) = server().await;
    let page = directory.members("wrong", &SegmentPlace::Start, 10).await.expect("an answer").expect("known");
    let read: Vec<_> = page.members.iter().map(|member| member.key.as_str()).collect();
    assert_eq!((read, page.unreadable), (vec!["user:a", "user:d"], ids(&["z", "b", "c"])));
    let page = directory.members("named", &SegmentPlace::Start, 10).await.expect("an answer").expect("known");
    assert_eq!((page.members, page.unreadable), (vec![], ids(&["a", "b"])));
    for (segment, why) in [("all wrong", "no member of a page"), ("nameless", "has no user")] {
        let refused = directory.members(segment, &SegmentPlace::Start, 10).await.expect_err(segment);
        assert_eq!(refused.kind(), StoreErrorKind::Corrupt, "{refused}");
        assert!(refused.to_string().contains(why) && !refused.to_string().contains("ann@"), "{refused}");
    }
}

#[tokio::test]
async fn a_server_that_is_away_makes_no_user_unknown() {
    let timer = HandTimer::default();
    let (server, directory) = server_by(&timer).await;
    for (id, kind, why) in [
        ("slow", StoreErrorKind::Unavailable, "no answer from"),
        ("gone", StoreErrorKind::Unavailable, "127.0.0.1"),
        ("broken", StoreErrorKind::Unavailable, "HTTP 500"),
        ("locked", StoreErrorKind::Misconfigured, "directory.token"),
        ("elsewhere", StoreErrorKind::Misconfigured, "directory.url"),
        ("odd", StoreErrorKind::Corrupt, "line 1, column"),
        ("anonymous", StoreErrorKind::Corrupt, "has no user"),
        ("long", StoreErrorKind::Corrupt, "more than 16777216 bytes"),
    ] {
        let time_passes = async {
            server.asked().await;
            if id == "slow" {
                timer.advance(LONG);
            }
        };
        let error = join(directory.users(&ids(&[id])), time_passes).await.0.expect_err(id);
        assert_eq!(error.kind(), kind, "{id}: {error}");
        let text = error.to_string();
        assert!(text.contains(why) && !text.contains("hunter2") && !text.contains("ann@"), "{id}: {text}");
    }
    assert!(!format!("{directory:?}").contains("hunter2"));
}
