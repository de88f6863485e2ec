//! Promise: an entry of an inbox reaches its listeners once, in any process; a listener that returns misses
//! none; a token opens one inbox until it expires, and listeners are bounded and delay no shutdown

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    body::{Body, BodyDataStream},
    http::{Request, StatusCode},
};
use claimstream_domain::notification::{
    Content, InAppEntry, InAppPage, InboxKeys, InboxToken, NewInAppEntry,
};
use claimstream_http::Limits;
use futures::StreamExt;
use serde_json::{Value, json};
use tokio::time::{Instant, advance, timeout};
use tower::ServiceExt;
use uuid::Uuid;

use crate::api::{Api, Ports};

pub(crate) fn keys() -> InboxKeys {
    InboxKeys::new([&[9; 32][..]]).unwrap()
}

fn id(n: u128) -> Uuid {
    Uuid::from_u128(n)
}

/// An inbox that a test fills: entries of the user `ann`, each with the moment at which it was put in.
#[derive(Clone, Default)]
struct Shelf(Arc<Mutex<Vec<(u128, Instant)>>>);

impl Shelf {
    fn put(&self, n: u128, ago: Duration) {
        self.0.lock().unwrap().push((n, Instant::now() - ago));
    }

    /// The newest first.
    fn entries(&self) -> Vec<InAppEntry> {
        let mut all = self.0.lock().unwrap().clone();
        all.sort_by_key(|(n, at)| std::cmp::Reverse((*at, *n)));
        all.into_iter().map(|(n, at)| entry(n, at.elapsed())).collect()
    }

    fn ports(&self) -> Ports {
        let mut ports = Ports::default();
        ports.receipts.expect_take_waiting().returning(|_, _| Ok(0));
        ports.receipts.expect_forget_waiting().returning(|_, _| Ok(0));
        let (page, recent) = (self.clone(), self.clone());
        ports.in_app.expect_page().returning(move |asked: &InAppPage| {
            let mut entries = if asked.user == "ann" { page.entries() } else { Vec::new() };
            entries.truncate(asked.limit as usize);
            Ok(entries)
        });
        ports.in_app.expect_unread().returning(|_| Ok(3));
        ports.in_app.expect_recent().returning(move |users, within, _| {
            let mut entries = recent.entries();
            entries.retain(|one| one.age <= within && users.contains(&one.entry.user));
            Ok(entries)
        });
        ports
    }
}

fn entry(n: u128, age: Duration) -> InAppEntry {
    let content = Content { title: Some(format!("title {n}")), ..Content::default() };
    let entry = NewInAppEntry { id: id(n), request_id: id(0), user: "ann".into(), content };
    InAppEntry { entry, age, is_read: false }
}

const INBOX: (&str, &str) = ("authorization", "Bearer inbox");

#[tokio::test(start_paused = true)]
async fn an_inbox_is_paged_and_marked() {
    let shelf = Shelf::default();
    shelf.put(1, Duration::from_secs(9));
    shelf.put(2, Duration::from_secs(5));
    let mut ports = shelf.ports();
    ports.in_app.expect_mark_read().times(1).returning(|user, ids| {
        assert_eq!((user, ids), ("ann", &[id(2)][..]));
        Ok(1)
    });
    ports.in_app.expect_mark_read_up_to().times(2).returning(|user, newest| {
        assert_eq!((user, newest), ("ann", id(2)));
        Ok(2)
    });
    let api = Api::with(ports, Limits::default());
    let page = api.call("GET", "/v1/recipients/ann/inbox?limit=2", &[INBOX], "").await;
    assert_eq!(page.status, StatusCode::OK, "{page:?}");
    assert_eq!((&page.body["unread"], &page.body["next"]), (&json!(3), &json!(id(1))));
    let first = &page.body["entries"][0];
    assert_eq!(
        (&first["id"], &first["title"], &first["read"]),
        (&json!(id(2)), &json!("title 2"), &json!(false))
    );
    let read = api.call("POST", &format!("/v1/recipients/ann/inbox/{}/read", id(2)), &[INBOX], "").await;
    assert_eq!(read.body, json!({"marked": 1, "unread": 3}));
    for query in [String::new(), format!("?up_to={}", id(2))] {
        let read = api.call("POST", &format!("/v1/recipients/ann/inbox/read-all{query}"), &[INBOX], "").await;
        assert_eq!(read.body["marked"], 2);
    }
    let empty = api.call("GET", "/v1/recipients/bea/inbox", &[INBOX], "").await;
    assert_eq!(
        (&empty.body["entries"], &empty.body["events_after"]),
        (&json!([]), &json!(id(0).simple().to_string()))
    );
}

