//! The revival and the purge of what a preview has shown, and its page.
//! Promise: messages that died after a preview are left alone, however long the store takes, and the page of
//! an action shows no other action after a restart

use std::{sync::Arc, time::Duration};

use axum::http::StatusCode;
use claimstream_board::{Board, BoardStores};
use claimstream_domain::{
    DeadLetterFilter, DeadLetterListed, DeadLetterPage, DeadLetterPlace, MessageId, QueueName, Reason,
};
use claimstream_ports::{
    StoreError, StoreErrorKind,
    mock::{MockDeadLetters, MockObserve},
};
use uuid::Uuid;

use crate::{
    browser::{Browser, timer},
    dead::{QUERY, carry_out, confirm, field},
    graveyard::Graveyard,
};

#[tokio::test(start_paused = true)]
async fn a_work_that_the_database_refuses_is_tried_again_and_says_where_the_rest_is() {
    for (kind, tries) in [(StoreErrorKind::Unavailable, 6), (StoreErrorKind::Misconfigured, 1)] {
        let mut dead = MockDeadLetters::new();
        dead.expect_page().returning(|_, _, _| Ok(DeadLetterPage { letters: vec![letter()], next: None }));
        let refuse =
            move |_: &DeadLetterFilter| Err(StoreError::new(kind, "dead letters", "no route to db-7"));
        dead.expect_purge().times(tries).returning(refuse);
        let stores = BoardStores::new(Arc::new(MockObserve::new()), Arc::new(dead));
        let browser = Browser::of(Board::for_everyone(stores, timer()).router());
        let done = carry_out(&browser, "action=purge&queue=q").await;
        assert!(done.shows("<strong>0</strong> purged") && done.shows("refused too often"), "{}", done.text);
        assert!(!done.shows("db-7"), "{}", done.text);
    }
}

#[tokio::test(start_paused = true)]
async fn a_work_is_stopped_between_two_steps() {
    let mut dead = MockDeadLetters::new();
    dead.expect_page().returning(|_, _, limit| Ok(endless(limit)));
    dead.expect_purge().returning(|filter| Ok(filter.ids.len() as u64));
    let stores = BoardStores::new(Arc::new(MockObserve::new()), Arc::new(dead));
    let browser = Browser::of(Board::for_everyone(stores, timer()).router());
    let preview = browser.post("/dead/preview", "action=purge&queue=q").await;
    assert!(preview.shows("<strong>At least 10,000</strong> letters"), "{}", preview.text);
    let begun = browser.post("/dead/confirm", &format!("preview={}", field(&preview, "preview"))).await;
    let work = begun.header("location");
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(browser.get(work).await.shows("still under way"));
    assert_eq!(browser.post(&format!("{work}/stop"), "").await.status, StatusCode::SEE_OTHER);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let page = browser.get(work).await;
    assert!(page.shows("A user has stopped it") && !page.shows("http-equiv"), "{}", page.text);
}

/// Guard: the board changes no dead letter that was too young when it was read | src/dead_letter_job.rs `step`: no look
/// at `dead_for`
#[tokio::test(start_paused = true)]
async fn what_died_after_the_preview_stays_however_long_the_store_takes() {
    let (mut dead, mut looks) = (MockDeadLetters::new(), 0);
    let late = DeadLetterListed {
        id: MessageId::new(Uuid::from_u128(8)),
        dead_for: Duration::from_secs(1),
        ..letter()
    };
    dead.expect_page().returning(move |_, _, _| {
        looks += 1;
        let letters = if looks == 1 { vec![letter()] } else { vec![late.clone(), letter()] };
        Ok(DeadLetterPage { letters, next: None })
    });
    dead.expect_purge().times(1).returning(|filter| Ok(filter.ids.len() as u64));
    let stores = BoardStores::new(Arc::new(MockObserve::new()), Arc::new(dead));
    let browser = Browser::of(Board::for_everyone(stores, timer()).router());
    let preview = browser.post("/dead/preview", "action=purge&queue=q").await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    let done = confirm(&browser, &preview).await;
    assert!(done.shows("<strong>1</strong> purged, 2 looked at"), "{}", done.text);
}

/// Guard: one call of the board changes 200 dead letters at most | src/dead_letter_job.rs `step`: all at once
#[tokio::test(start_paused = true)]
async fn a_call_changes_two_hundred_letters_at_most_and_each_counts_although_another_is_refused() {
    let (mut dead, mut calls, mut looks) = (MockDeadLetters::new(), 0, 0);
    let next = DeadLetterPlace::new(7, letter().id);
    // The step reads 199 letters and then 200 more; of its two calls the second is refused once.
    dead.expect_page().returning(move |_, _, _| {
        looks += 1;
        let letters = vec![letter(); [1, 199, 200, 199, 200][usize::min(looks, 5) - 1]];
        Ok(DeadLetterPage { letters, next: Some(next).filter(|_| looks % 2 == 0) })
    });
    dead.expect_purge().returning(move |filter| {
        calls += 1;
        match calls {
            _ if filter.ids.len() > 200 => Ok(0),
            2 => Err(StoreError::new(StoreErrorKind::Unavailable, "dead letters", "gone")),
            3 => Ok(0),
            _ => Ok(filter.ids.len() as u64),
        }
    });
    let stores = BoardStores::new(Arc::new(MockObserve::new()), Arc::new(dead));
    let done =
        carry_out(&Browser::of(Board::for_everyone(stores, timer()).router()), "action=purge&queue=q").await;
    assert!(done.shows("<strong>399</strong> purged"), "{}", done.text);
}

/// Guard: an action has a name of its own | src/dead_letter_job.rs `begin`: numbers from 1
#[tokio::test(start_paused = true)]
async fn a_page_of_a_work_is_of_no_other_work_of_another_process() {
    let begun = async || {
        let graveyard = Graveyard::new();
        graveyard.bury(&["no"]).await;
        let browser = graveyard.browser();
        let preview = browser.post("/dead/preview", &format!("action=purge&{QUERY}")).await;
        let begun = browser.post("/dead/confirm", &format!("preview={}", field(&preview, "preview"))).await;
        (browser, begun.header("location").to_owned())
    };
    let (_, of_one) = begun().await;
    let (restarted, of_another) = begun().await;
    assert_ne!(of_one, of_another);
    let stopped = restarted.post(&format!("{of_one}/stop"), "").await;
    assert!(stopped.status == StatusCode::NOT_FOUND && stopped.shows("been restarted"), "{}", stopped.text);
}

/// A letter that has been dead for a day.
fn letter() -> DeadLetterListed {
    DeadLetterListed {
        id: MessageId::new(Uuid::from_u128(7)),
        queue: QueueName::new("q").unwrap(),
        attempts: 3,
        reason: Reason::new("no"),
        dead_for: Duration::from_secs(86_400),
    }
}

/// A page of a list that never ends.
fn endless(limit: u32) -> DeadLetterPage {
    let next = Some(DeadLetterPlace::new(7, letter().id));
    DeadLetterPage { letters: vec![letter(); limit as usize], next }
}
