//! Promise: each change by the program or the board, and each payload that the board shows, is recorded in
//! the audit log first, with a name and without a reason or payload; what cannot be recorded is not done

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use async_trait::async_trait;
use axum::http::StatusCode;
use claimstream_board::{Board, BoardStores, Right, User, Users};
use claimstream_domain::{AuditAction, AuditEntry, AuditListed, DeadLetterFilter};
use claimstream_memory::MemoryStore;
use claimstream_ports::{
    AuditLog, DeadLetters, PauseQueues, StoreError, StoreErrorKind,
    mock::{MockAuditLog, MockDeadLetters, MockObserve},
};

use crate::{
    browser::{Browser, timer},
    dead::{QUERY, carry_out, confirm},
    graveyard::{Graveyard, QUEUE},
};

/// An audit log that can be broken.
struct Breakable {
    store: MemoryStore,
    is_broken: AtomicBool,
}

#[async_trait]
impl AuditLog for Breakable {
    async fn note_action(&self, entry: &AuditEntry) -> Result<(), StoreError> {
        match self.is_broken.load(Relaxed) {
            true => Err(StoreError::new(StoreErrorKind::Unavailable, "note an action", "no route to db-7")),
            false => self.store.note_action(entry).await,
        }
    }

    async fn entries(&self, after: Option<u64>, limit: u32) -> Result<Vec<AuditListed>, StoreError> {
        self.store.entries(after, limit).await
    }
}

async fn entries(store: &MemoryStore) -> Vec<(String, String, Option<u64>)> {
    let mut entries = store.entries(None, 100).await.unwrap();
    entries.reverse();
    entries.into_iter().map(|entry| (entry.action, entry.subject, entry.count)).collect()
}

fn noted(action: &str, subject: &str) -> (String, String, Option<u64>) {
    (action.into(), subject.into(), None)
}

/// Guard: the audit log contains no text of an error | src/selection.rs `subject`: the class
#[tokio::test(start_paused = true)]
async fn every_change_and_each_payload_that_is_shown_has_its_entry_with_a_name() {
    let graveyard = Graveyard::new();
    let ids = graveyard.bury(&["mailbox full", "timed out after 1 ms", "mailbox full"]).await;
    let browser = Browser::guarded(&graveyard.store).sign_in("changes").await;
    assert!(browser.get("/audit").await.shows("No action is noted yet."));
    browser.post(&format!("/dead/letters/{}/payload", ids[1]), "").await;
    carry_out(&browser, &format!("action=purge&{QUERY}&class=mailbox+full")).await;
    carry_out(&browser, &format!("action=revive&{QUERY}&id={}", ids[1])).await;
    browser.post("/queue/pause", &format!("{QUERY}&why=the+secret+reason")).await;
    // What changes nothing has no entry.
    browser.post("/queue/pause", QUERY).await;
    browser.post("/queue/resume", QUERY).await;
    browser.post("/queue/resume", QUERY).await;
    let (letter, class) = (
        format!("dead letter {} of queue {QUEUE}", ids[1]),
        format!("dead letters of one error of queue {QUEUE}"),
    );
    let queue = format!("queue {QUEUE}");
    let expected = [
        noted("show payload", &letter),
        noted("purge", &class),
        ("purged".into(), class.clone(), Some(2)),
        noted("revive", &letter),
        ("revived".into(), letter.clone(), Some(1)),
        noted("pause", &queue),
        noted("resume", &queue),
    ];
    assert_eq!(entries(&graveyard.store).await, expected);
    let page = browser.get("/audit").await;
    assert_eq!(page.text.matches("<bdi>changes-&#60;b&#62;</bdi></td>").count(), 7, "{}", page.text);
    assert!(page.text.find("<td>resume</td>") < page.text.find("<td>show payload</td>"), "newest first");
    assert!(page.shows("orders&#38;&#60;i&#62;") && !page.shows("<i>"), "{}", page.text);
    for hidden in ["mailbox full", "timed out", "alert(", "ann@example.com", "secret reason"] {
        assert!(!page.shows(hidden), "{hidden}: {}", page.text);
    }
}

