//! Promise: the board finds what an index leads to, and answers every other query and any hostile text with a
//! sentence

use axum::http::StatusCode;
use claimstream_domain::{
    Disposition, MessageId, NewMessage, Payload, QueueName, Reason,
    notification::{Content, NewInAppEntry},
};
use claimstream_memory::MemoryStore;
use claimstream_ports::notification::InAppInbox;
use uuid::Uuid;

use crate::{
    browser::{Browser, Page},
    notified::Notified,
};

async fn find(browser: &Browser, by: &str, text: &str, queue: &str) -> Page {
    let escaped = |text: &str| text.bytes().map(|byte| format!("%{byte:02x}")).collect::<String>();
    let form = format!("by={by}&text={}&queue={}", escaped(text), escaped(queue));
    browser.post("/find", &form).await
}

fn message(queue: &str) -> NewMessage {
    NewMessage::new(MessageId::new(Uuid::new_v4()), QueueName::new(queue).unwrap(), Payload::json("1"))
}

#[tokio::test(start_paused = true)]
async fn an_id_leads_to_its_message_its_dead_letter_or_its_request() {
    let notified = Notified::new();
    let waiting = message("orders");
    notified.enqueue(waiting.clone()).await;
    notified.enqueue(message("dead")).await;
    let dead = notified.handle("dead", Some(Disposition::dead(Reason::new("no")))).await;
    let (request, ids) = notified.fanned_out(&["user:u-1"]).await;
    let browser = Browser::on(&notified.store);
    for (id, path) in [
        (waiting.id.to_string(), format!("/message/{}", waiting.id)),
        (format!("  {{{}}} ", waiting.id), format!("/message/{}", waiting.id)),
        (dead.to_string().to_uppercase(), format!("/dead/letters/{dead}")),
        (request.to_string(), format!("/requests/{request}")),
        (ids[0].to_string(), format!("/message/{}", ids[0])),
    ] {
        let page = find(&browser, "id", &id, "").await;
        assert_eq!((page.status, page.header("location")), (StatusCode::SEE_OTHER, path.as_str()), "{id}");
        assert_eq!(browser.get(&path).await.status, StatusCode::OK, "{path}");
    }
    let unknown = find(&browser, "id", &Uuid::nil().to_string(), "").await;
    assert!(
        unknown.status == StatusCode::NOT_FOUND && unknown.shows("Nothing has this id"),
        "{}",
        unknown.text
    );
}

#[tokio::test(start_paused = true)]
async fn a_dedup_key_leads_to_the_message_that_has_taken_it() {
    let notified = Notified::new();
    let keyed = message("orders").unique_by("<b>order-7</b>".parse().unwrap());
    notified.enqueue(keyed.clone()).await;
    let browser = Browser::on(&notified.store);
    let page = find(&browser, "dedup_key", " <b>order-7</b> ", "orders").await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(page.shows(&format!("href=\"/message/{}\"", keyed.id)) && !page.shows("<b>"), "{}", page.text);
    assert!(
        page.shows("<option value=\"dedup_key\" selected>"),
        "the form keeps what was asked: {}",
        page.text
    );
    let other = find(&browser, "dedup_key", "order-8", "orders").await;
    assert!(
        other.status == StatusCode::NOT_FOUND && other.shows("No message has taken this key"),
        "{}",
        other.text
    );
    let nowhere = find(&browser, "dedup_key", "order-7", "").await;
    assert!(
        nowhere.status == StatusCode::BAD_REQUEST && nowhere.shows("Name the queue too"),
        "{}",
        nowhere.text
    );
}

#[tokio::test(start_paused = true)]
async fn a_recipient_leads_to_an_inbox_and_what_no_index_serves_is_refused_with_what_works() {
    let notified = Notified::new();
    let entry = NewInAppEntry {
        id: Uuid::new_v4(),
        request_id: Uuid::new_v4(),
        user: "u-<1>".into(),
        content: Content { title: Some("secret".into()), ..Content::default() },
    };
    notified.store.put(std::slice::from_ref(&entry)).await.unwrap();
    let browser = Browser::on(&notified.store);
    for text in ["u-<1>", "user:u-<1>"] {
        let page = find(&browser, "recipient", text, "").await;
        assert_eq!(page.status, StatusCode::OK, "{}", page.text);
        let of_request = format!("href=\"/requests/{}\"", entry.request_id);
        assert!(
            page.shows(&format!("href=\"/message/{}\"", entry.id)) && page.shows(&of_request),
            "{}",
            page.text
        );
        assert!(!page.shows("secret"), "{}", page.text);
    }
    for (by, text) in [("ordering_key", "account-7"), ("recipient", "ann@example.com")] {
        let page = find(&browser, by, text, "").await;
        assert_eq!(page.status, StatusCode::BAD_REQUEST);
        assert!(page.shows("No index leads from") && page.shows("Look for"), "{}", page.text);
    }
    let unknown = find(&browser, "recipient", "u-2", "").await;
    assert!(unknown.status == StatusCode::NOT_FOUND && unknown.shows("inbox of this user is empty"));
}

#[tokio::test(start_paused = true)]
async fn hostile_text_is_answered_with_a_sentence_and_stands_in_no_address() {
    let browser = Browser::on(&MemoryStore::new());
    let long = "ü".repeat(4_000);
    let texts = [
        "",
        " \n\t ",
        "\0",
        "' OR 1=1 --",
        "\"><script>alert(1)</script>",
        "{{7*7}}",
        "00000000-0000-0000-0000-000000000000\0",
        "\u{202e}gnp",
        "%",
        &long,
    ];
    for by in ["id", "dedup_key", "ordering_key", "recipient", "", "payload", "%3Cb%3E"] {
        for text in texts {
            for queue in ["", "orders", "\0", "<script>", &long] {
                // Longer forms than these are refused unread.
                if text.len() + queue.len() > 5_000 {
                    continue;
                }
                let page = find(&browser, by, text, queue).await;
                let (said, context) =
                    (page.status.as_u16(), format!("{by} {text:?} {queue:?}: {}", page.text));
                assert!([400, 404, 413].contains(&said), "{said} {context}");
                assert!(!page.shows("<script") && !page.shows("<b>"), "{context}");
                assert_eq!(page.header("location"), "");
            }
        }
    }
    let raw = browser.post("/find", "by=id&text=%ff%fe%00&queue=%").await;
    assert_eq!(raw.status, StatusCode::BAD_REQUEST);
    let form = browser.get("/find?text=%3Cscript%3E").await;
    assert!(form.status == StatusCode::OK && !form.shows("script&#62;"), "{}", form.text);
    let stranger = Browser::guarded(&MemoryStore::new());
    assert_eq!(stranger.get("/find").await.status, StatusCode::SEE_OTHER);
}
