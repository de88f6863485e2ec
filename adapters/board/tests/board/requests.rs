//! Promise: recipients and texts of providers about them are hidden on the board until a POST asks for them;
//! a preview cancels no request, its confirmation cancels what is pending, and a token that only looks can do
//! neither

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use axum::http::StatusCode;
use claimstream_board::{Board, BoardStores};
use claimstream_domain::{
    Disposition, Reason,
    notification::{DeliveryStatus, MESSAGE_QUEUE, ReceiptKind},
};
use claimstream_ports::notification::NotificationReports;
use uuid::Uuid;

use crate::{
    browser::{Browser, Page, TwoTokens, stores, timer},
    notified::{Notified, REQUESTER},
};

const HOSTILE: &str = "address:<script>alert('recipient')</script>@example.com";

/// The addresses that a page links to under a path.
fn links(page: &Page, path: &str) -> Vec<String> {
    let start = format!("href=\"{path}");
    let found = page.text.split(&start).skip(1);
    found.map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
}

/// Guard: recipients are hidden | src/pages/request.rs `show`: `Sight::Shown`
#[tokio::test(start_paused = true)]
async fn a_request_shows_where_each_of_its_messages_stands_and_no_recipient() {
    let notified = Notified::new();
    let (request, ids) = notified.fanned_out(&[HOSTILE, "user:u-2", "user:u-3"]).await;
    let busy = Reason::new("450 try ann@example.com later");
    let after = Duration::from_secs(300);
    let retried =
        notified.handle(MESSAGE_QUEUE, Some(Disposition::Retry { after, reason: busy })).await.uuid();
    notified.attempted(retried, 1, Some("450 try ann@example.com later")).await;
    let others: Vec<Uuid> = ids.into_iter().filter(|id| *id != retried).collect();
    notified.conclude(others[0], DeliveryStatus::Failed, Some("550 no mailbox bob@example.com")).await;
    notified.conclude(others[1], DeliveryStatus::Delivered, None).await;
    notified.received(others[1], ReceiptKind::Bounced).await;

    let browser = Browser::guarded(&notified.store).sign_in("looks").await;
    let page = browser.get(&format!("/requests/{request}")).await;
    assert_eq!(page.status, StatusCode::OK, "{}", page.text);
    for text in [
        "<dt>Status</dt><dd>DISPATCHED</dd>",
        "service shop-&#60;b&#62;7&#60;/b&#62;",
        "next attempt in 5m",
        "<bdi>smtp-one</bdi>",
        "<bdi>450 try # later</bdi>",
        "<bdi>550 no mailbox #</bdi>",
        "<td>bounced</td>",
        "<dt>Receipts: bounced</dt><dd>1</dd>",
        "<dt>Taken in</dt><dd>1m ago</dd>",
    ] {
        assert!(page.shows(text), "{text}: {}", page.text);
    }
    assert_eq!(page.text.matches("<td class=\"reason\">hidden</td>").count(), 3);
    assert!(!page.shows("example.com") && !page.shows("u-2"), "{}", page.text);
    assert_eq!(links(&page, "/message/").len(), 4, "its own message and three more");
    assert!(!page.shows("Cancel the request"), "this token only looks: {}", page.text);

    let shown = browser.post(&format!("/requests/{request}/recipients"), "").await;
    assert!(
        shown.shows("&#60;script&#62;alert(&#39;recipient&#39;)") && shown.shows("user:u-2"),
        "{}",
        shown.text
    );
    assert!(shown.shows("550 no mailbox bob@example.com") && !shown.shows("<script"), "{}", shown.text);
    let by_get = browser.get(&format!("/requests/{request}/recipients")).await;
    assert_eq!(by_get.status, StatusCode::METHOD_NOT_ALLOWED);
}

