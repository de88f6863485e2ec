use std::{sync::Arc, time::Duration};

use axum::http::StatusCode;
use claimstream_board::{Board, BoardStores};
use claimstream_domain::{QueueName, QueueStatus};
use claimstream_memory::MemoryStore;
use claimstream_ports::mock::{MockDeadLetters, MockObserve};
use tokio::time::sleep;

use crate::browser::{Browser, Page, timer};

/// A queue from which one message goes with every count.
fn draining() -> Browser {
    let (mut observe, mut left) = (MockObserve::new(), 1_003);
    observe.expect_observe().returning(move || {
        left -= 1;
        let queue = QueueName::new("orders").unwrap();
        let oldest = Some(Duration::from_secs(300));
        let empty = QueueStatus::empty(queue);
        Ok(vec![QueueStatus { depth: left + 9, due: left, retrying: 5, dead: 2, oldest, ..empty }])
    });
    let stores = BoardStores::new(Arc::new(observe), Arc::new(MockDeadLetters::new()));
    Browser::of(Board::for_everyone(stores, timer()).router())
}

#[tokio::test(start_paused = true)]
async fn shows_how_a_queue_stands_and_stood() {
    let browser = draining();
    let page = browser.get("/queue?queue=orders").await;
    assert_eq!(page.status, StatusCode::OK, "{}", page.text);
    for text in [">1,002<", ">5<", ">4<", ">5m<", "No relay seems to read", "href=\"/dead?queue=orders\""] {
        assert!(page.shows(text), "{text}: {}", page.text);
    }
    assert!(page.shows("has not counted for long enough") && !page.shows("<polyline"));

    sleep(Duration::from_secs(20 * 60)).await;
    let page = browser.get("/queue?queue=orders").await;
    for text in ["Messages: at most 1,001.", "due, now 922", "waiting, now 9", "Dead letters: at most 2."] {
        assert!(page.shows(text), "{text}: {}", page.text);
    }
    assert_eq!(charts(&page), 3, "{}", page.text);
    // A line for each five minutes, the newest first.
    assert_eq!(page.text.matches("<tr><th scope=\"row\">").count(), 4, "{}", page.text);
    assert!(page.shows("<tr><th scope=\"row\">0ms</th><td class=\"number\">922</td>"), "{}", page.text);
    // The policy for contents allows no style in the page.
    assert!(!page.shows("style="), "{}", page.text);
}

fn charts(page: &Page) -> usize {
    page.text.matches("class=\"chart\"").count()
}

#[tokio::test(start_paused = true)]
async fn an_empty_queue_is_shown_and_a_name_that_is_none_is_not() {
    let browser = Browser::on(&MemoryStore::new());
    let page = browser.get("/queue?queue=never").await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(page.shows("<bdi>never</bdi>"), "{}", page.text);
    for address in ["/queue", "/queue?queue=", "/queue?queue=%00"] {
        assert_eq!(browser.get(address).await.status, StatusCode::BAD_REQUEST, "{address}");
    }
    let page = browser.get("/queue?queue=%3Cscript%3E").await;
    assert!(!page.shows("<script"), "{}", page.text);
}

#[tokio::test(start_paused = true)]
async fn no_user_without_a_token_sees_a_queue() {
    let page = Browser::guarded(&MemoryStore::new()).get("/queue?queue=orders").await;
    assert_eq!(page.status, StatusCode::SEE_OTHER);
}
