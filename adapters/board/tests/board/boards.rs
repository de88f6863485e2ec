//! Promise: each of several databases has its pages on the board, and a user signs in once

use std::sync::Arc;

use axum::http::{StatusCode, header};
use claimstream_board::{Board, Boards};
use claimstream_memory::MemoryStore;

use crate::browser::{Browser, HOST, TwoTokens, stores, timer};

#[tokio::test(start_paused = true)]
async fn each_database_has_its_pages_and_leads_to_the_others() {
    let boards = Boards::new(timer(), Board::for_everyone);
    let browser = Browser::of(boards.router());
    boards.announce("orders");
    boards.announce("billing");
    assert_eq!(browser.get("/").await.status, StatusCode::SERVICE_UNAVAILABLE);
    boards.show("orders", stores(&MemoryStore::new()));
    assert_eq!(browser.get("/").await.headers[header::LOCATION], "/orders");
    let page = browser.get("/orders").await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(page.text.contains(r#"<a href="/orders" aria-current="true">orders</a>"#), "{}", page.text);
    assert!(page.text.contains("billing (not open yet)"), "{}", page.text);
    // The page says how old its count is.
    let but_for_age = |text: &str| -> Vec<String> {
        text.lines().filter(|line| !line.starts_with("<p>Counted ")).map(str::to_owned).collect()
    };
    let with_slash = browser.get("/orders/").await;
    assert_eq!(but_for_age(&with_slash.text), but_for_age(&page.text));
    assert_eq!(browser.get("/billing").await.status, StatusCode::NOT_FOUND);
    // One that comes later is shown by the same router.
    boards.show("billing", stores(&MemoryStore::new()));
    let page = browser.get("/billing/dead").await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(page.text.contains(r#"<a href="/orders">orders</a>"#), "{}", page.text);
    assert!(page.text.contains(r#"<a href="/billing/audit">"#), "{}", page.text);
}

#[tokio::test(start_paused = true)]
async fn a_board_of_one_database_names_none() {
    let page = Browser::on(&MemoryStore::new()).get("/").await;
    assert!(!page.text.contains(r#"aria-label="Databases""#), "{}", page.text);
}

#[tokio::test(start_paused = true)]
async fn a_user_signs_in_once_for_all_databases() {
    let boards = Boards::new(timer(), |stores, timer| Board::for_users(stores, timer, Arc::new(TwoTokens)));
    for name in ["billing", "orders"] {
        boards.show(name, stores(&MemoryStore::new()));
    }
    let mut browser = Browser::of(boards.router());
    let unknown = browser.get("/orders").await;
    assert_eq!(unknown.headers[header::LOCATION], "/orders/sign-in");
    assert!(
        !browser.get("/orders/sign-in").await.text.contains("billing"),
        "names are for those who are known"
    );
    let signed_in = browser.post("/orders/sign-in", "token=looks").await;
    let cookie = signed_in.headers[header::SET_COOKIE].to_str().unwrap();
    browser.headers.push(("cookie", cookie.split(';').next().unwrap().to_owned()));
    for page in ["/orders", "/billing", "/billing/dead"] {
        assert_eq!(browser.get(page).await.status, StatusCode::OK, "{page}");
    }
    browser.post("/billing/sign-out", "").await;
    assert_eq!(browser.get("/orders").await.status, StatusCode::SEE_OTHER);
    browser.headers = vec![("host", HOST.into())];
    assert_eq!(browser.post("/billing/queue/pause", "queue=q").await.status, StatusCode::UNAUTHORIZED);
}
