//! Promise: the board pauses and resumes a queue, also without a script, and shows a pause with its operator
//! and reason, also of an empty queue

use std::{sync::Arc, time::Duration};

use axum::http::StatusCode;
use claimstream_board::{Board, BoardStores};
use claimstream_domain::{PauseNote, PausedQueue, QueueName, QueueStatus};
use claimstream_memory::MemoryStore;
use claimstream_ports::{
    PauseQueues, StoreError, StoreErrorKind,
    mock::{MockDeadLetters, MockObserve, MockPauseQueues},
};

use crate::{
    browser::{Browser, timer},
    dead::QUERY,
    graveyard::Graveyard,
};

async fn paused(store: &MemoryStore) -> Vec<(String, String, Option<String>)> {
    let all = store.paused().await.unwrap();
    let words = |paused: PausedQueue| {
        let why = paused.note.why().map(str::to_owned);
        (paused.queue.to_string(), paused.note.by().to_owned(), why)
    };
    all.into_iter().map(words).collect()
}

#[tokio::test(start_paused = true)]
async fn a_queue_is_paused_and_resumed_and_its_pages_show_it_at_once() {
    let store = MemoryStore::with_manual_clock();
    let browser = Browser::guarded(&store).sign_in("changes").await;
    let page = browser.get("/queue?queue=orders").await;
    assert!(page.shows("action=\"/queue/pause\"") && !page.shows("/queue/resume"), "{}", page.text);
    assert!(page.shows("<label for=\"why\">"), "{}", page.text);
    let done = browser.post("/queue/pause", "queue=orders&why=+the+gateway+%3Cb%3Eis+moved+").await;
    assert_eq!((done.status, done.header("location")), (StatusCode::SEE_OTHER, "/queue?queue=orders"));
    let why = Some("the gateway <b>is moved".to_owned());
    assert_eq!(paused(&store).await, [("orders".to_owned(), "changes-<b>".to_owned(), why)]);
    let said = "by <bdi>changes-&#60;b&#62;</bdi>: <bdi>the gateway &#60;b&#62;is moved</bdi>";
    for address in ["/queue?queue=orders", "/"] {
        let page = browser.get(address).await;
        assert!(page.shows("Paused</strong> for 0ms") && page.shows(said), "{address}: {}", page.text);
    }
    // It has no message and is listed all the same.
    assert!(browser.get("/").await.shows("<bdi>orders</bdi></a></th><td class=\"number\">0</td>"));
    let page = browser.get("/queue?queue=orders").await;
    assert!(page.shows("action=\"/queue/resume\"") && !page.shows("/queue/pause"), "{}", page.text);
    assert!(!browser.get("/queue?queue=mails").await.shows("Paused</strong>"));
    browser.post("/queue/resume", "queue=orders").await;
    assert_eq!(paused(&store).await, []);
    assert!(!browser.get("/queue?queue=orders").await.shows("Paused</strong>"));
    assert!(browser.get("/").await.shows("All queues are empty."));
}

#[tokio::test(start_paused = true)]
async fn the_first_pause_stays_and_no_reason_is_needed() {
    let store = MemoryStore::new();
    let note = PauseNote::new("ann", None).unwrap();
    store.pause(&QueueName::new("orders").unwrap(), &note).await.unwrap();
    let browser = Browser::on(&store);
    for why in ["", "&why=", "&why=+++", "&why=second"] {
        let page = browser.post("/queue/pause", &format!("queue=orders{why}")).await;
        assert_eq!(page.status, StatusCode::SEE_OTHER, "{}", page.text);
    }
    assert_eq!(paused(&store).await, [("orders".to_owned(), "ann".to_owned(), None)]);
    browser.post("/queue/pause", "queue=mails&why=++").await;
    assert_eq!(paused(&store).await[0], ("mails".to_owned(), "anonymous".to_owned(), None));
}

