//! Promise: the board shows the findings of doctor, the worst first

use std::sync::Arc;

use axum::http::StatusCode;
use claimstream_board::{Board, BoardStores};
use claimstream_domain::{Finding, FindingGroup, Severity};
use claimstream_memory::MemoryStore;
use claimstream_ports::{
    StoreError, StoreErrorKind,
    mock::{MockDeadLetters, MockObserve, MockSelfCheck},
};

use crate::browser::{Browser, timer};

fn board(check: MockSelfCheck) -> Browser {
    let stores = BoardStores::new(Arc::new(MockObserve::new()), Arc::new(MockDeadLetters::new()));
    Browser::of(Board::for_everyone(stores.with_check(Arc::new(check)), timer()).router())
}

fn finding(severity: Severity, check: &'static str, detail: &str) -> Finding {
    Finding { severity, check, detail: detail.into() }
}

#[tokio::test(start_paused = true)]
async fn the_worst_findings_come_first_and_many_users_share_a_check() {
    use Severity::{Failure, Good, Warning};
    let mut check = MockSelfCheck::new();
    check.expect_check().times(1).returning(|| {
        let outbox = vec![
            finding(Good, "server", "MariaDB 11.8"),
            finding(Warning, "ids", "queue <script>alert(1)</script>"),
            finding(Good, "schema", "version 4"),
        ];
        let channels = vec![finding(Good, "directory", "d"), finding(Failure, "channel", "sms: no key")];
        Ok(vec![
            FindingGroup { about: "outbox", findings: outbox },
            FindingGroup { about: "serve", findings: vec![] },
            FindingGroup { about: "notifications", findings: channels },
        ])
    });
    let browser = board(check);
    for _ in 0..3 {
        let page = browser.get("/doctor").await;
        assert_eq!(page.status, StatusCode::OK);
        let order =
            ["<h2>notifications", ">channel<", ">directory<", "<h2>outbox", ">ids<", ">server<", ">schema<"];
        let places: Vec<_> = order.iter().map(|text| page.text.find(text)).collect();
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?} {}", page.text);
        assert!(page.shows("1 failure</strong>, 1 warning, 3 ok"), "{}", page.text);
        assert!(!page.shows("<h2>serve") && !page.shows("<script"), "{}", page.text);
    }
}

#[tokio::test(start_paused = true)]
async fn a_check_that_the_database_refuses_is_a_sentence_without_its_words() {
    let mut check = MockSelfCheck::new();
    check
        .expect_check()
        .times(1)
        .returning(|| Err(StoreError::new(StoreErrorKind::Unavailable, "doctor", "no route to db-7")));
    let browser = board(check);
    for _ in 0..2 {
        let page = browser.get("/doctor").await;
        assert!(page.status == StatusCode::SERVICE_UNAVAILABLE && !page.shows("db-7"), "{}", page.text);
    }
}

#[tokio::test(start_paused = true)]
async fn a_check_that_takes_long_is_given_up() {
    struct Endless;
    #[async_trait::async_trait]
    impl claimstream_ports::SelfCheck for Endless {
        async fn check(&self) -> Result<Vec<FindingGroup>, StoreError> {
            std::future::pending().await
        }
    }
    let stores = BoardStores::new(Arc::new(MockObserve::new()), Arc::new(MockDeadLetters::new()));
    let browser = Browser::of(Board::for_everyone(stores.with_check(Arc::new(Endless)), timer()).router());
    let page = browser.get("/doctor").await;
    assert!(page.status == StatusCode::SERVICE_UNAVAILABLE && page.shows("took too long"), "{}", page.text);
}

#[tokio::test(start_paused = true)]
async fn the_store_says_what_it_finds_to_everybody_who_may_look() {
    let store = MemoryStore::new();
    let page = Browser::guarded(&store).sign_in("looks").await.get("/doctor").await;
    assert!(
        page.shows("<a href=\"/doctor\">Doctor</a>") && page.shows("memory of this process"),
        "{}",
        page.text
    );
}