#[tokio::test(start_paused = true)]
async fn a_pass_opens_one_inbox_for_a_while() {
    let api = Api::with(Shelf::default().ports(), Limits::default());
    let body = |text: &'static str| Body::from(text);
    let json = ("content-type", "application/json");
    let made =
        api.call("POST", "/v1/recipients/ann/inbox/pass", &[INBOX, json], body("{\"seconds\": 60}")).await;
    assert_eq!((made.status, &made.body["expires_in"]), (StatusCode::OK, &json!(60)), "{made:?}");
    for nothing in ["", "null"] {
        let usual = api.call("POST", "/v1/recipients/ann/inbox/pass", &[INBOX, json], nothing).await;
        assert_eq!((usual.status, &usual.body["expires_in"]), (StatusCode::OK, &json!(900)), "{usual:?}");
    }
    let pass = format!("Bearer {}", made.body["token"].as_str().unwrap());
    let status = async |user: &str, token: &str| {
        api.call("GET", &format!("/v1/recipients/{user}/inbox"), &[("authorization", token)], "").await.status
    };
    assert_eq!(status("ann", &pass).await, StatusCode::OK);
    assert_eq!(status("bea", &pass).await, StatusCode::FORBIDDEN);
    assert_eq!(status("ann", &format!("{pass}x")).await, StatusCode::UNAUTHORIZED);
    let ended = keys().sign(&InboxToken { user: "ann".into(), until: 1_700_000_000 });
    assert_eq!(status("ann", &format!("Bearer {ended}")).await, StatusCode::UNAUTHORIZED);
    for token in ["Bearer send", "Bearer read"] {
        assert_eq!(status("ann", token).await, StatusCode::FORBIDDEN, "{token}");
    }
    // A pass makes no passes, and a token of a program stands in no query.
    let again = api.call("POST", "/v1/recipients/ann/inbox/pass", &[("authorization", &pass)], "").await;
    assert_eq!(again.status, StatusCode::UNAUTHORIZED);
    let events = api.call("GET", "/v1/recipients/ann/inbox/events?token=inbox", &[], "").await;
    assert_eq!(events.status, StatusCode::UNAUTHORIZED);
    let long =
        api.call("POST", "/v1/recipients/ann/inbox/pass", &[INBOX, json], body("{\"seconds\": 3601}")).await;
    assert_eq!((long.status, long.pointer()), (StatusCode::BAD_REQUEST, "#/seconds"));
}

/// The events of one listener, as a browser reads them.
struct Events {
    stream: BodyDataStream,
    text: String,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Event {
    kind: String,
    id: Option<String>,
    data: Value,
}

impl Events {
    async fn open(api: &Api, query: &str, last: Option<&str>) -> Self {
        let mut request =
            Request::get(format!("/v1/recipients/ann/inbox/events{query}")).header(INBOX.0, INBOX.1);
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        let answer = api.service.router().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK);
        assert_eq!(answer.headers()["content-type"], "text/event-stream");
        Self { stream: answer.into_body().into_data_stream(), text: String::new() }
    }

    /// The next event that is no comment; `None` at the end.
    async fn next(&mut self) -> Option<Event> {
        loop {
            while let Some((one, rest)) = self.text.split_once("\n\n") {
                let (one, rest) = (one.to_owned(), rest.to_owned());
                self.text = rest;
                let field = |name: &str| {
                    let lines = one.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
                    lines.map(str::to_owned).next()
                };
                if let Some(kind) = field("event") {
                    let data = serde_json::from_str(&field("data").unwrap()).unwrap_or(Value::Null);
                    return Some(Event { kind, id: field("id"), data });
                }
            }
            let part = self.stream.next().await?.unwrap();
            self.text.push_str(std::str::from_utf8(&part).unwrap());
        }
    }

    async fn entry(&mut self) -> (u128, String) {
        let event = timeout(Duration::from_secs(5), self.next()).await.expect("an event in time").unwrap();
        assert_eq!(event.kind, "entry", "{event:?}");
        let id: Uuid = event.data["id"].as_str().unwrap().parse().unwrap();
        (id.as_u128(), event.id.unwrap())
    }

    async fn is_silent(&mut self) -> bool {
        timeout(Duration::from_secs(4), self.next()).await.is_err()
    }
}