#[tokio::test(start_paused = true)]
async fn the_messages_of_a_request_are_paged_and_each_is_there_once() {
    let notified = Notified::new();
    let recipients: Vec<String> = (0..60).map(|n| format!("user:u-{n}")).collect();
    let recipients: Vec<&str> = recipients.iter().map(String::as_str).collect();
    let (request, ids) = notified.fanned_out(&recipients).await;
    let browser = Browser::on(&notified.store);
    let (mut path, mut found) = (format!("/requests/{request}"), Vec::new());
    loop {
        let page = browser.get(&path).await;
        let of_page = links(&page, "/message/");
        assert!(of_page.len() <= 26, "{}", page.text);
        found.extend(of_page.into_iter().filter(|id| *id != request.to_string()));
        let Some(next) = page.text.split("rel=\"next\" href=\"").nth(1) else { break };
        path = next.split('"').next().unwrap().to_owned();
        // What a page hides, it shows of this page alone.
        let after = path.split("after=").nth(1).unwrap();
        let shown = browser.post(&format!("/requests/{request}/recipients"), &format!("after={after}")).await;
        assert!(shown.shows("First page") && shown.shows("user:u-"), "{}", shown.text);
    }
    let distinct: BTreeSet<String> = found.iter().cloned().collect();
    assert_eq!((found.len(), distinct), (60, ids.iter().map(ToString::to_string).collect()));
}

