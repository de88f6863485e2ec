//! Promise: the board runs no script and shows hostile names as text; many users count the queues once

use std::{sync::Arc, time::Duration};

use axum::http::StatusCode;
use claimstream_board::{Board, BoardStores};
use claimstream_domain::{QueueName, QueueStatus};
use claimstream_memory::MemoryStore;
use claimstream_ports::{
    StoreError, StoreErrorKind,
    mock::{MockDeadLetters, MockObserve},
};

use crate::browser::{Browser, timer};

fn status(name: &str) -> QueueStatus {
    QueueStatus::empty(QueueName::new(name).unwrap())
}

fn board(observe: MockObserve) -> Browser {
    Browser::of(
        Board::for_everyone(BoardStores::new(Arc::new(observe), Arc::new(MockDeadLetters::new())), timer())
            .router(),
    )
}

fn showing(queues: Vec<QueueStatus>) -> Browser {
    let mut observe = MockObserve::new();
    observe.expect_observe().times(1).returning(move || Ok(queues.clone()));
    board(observe)
}

#[tokio::test(start_paused = true)]
async fn shows_each_queue_by_state_and_counts_once_for_many() {
    let busy = QueueStatus { depth: 12_345, due: 12_000, leased: 300, dead: 7, ..status("orders") };
    let stale = QueueStatus { depth: 1, due: 1, oldest: Some(Duration::from_secs(3_700)), ..status("mails") };
    let astray = QueueStatus { depth: 4, stray: 4, ..status("lost") };
    let browser = showing(vec![astray, stale, busy]);
    for _ in 0..5 {
        let page = browser.get("/").await;
        assert_eq!(page.status, StatusCode::OK);
        let row = |name: &str| {
            let rows = page.text.lines().filter(|line| line.starts_with("<tr><th scope=\"row\">"));
            rows.into_iter().find(|line| line.contains(&format!("<bdi>{name}</bdi>"))).unwrap().to_owned()
        };
        for number in [">12,000<", ">300<", ">45<", "bad\"><a href=\"/dead?queue=orders\">7<"] {
            assert!(row("orders").contains(number), "{number}: {}", row("orders"));
        }
        assert!(
            row("mails").contains(">1h 1m<") && row("mails").contains("no relay seems to read this queue")
        );
        assert!(row("lost").contains("4 messages lie in shards that no relay reads"));
        assert!(page.shows("<caption>") && page.shows("<html lang=\"en\">") && page.shows("href=\"#main\""));
        assert!(!page.shows("http-equiv"));
    }
    let page = browser.get("/?refresh=on").await;
    assert!(page.shows("<meta http-equiv=\"refresh\" content=\"5\">"), "{}", page.text);
}

#[tokio::test(start_paused = true)]
async fn says_that_nothing_is_there() {
    assert!(Browser::on(&MemoryStore::new()).get("/").await.shows("All queues are empty."));
}

#[tokio::test(start_paused = true)]
async fn a_name_that_would_be_markup_is_text() {
    let page = showing(vec![status("<script>alert(1)</script>")]).get("/").await;
    assert!(
        page.shows("&#60;script&#62;alert(1)&#60;/script&#62;") && !page.shows("<script"),
        "{}",
        page.text
    );
}

#[tokio::test(start_paused = true)]
async fn a_database_that_does_not_answer_is_a_page_of_its_own_without_its_words() {
    for (kind, status) in [(StoreErrorKind::Unavailable, 503), (StoreErrorKind::Misconfigured, 500)] {
        let mut observe = MockObserve::new();
        observe
            .expect_observe()
            .returning(move || Err(StoreError::new(kind, "observe", "no route to db-7 for root")));
        let page = board(observe).get("/").await;
        assert_eq!(page.status.as_u16(), status);
        assert!(
            page.shows("The log of this process") || page.shows("the log of this process"),
            "{}",
            page.text
        );
        assert!(!page.shows("db-7"), "{}", page.text);
    }
}