#[tokio::test(start_paused = true)]
async fn new_entries_come_as_events_and_a_listener_that_comes_again_misses_none_and_gets_none_twice() {
    let shelf = Shelf::default();
    advance(Duration::from_secs(1_000)).await;
    shelf.put(1, Duration::from_secs(100));
    shelf.put(2, Duration::from_secs(2));
    let api = Api::with(shelf.ports(), Limits::default());
    let work = async {
        let mut events = Events::open(&api, "", None).await;
        assert!(events.is_silent().await, "what was there is no news");
        shelf.put(3, Duration::ZERO);
        shelf.put(4, Duration::ZERO);
        assert_eq!((events.entry().await.0, events.entry().await.0), (3, 4));
        shelf.put(6, Duration::ZERO);
        let (sixth, cursor) = events.entry().await;
        assert_eq!(sixth, 6);
        drop(events);
        // The transaction of 5 began before that of 6 and has ended after it.
        shelf.put(5, Duration::from_secs(3));
        shelf.put(7, Duration::ZERO);
        let mut events = Events::open(&api, "", Some(&cursor)).await;
        let mut came: Vec<u128> = Vec::new();
        came.push(events.entry().await.0);
        came.push(events.entry().await.0);
        assert_eq!(came, [5, 7]);
        shelf.put(8, Duration::ZERO);
        assert_eq!(events.entry().await.0, 8);
        assert!(events.is_silent().await);
        // Two more of the same user, and one question for all.
        let mut others = [Events::open(&api, "", None).await, Events::open(&api, "", None).await];
        shelf.put(9, Duration::ZERO);
        for listener in others.iter_mut().chain([&mut events]) {
            assert_eq!(listener.entry().await.0, 9);
        }
    };
    tokio::select! {
        never = api.service.upkeep() => match never {},
        () = work => {}
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_entry_of_an_inbox_reaches_the_page_that_was_read_before() {
    let shelf = Shelf::default();
    let api = Api::with(shelf.ports(), Limits::default());
    let page = api.call("GET", "/v1/recipients/ann/inbox", &[INBOX], "").await.body;
    shelf.put(1, Duration::ZERO);
    let mut events =
        Events::open(&api, &format!("?after={}", page["events_after"].as_str().unwrap()), None).await;
    assert_eq!(events.entry().await.0, 1);
}

#[tokio::test(start_paused = true)]
async fn events_follow_the_page_that_was_read_before() {
    let shelf = Shelf::default();
    advance(Duration::from_secs(1_000)).await;
    shelf.put(1, Duration::from_secs(50));
    shelf.put(2, Duration::from_secs(2));
    let api = Api::with(shelf.ports(), Limits::default());
    let work = async {
        let page = api.call("GET", "/v1/recipients/ann/inbox", &[INBOX], "").await.body;
        shelf.put(3, Duration::ZERO);
        let query = format!("?after={}", page["events_after"].as_str().unwrap());
        let mut events = Events::open(&api, &query, None).await;
        assert_eq!(events.entry().await.0, 3);
        assert!(events.is_silent().await);
        let mut lost = Events::open(&api, &format!("?after={}", id(77)), None).await;
        let reset = lost.next().await.unwrap();
        assert_eq!((reset.kind.as_str(), reset.id), ("reset", None));
        let mut foreign = Events::open(&api, "", Some("x")).await;
        assert_eq!(foreign.next().await.unwrap().kind, "reset");
        let wrong = api.call("GET", "/v1/recipients/ann/inbox/events?after=x", &[INBOX], "").await;
        assert_eq!(
            (wrong.status, &wrong.body["errors"][0]["parameter"]),
            (StatusCode::BAD_REQUEST, &json!("after"))
        );
    };
    tokio::select! {
        never = api.service.upkeep() => match never {},
        () = work => {}
    }
}

#[tokio::test(start_paused = true)]
async fn listeners_are_bounded_and_end_with_the_server_or_their_pass() {
    let shelf = Shelf::default();
    let api = Api::with(shelf.ports(), Limits { listeners: 2, ..Limits::default() });
    let pass = keys().sign(&InboxToken { user: "ann".into(), until: now() + 3_000 });
    let work = async {
        let mut first = Events::open(&api, "", None).await;
        let mut with_pass = Events::open(&api, &format!("?token={pass}"), None).await;
        let refused = api.call("GET", "/v1/recipients/ann/inbox/events", &[INBOX], "").await;
        assert_eq!(
            (refused.status, refused.header("retry-after")),
            (StatusCode::SERVICE_UNAVAILABLE, Some("1"))
        );
        // It was opened by a token of a program, which goes before the pass; a pass alone ends with its time.
        drop(first);
        assert!(with_pass.is_silent().await);
        let request =
            Request::get(format!("/v1/recipients/ann/inbox/events?token={pass}")).body(Body::empty());
        let answer = api.service.router().oneshot(request.unwrap()).await.unwrap();
        let mut alone = Events { stream: answer.into_body().into_data_stream(), text: String::new() };
        assert_eq!(timeout(Duration::from_secs(3_100), alone.next()).await, Ok(None));
        drop(alone);
        first = Events::open(&api, "", None).await;
        api.service.stop();
        assert_eq!(timeout(Duration::from_secs(5), first.next()).await, Ok(None));
        assert_eq!(timeout(Duration::from_secs(5), with_pass.next()).await, Ok(None));
        let late = api.call("GET", "/v1/recipients/ann/inbox/events", &[INBOX], "").await;
        assert_eq!(late.status, StatusCode::SERVICE_UNAVAILABLE);
    };
    tokio::select! {
        never = api.service.upkeep() => match never {},
        () = work => {}
    }
}

fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs()
}

#[tokio::test(start_paused = true)]
async fn the_database_is_not_asked_without_a_listener() {
    let mut ports = Shelf::default().ports();
    ports.in_app = Default::default();
    ports.in_app.expect_recent().never();
    let api = Api::with(ports, Limits::default());
    assert!(timeout(Duration::from_secs(600), api.service.upkeep()).await.is_err());
}