/// Guard: an action that cannot be recorded is not done | src/request_context.rs `note`: an error is ignored
#[tokio::test(start_paused = true)]
async fn nothing_is_done_that_cannot_be_noted_and_it_is_done_later() {
    let graveyard = Graveyard::new();
    let id = graveyard.bury(&["no", "no"]).await[0];
    let log = Arc::new(Breakable { store: graveyard.store.clone(), is_broken: AtomicBool::new(true) });
    let stores = graveyard.stores().with_audit(log.clone());
    let browser = Browser::of(Board::for_everyone(stores, timer()).router());
    let preview = browser.post("/dead/preview", &format!("action=purge&{QUERY}")).await;
    let name = crate::dead::field(&preview, "preview");
    for (path, form) in [
        (format!("/dead/letters/{id}/payload"), String::new()),
        ("/dead/confirm".into(), format!("preview={name}")),
        ("/queue/pause".into(), QUERY.into()),
    ] {
        let page = browser.post(&path, &form).await;
        assert_eq!(page.status, StatusCode::SERVICE_UNAVAILABLE, "{path}: {}", page.text);
        assert!(page.shows("Nothing was done, because the audit log"), "{path}: {}", page.text);
        assert!(!page.shows("alert(") && !page.shows("db-7"), "{path}: {}", page.text);
    }
    assert_eq!(graveyard.dead_and_due().await, (2, 0));
    assert_eq!(graveyard.store.paused().await.unwrap(), []);
    log.is_broken.store(false, Relaxed);
    assert!(
        confirm(&browser, &preview).await.shows("<strong>2</strong> purged"),
        "the preview is still there"
    );
    assert!(browser.post(&format!("/dead/letters/{id}/payload"), "").await.shows("no dead letter"));
    browser.post("/queue/pause", QUERY).await;
    assert_eq!(graveyard.store.paused().await.unwrap().len(), 1);
    log.is_broken.store(true, Relaxed);
    let page = browser.post("/queue/resume", QUERY).await;
    assert_eq!((page.status.as_u16(), graveyard.store.paused().await.unwrap().len()), (503, 1));
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_work_is_noted_once_the_log_can_be_written_again() {
    let graveyard = Graveyard::new();
    graveyard.bury(&["no", "no"]).await;
    let (mut log, mut calls) = (MockAuditLog::new(), 0);
    log.expect_note_action().times(4).returning(move |entry| {
        calls += 1;
        match (calls, entry.action()) {
            (1, AuditAction::Purge) => Ok(()),
            (2 | 3, AuditAction::Purged) => {
                Err(StoreError::new(StoreErrorKind::Unavailable, "note an action", "gone"))
            }
            (4, AuditAction::Purged) if entry.count() == Some(2) => Ok(()),
            _ => panic!("{calls}: {entry:?}"),
        }
    });
    let stores = graveyard.stores().with_audit(Arc::new(log));
    let browser = Browser::of(Board::for_everyone(stores, timer()).router());
    let done = carry_out(&browser, &format!("action=purge&{QUERY}")).await;
    assert!(done.shows("<strong>2</strong> purged"), "{}", done.text);
}

/// Guard: an action whose store panics ends | src/dead_letter_job.rs `carry_out`: no `catch_unwind`
#[tokio::test(start_paused = true)]
async fn a_work_whose_store_panics_has_failed_and_its_end_is_noted() {
    let graveyard = Graveyard::new();
    graveyard.bury(&["no", "no"]).await;
    let shown = DeadLetters::page(&graveyard.store, &DeadLetterFilter::default(), None, 200).await.unwrap();
    let (mut panics, mut calls) = (MockDeadLetters::new(), 0);
    panics.expect_page().returning(move |_, _, _| {
        calls += 1;
        assert!(calls < 2, "the preview reads one page");
        Ok(shown.clone())
    });
    let stores = BoardStores::new(Arc::new(graveyard.store.clone()), Arc::new(panics));
    let stores = stores.with_audit(Arc::new(graveyard.store.clone()));
    let browser = Browser::of(Board::for_everyone(stores, timer()).router());
    let ended = carry_out(&browser, &format!("action=purge&{QUERY}")).await;
    assert!(ended.shows("or the store has a fault"), "{}", ended.text);
    assert!(
        entries(&graveyard.store).await.iter().any(|(action, ..)| action == "purged"),
        "its end is noted"
    );
}

#[tokio::test(start_paused = true)]
async fn entries_are_shown_page_by_page_without_a_gap() {
    let store = MemoryStore::with_manual_clock();
    for number in 0..120 {
        let entry = AuditEntry::new("ann", AuditAction::Pause, &format!("number {number};")).unwrap();
        store.note_action(&entry).await.unwrap();
        store.advance(Duration::from_secs(60));
    }
    let browser = Browser::on(&store);
    let (mut path, mut found, mut pages) = ("/audit".to_owned(), Vec::new(), 0);
    loop {
        let page = browser.get(&path).await;
        let subjects = page.text.split("<bdi>number ").skip(1).map(|rest| rest.split(';').next().unwrap());
        found.extend(subjects.map(|number| number.parse::<u32>().unwrap()));
        pages += 1;
        let Some(next) = page.text.split("rel=\"next\" href=\"").nth(1) else { break };
        path = next.split('"').next().unwrap().to_owned();
    }
    assert_eq!((found, pages), ((0..120).rev().collect(), 3));
    assert!(browser.get("/audit").await.shows("<th scope=\"row\">1m</th>"));
    assert!(browser.get("/audit?after=1").await.shows("There is nothing older."));
    for place in ["-1", "x", "99999999999999999999"] {
        let page = browser.get(&format!("/audit?after={place}")).await;
        assert_eq!(page.status, StatusCode::BAD_REQUEST, "{place}");
    }
}

#[tokio::test(start_paused = true)]
async fn words_that_would_be_markup_are_text() {
    let mut log = MockAuditLog::new();
    let hostile = "<script>alert(1)</script>";
    log.expect_entries().returning(move |_, _| {
        let words = || hostile.to_owned();
        Ok(vec![AuditListed {
            number: 7,
            age: Duration::ZERO,
            actor: words(),
            action: words(),
            subject: words(),
            count: Some(u64::MAX),
        }])
    });
    let stores = BoardStores::new(Arc::new(MockObserve::new()), Arc::new(MockDeadLetters::new()));
    let page = Browser::of(Board::for_everyone(stores.with_audit(Arc::new(log)), timer()).router())
        .get("/audit")
        .await;
    assert_eq!(page.text.matches("&#60;script&#62;alert(1)").count(), 3, "{}", page.text);
    assert!(!page.shows("<script"), "{}", page.text);
}

/// Everybody has a name that is too long.
struct LongNames;

impl Users for LongNames {
    fn identify(&self, _: &str) -> Option<User> {
        Some(User { name: "x".repeat(65), right: Right::Change })
    }
}

#[tokio::test(start_paused = true)]
async fn a_name_that_cannot_be_noted_does_nothing() {
    let graveyard = Graveyard::new();
    let id = graveyard.bury(&["no"]).await[0];
    let board = Board::for_users(graveyard.stores(), timer(), Arc::new(LongNames));
    let browser = Browser::of(board.router()).sign_in("any").await;
    let page = browser.post(&format!("/dead/letters/{id}/payload"), "").await;
    assert!(page.status == StatusCode::FORBIDDEN && page.shows("at most 64"), "{}", page.text);
    assert!(!page.shows("alert("), "{}", page.text);
    browser.post("/queue/pause", QUERY).await;
    assert_eq!(graveyard.store.paused().await.unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn a_board_without_a_log_has_no_page_of_it() {
    let stores = BoardStores::new(Arc::new(MockObserve::new()), Arc::new(MockDeadLetters::new()));
    let browser = Browser::of(Board::for_everyone(stores, timer()).router());
    for path in ["/audit", "/doctor"] {
        let page = browser.get(path).await;
        assert!(page.status == StatusCode::NOT_FOUND && !page.shows(&format!("href=\"{path}\"")), "{path}");
    }
}