/// Guard: pauses need the right to change | src/board.rs `router`: `/queue/pause` outside of `changing`
#[tokio::test(start_paused = true)]
async fn no_user_pauses_with_a_token_that_looks_or_on_a_board_that_is_read_only() {
    let graveyard = Graveyard::new();
    let looks = Browser::guarded(&graveyard.store).sign_in("looks").await;
    let read_only = graveyard.read_only().sign_in("changes").await;
    for (browser, why) in [(looks, "scope admin"), (read_only, "board.read_only is set")] {
        for path in ["/queue/pause", "/queue/resume"] {
            let page = browser.post(path, QUERY).await;
            assert!(page.status == StatusCode::FORBIDDEN && page.shows(why), "{path}: {}", page.text);
        }
        let page = browser.get(&format!("/queue?{QUERY}")).await;
        assert!(page.status == StatusCode::OK && !page.shows("<form method"), "{}", page.text);
    }
    assert_eq!(paused(&graveyard.store).await, []);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_a_pause_is_refused_with_a_sentence() {
    let store = MemoryStore::new();
    let browser = Browser::on(&store);
    let long = format!("queue=orders&why={}", "x".repeat(501));
    for (form, why) in [
        ("", "queue"),
        ("queue=", "queue name is empty"),
        ("queue=a+b", "visible ASCII"),
        ("queue=%3Cscript%3E%00", "queue name"),
        ("queue=orders&why=a%0Ab", "write it on one line"),
        (&*long, "at most 500"),
    ] {
        let page = browser.post("/queue/pause", form).await;
        assert!(page.status == StatusCode::BAD_REQUEST && page.shows(why), "{form}: {}", page.text);
        assert!(!page.shows("<script"), "{}", page.text);
    }
    assert_eq!(browser.post("/queue/resume", "queue=a+b").await.status, StatusCode::BAD_REQUEST);
    assert_eq!(paused(&store).await, []);
}

fn on_mocks(pauses: Option<MockPauseQueues>) -> Browser {
    let mut observe = MockObserve::new();
    observe.expect_observe().returning(|| {
        let queue = QueueName::new("orders").unwrap();
        let oldest = Some(Duration::from_secs(3_600));
        Ok(vec![QueueStatus { depth: 3, due: 3, oldest, ..QueueStatus::empty(queue) }])
    });
    let stores = BoardStores::new(Arc::new(observe), Arc::new(MockDeadLetters::new()));
    let stores = match pauses {
        Some(pauses) => stores.with_pauses(Arc::new(pauses)),
        None => stores,
    };
    Browser::of(Board::for_everyone(stores, timer()).router())
}

#[tokio::test(start_paused = true)]
async fn a_paused_queue_does_not_look_forgotten_by_its_relays() {
    let mut pauses = MockPauseQueues::new();
    pauses.expect_paused().returning(|| {
        let (queue, note) = (QueueName::new("orders").unwrap(), PauseNote::new("ann", None).unwrap());
        Ok(vec![PausedQueue { queue, since: Duration::from_secs(90), note }])
    });
    let browser = on_mocks(Some(pauses));
    for address in ["/", "/queue?queue=orders"] {
        let page = browser.get(address).await;
        assert!(page.shows("Paused</strong> for 1m 30s by <bdi>ann</bdi>"), "{}", page.text);
        assert!(!page.shows("seems to read"), "{}", page.text);
    }
}

#[tokio::test(start_paused = true)]
async fn a_database_that_does_not_say_what_is_paused_leaves_the_rest_of_the_page() {
    let mut pauses = MockPauseQueues::new();
    let gone = || StoreError::new(StoreErrorKind::Unavailable, "paused", "no route to db-7");
    pauses.expect_paused().returning(move || Err(gone()));
    pauses.expect_pause().returning(move |_, _| Err(gone()));
    let browser = on_mocks(Some(pauses));
    for address in ["/", "/queue?queue=orders"] {
        let page = browser.get(address).await;
        assert!(page.shows(">3<") && page.shows("The database does not say"), "{}", page.text);
        assert!(!page.shows("db-7"), "{}", page.text);
    }
    let page = browser.post("/queue/pause", "queue=orders").await;
    assert!(page.status == StatusCode::SERVICE_UNAVAILABLE && !page.shows("db-7"), "{}", page.text);
}

#[tokio::test(start_paused = true)]
async fn a_board_that_cannot_pause_shows_no_form() {
    let browser = on_mocks(None);
    assert!(!browser.get("/queue?queue=orders").await.shows("<form"));
    assert_eq!(browser.post("/queue/pause", "queue=orders").await.status, StatusCode::NOT_FOUND);
}