#[tokio::test(start_paused = true)]
async fn requests_are_listed_newest_first_by_status_and_requester() {
    let notified = Notified::new();
    let mut all = Vec::new();
    for _ in 0..60 {
        all.push(notified.submitted("shop-1").await);
    }
    let (fanned_out, _) = notified.fanned_out(&["user:u-1"]).await;
    let browser = Browser::on(&notified.store);
    let page = browser.get("/requests").await;
    assert_eq!(page.status, StatusCode::OK, "{}", page.text);
    let mut listed = links(&page, "/requests/");
    assert_eq!((listed.len(), listed[0].as_str()), (50, fanned_out.to_string().as_str()));
    let next = page.text.split("rel=\"next\" href=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let second = browser.get(&next).await;
    listed.extend(links(&second, "/requests/"));
    all.reverse();
    assert_eq!(listed[1..], all.iter().map(ToString::to_string).collect::<Vec<_>>());
    assert!(second.shows("First page") && !second.shows("rel=\"next\""), "{}", second.text);

    let of_status = browser.get("/requests?status=DISPATCHED&requester=").await;
    assert_eq!(links(&of_status, "/requests/"), [fanned_out.to_string()]);
    assert!(of_status.shows("<option selected>DISPATCHED</option>"), "{}", of_status.text);
    let of_one = browser.get("/requests?requester=shop-%3Cb%3E7%3C%2Fb%3E").await;
    assert_eq!(links(&of_one, "/requests/"), [fanned_out.to_string()]);
    assert!(of_one.shows("value=\"shop-&#60;b&#62;7&#60;/b&#62;\""), "{}", of_one.text);
    assert!(REQUESTER.contains("<b>"));
    let hostile = browser.get("/requests?requester=%22%3E%3Cscript%3Ealert(1)%3C/script%3E").await;
    assert!(hostile.shows("No request matches") && !hostile.shows("<script"), "{}", hostile.text);
    let long = format!("/requests?requester={}", "x".repeat(129));
    for refused in ["/requests?status=%3Cb%3E", "/requests?after=7", &long] {
        let page = browser.get(refused).await;
        assert!(page.status == StatusCode::BAD_REQUEST && !page.shows("<b>"), "{refused}: {}", page.text);
    }
    for unknown in ["/requests/7", "/requests/%00", "/requests/01890a5d-ac96-774b-bcce-b302099a8057"] {
        assert_eq!(browser.get(unknown).await.status, StatusCode::NOT_FOUND, "{unknown}");
    }
    let after = browser.get(&format!("/requests/{fanned_out}?after=x")).await;
    assert_eq!(after.status, StatusCode::BAD_REQUEST);
}

/// Guard: a preview of a cancellation cancels nothing | src/pages/request_cancel.rs `preview`: it cancels
#[tokio::test(start_paused = true)]
async fn a_preview_cancels_nothing_and_its_confirmation_takes_back_what_is_pending() {
    let notified = Notified::new();
    let (request, ids) = notified.fanned_out(&["user:u-1", "user:u-2", "user:u-3"]).await;
    notified.conclude(ids[0], DeliveryStatus::Delivered, None).await;
    let browser = Browser::guarded(&notified.store).sign_in("changes").await;
    let page = browser.get(&format!("/requests/{request}")).await;
    assert!(page.shows("Cancel the request …"), "{}", page.text);
    let preview = browser.post(&format!("/requests/{request}/cancel"), "").await;
    assert_eq!(preview.status, StatusCode::OK, "{}", preview.text);
    assert!(preview.shows("2 pending messages") && preview.shows("<dt>Delivered before</dt><dd>1</dd>"));
    let pending = async || notified.store.progress(request).await.unwrap().unwrap().pending;
    assert_eq!(pending().await, 2, "a preview changes nothing");

    let done = browser.post(&format!("/requests/{request}/cancel/confirm"), "").await;
    assert_eq!(done.status, StatusCode::OK, "{}", done.text);
    assert!(done.shows("<dd>2 messages, at most 0 of them"), "{}", done.text);
    assert_eq!(pending().await, 0);
    let page = browser.get(&format!("/requests/{request}")).await;
    assert!(page.shows("<dd>CANCELLED</dd>") && !page.shows("Cancel the request"), "{}", page.text);
    let late = browser.post(&format!("/requests/{request}/cancel"), "").await;
    assert!(
        late.status == StatusCode::CONFLICT && late.shows("nothing is left to take back"),
        "{}",
        late.text
    );
    let unknown = browser.post(&format!("/requests/{}/cancel/confirm", Uuid::nil()), "").await;
    assert_eq!(unknown.status, StatusCode::NOT_FOUND);
}

/// Guard: cancelling needs the right to | src/board.rs `router`: its routes outside of `changing`
#[tokio::test(start_paused = true)]
async fn no_user_cancels_with_a_token_that_looks_or_on_a_board_that_is_read_only() {
    let notified = Notified::new();
    let (request, _) = notified.fanned_out(&["user:u-1"]).await;
    let read_only = Board::for_users(stores(&notified.store), timer(), Arc::new(TwoTokens)).read_only();
    for (browser, token) in
        [(Browser::guarded(&notified.store), "looks"), (Browser::of(read_only.router()), "changes")]
    {
        let browser = browser.sign_in(token).await;
        assert!(!browser.get(&format!("/requests/{request}")).await.shows("Cancel the request"));
        for action in ["cancel", "cancel/confirm"] {
            let refused = browser.post(&format!("/requests/{request}/{action}"), "").await;
            assert_eq!(refused.status, StatusCode::FORBIDDEN, "{token} {action}");
        }
    }
    assert_eq!(notified.store.progress(request).await.unwrap().unwrap().pending, 1);
    let stranger = Browser::guarded(&notified.store);
    assert_eq!(stranger.get("/requests").await.status, StatusCode::SEE_OTHER);
    let foreign = [("sec-fetch-site", "cross-site")];
    let open = Browser::on(&notified.store);
    let refused = open.call("POST", &format!("/requests/{request}/cancel/confirm"), &foreign, "").await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
}

#[tokio::test(start_paused = true)]
async fn a_board_has_the_pages_that_its_stores_can_fill() {
    let notified = Notified::new();
    let (request, _) = notified.fanned_out(&["user:u-1"]).await;
    let store = Arc::new(notified.store.clone());
    let few = BoardStores::new(store.clone(), store.clone());
    let some = few.clone().with_messages(store.clone(), store);
    for (stores, finds) in [(few, false), (some, true)] {
        let browser = Browser::of(Board::for_everyone(stores, timer()).router());
        let page = browser.get("/").await;
        assert_eq!((page.shows("href=\"/find\""), page.shows("href=\"/requests\"")), (finds, false));
        for path in ["/requests", &format!("/requests/{request}")] {
            assert_eq!(browser.get(path).await.status, StatusCode::NOT_FOUND, "{path}");
        }
        let expected = if finds { StatusCode::OK } else { StatusCode::NOT_FOUND };
        assert_eq!(browser.get("/find").await.status, expected);
        assert_eq!(browser.get(&format!("/message/{request}")).await.status, expected);
        let unknown = browser.post("/find", "by=recipient&text=u-1").await;
        assert_eq!(unknown.status, StatusCode::NOT_FOUND, "{}", unknown.text);
    }
}
