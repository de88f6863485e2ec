//! Promise: templates of a server are read in bounded time and size, and no error shows the token

use std::sync::{Arc, Mutex};

use claimstream_channels::{HttpTemplates, HttpTemplatesConfig, Secret};
use claimstream_ports::{StoreErrorKind, mock::HandTimer, notification::TemplateSource};
use futures::future::join;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    sync::Notify,
    task::JoinHandle,
};

use crate::message::LONG;

/// A server that answers each path by the id in it, and keeps the heads of requests.
struct Server {
    url: String,
    heads: Arc<Mutex<Vec<String>>>,
    asked: Arc<Notify>,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn server() -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/v1/templates", listener.local_addr().expect("an address"));
    let heads = Arc::<Mutex<Vec<String>>>::default();
    let (kept, asked) = (Arc::clone(&heads), Arc::new(Notify::new()));
    let notify = Arc::clone(&asked);
    let task = tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let (kept, notify) = (Arc::clone(&kept), Arc::clone(&notify));
            tokio::spawn(async move {
                let mut head = Vec::new();
                let mut part = [0; 1024];
                while !head.ends_with(b"\r\n\r\n") {
                    match stream.read(&mut part).await {
                        Ok(read) if read > 0 => head.extend_from_slice(&part[..read]),
                        _ => return,
                    }
                }
                let head = String::from_utf8_lossy(&head).into_owned();
                let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
                kept.lock().expect("no panic elsewhere").push(head);
                notify.notify_one();
                let (status, body) = match path.split('/').nth(3).unwrap_or_default() {
                    "slow" => return std::future::pending().await,
                    "broken" => (500, String::new()),
                    "locked" => (401, String::new()),
                    "long" => (200, " ".repeat(HttpTemplates::MAX_BYTES + 1)),
                    "odd" => (200, "{}".to_owned()),
                    "unknown" => (404, r#"{"type":"urn:claimstream:problem:unknown-template"}"#.to_owned()),
                    "elsewhere" => (404, "<html>Not Found</html>".to_owned()),
                    "silent" => (404, String::new()),
                    "people" => (404, r#"{"type":"urn:claimstream:problem:unknown-recipient"}"#.to_owned()),
                    "in-a-file" => (409, String::new()),
                    "other" => (200, version("t", 3)),
                    id => (200, version(id, if path.ends_with("latest") { 3 } else { 2 })),
                };
                let length = body.len();
                let answer = format!(
                    "HTTP/1.1 {status} x\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
                );
                let _ = stream.write_all(answer.as_bytes()).await;
            });
        }
    });
    Server { url, heads, asked, task }
}

fn version(id: &str, number: u32) -> String {
    format!(r#"{{"id":"{id}","number":{number},"template":{{"default_language":"en","texts":{{}}}}}}"#)
}

fn templates(server: &Server) -> HttpTemplates {
    templates_by(&HandTimer::default(), server)
}

fn templates_by(timer: &HandTimer, server: &Server) -> HttpTemplates {
    let config = HttpTemplatesConfig {
        token: Some(Secret::new("hunter2")),
        connect_timeout: LONG,
        timeout: LONG,
        environment_proxies: false,
        ..HttpTemplatesConfig::new(server.url.parse().expect("a URL"))
    };
    HttpTemplates::new(config).expect("a good configuration").with_timer(Arc::new(timer.clone()))
}

#[tokio::test]
async fn a_version_is_asked_for_by_its_path_with_the_token() {
    let server = server().await;
    let source = templates(&server);
    assert_eq!(source.published("order-paid").await.expect("an answer").expect("it is there").number, 3);
    assert_eq!(source.version("order-paid", 2).await.expect("an answer").expect("it is there").number, 2);
    assert_eq!(source.published("unknown").await.expect("an answer"), None);
    assert_eq!(source.published("../admin").await.expect("no question"), None);
    let heads = server.heads.lock().expect("no panic elsewhere").clone();
    assert_eq!(heads.len(), 3);
    assert!(heads[0].starts_with("GET /v1/templates/order-paid/versions/latest HTTP/1.1"), "{}", heads[0]);
    assert!(heads[1].starts_with("GET /v1/templates/order-paid/versions/2 HTTP/1.1"), "{}", heads[1]);
    assert!(heads[0].to_lowercase().contains("authorization: bearer hunter2"), "{}", heads[0]);
}

#[tokio::test]
async fn an_answer_that_cannot_be_used_is_an_error_that_names_the_server_and_no_secret() {
    let server = server().await;
    let timer = HandTimer::default();
    let source = templates_by(&timer, &server);
    for (id, kind, why) in [
        ("broken", StoreErrorKind::Unavailable, "HTTP 500"),
        ("locked", StoreErrorKind::Misconfigured, "scope read"),
        ("slow", StoreErrorKind::Unavailable, "no answer from"),
        ("long", StoreErrorKind::Corrupt, "has more than 4194304 bytes"),
        ("odd", StoreErrorKind::Corrupt, "missing field"),
        ("other", StoreErrorKind::Corrupt, "asked for \"other\", it answers \"t\""),
    ] {
        let time_passes = async {
            server.asked.notified().await;
            if id == "slow" {
                timer.advance(LONG);
            }
        };
        let error = join(source.published(id), time_passes).await.0.expect_err(id);
        assert_eq!(error.kind(), kind, "{id}: {error}");
        let text = error.to_string();
        assert!(
            text.contains(why) && text.contains("127.0.0.1") && !text.contains("hunter2"),
            "{id}: {text}"
        );
    }
    assert!(!format!("{source:?}").contains("hunter2"));
}

/// Guard: a URL that leads elsewhere skips no recipient | src/http_templates.rs `get`: any 404 says that there is no such template
#[tokio::test]
async fn a_404_of_something_else_is_no_missing_template() {
    let server = server().await;
    let source = templates(&server);
    for id in ["elsewhere", "silent", "people", "in-a-file"] {
        for answer in [source.published(id).await, source.version(id, 2).await] {
            let error = answer.expect_err(id);
            let text = error.to_string();
            assert_eq!(error.kind(), StoreErrorKind::Misconfigured, "{id}: {text}");
            assert!(text.contains("templates.url is what its paths begin with"), "{id}: {text}");
        }
    }
    assert_eq!(source.version("unknown", 2).await.expect("an answer"), None);
}
