//! Promise: the board shows a message in every state, also while it is handled

use std::{sync::Arc, time::Duration};

use axum::http::StatusCode;
use claimstream_board::{Board, BoardStores};
use claimstream_domain::{
    Disposition, Headers, MessageCarried, MessageId, MessageKept, MessageStanding, MessageState, NewMessage,
    Payload, QueueName, Reason, Shard,
    notification::{DeliveryStatus, MESSAGE_QUEUE, ReceiptKind},
};
use claimstream_ports::{
    StoreError, StoreErrorKind,
    mock::{MockDeadLetters, MockFindMessages, MockObserve, MockReadMessages},
};
use uuid::Uuid;

use crate::{
    browser::{Browser, timer},
    notified::Notified,
};

const QUEUE: &str = "orders&<i>\"mails\"</i>";
const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

fn message(queue: &str) -> NewMessage {
    let mut headers = Headers::new();
    headers.insert("x-for", "ann@example.com").unwrap();
    headers.set_trace(TRACE, None).unwrap();
    let payload = Payload::new("text/<b>", b"<script>alert('payload')</script>".to_vec()).unwrap();
    let message = NewMessage::new(MessageId::new(Uuid::new_v4()), QueueName::new(queue).unwrap(), payload);
    message.with_headers(headers).ordered_by("k-<u>".parse().unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_message_is_shown_in_each_state() {
    let notified = Notified::new();
    let browser = Browser::on(&notified.store);
    let due = message("due");
    notified.enqueue(due.clone()).await;
    let later = message("later").deliver_after(Duration::from_secs(7_200));
    notified.enqueue(later.clone()).await;
    let mut others = Vec::new();
    let reason = || Reason::new("<script>alert('reason')</script> 503");
    let retry = Disposition::Retry { after: Duration::from_secs(900), reason: reason() };
    for (queue, disposition) in
        [("held", None), ("retried", Some(retry)), ("dead", Some(Disposition::dead(reason())))]
    {
        notified.enqueue(message(queue)).await;
        others.push(notified.handle(queue, disposition).await);
    }
    notified.store.advance(Duration::from_secs(10));
    for (id, texts) in [
        (due.id, ["<dd>due for 10s</dd>", "<dt>Attempts</dt><dd>0</dd>", "href=\"/queue?queue=due\""]),
        (later.id, ["scheduled, due in 1h 59m", "<dt>Attempts</dt><dd>0</dd>", TRACE]),
        (
            others[0],
            ["<dd>leased, for 20s more", "<bdi>a relay without a label</bdi>", "Written</dt><dd>10s ago"],
        ),
        (
            others[1],
            ["retrying, next attempt in 14m 50s", "<dt>Attempts</dt><dd>1</dd>", "&#60;/script&#62; 503"],
        ),
        (others[2], ["<dd>dead for 10s", "the dead letter", "&#60;/script&#62; 503"]),
    ] {
        let page = browser.get(&format!("/message/{id}")).await;
        assert_eq!(page.status, StatusCode::OK, "{}", page.text);
        for text in texts {
            assert!(page.shows(text), "{text}: {}", page.text);
        }
        assert!(!page.shows("<script") && !page.shows("ann@example.com"), "{}", page.text);
    }
    let dead = browser.get(&format!("/message/{}", others[2])).await;
    assert!(dead.shows(&format!("href=\"/dead/letters/{}\"", others[2])), "{}", dead.text);
    let letter = browser.get(&format!("/dead/letters/{}", others[2])).await;
    assert!(letter.shows(&format!("href=\"/message/{}\"", others[2])), "{}", letter.text);
    for unknown in [&Uuid::nil().to_string(), "7", "%00", "%3Cscript%3E"] {
        let page = browser.get(&format!("/message/{unknown}")).await;
        assert!(page.status == StatusCode::NOT_FOUND && !page.shows("<script"), "{unknown}: {}", page.text);
    }
}

#[tokio::test(start_paused = true)]
async fn a_payload_is_hidden_until_a_user_asks_for_it_by_a_post() {
    let notified = Notified::new();
    let message = message(QUEUE);
    notified.enqueue(message.clone()).await;
    let browser = Browser::guarded(&notified.store).sign_in("looks").await;
    let page = browser.get(&format!("/message/{}", message.id)).await;
    for text in ["33 bytes", "text/&#60;b&#62;", "k-&#60;u&#62;", "orders&#38;&#60;i&#62;", TRACE] {
        assert!(page.shows(text), "{text}: {}", page.text);
    }
    assert!(!page.shows("payload&#39;)") && !page.shows("x-for"), "{}", page.text);
    let shown = browser.post(&format!("/message/{}/payload", message.id), "").await;
    assert!(
        shown.shows("&#60;script&#62;alert(&#39;payload&#39;)") && shown.shows("ann@example.com"),
        "{}",
        shown.text
    );
    assert!(!shown.shows("<script"), "{}", shown.text);
    let by_get = browser.get(&format!("/message/{}/payload", message.id)).await;
    assert_eq!(by_get.status, StatusCode::METHOD_NOT_ALLOWED);
    let unknown = browser.post(&format!("/message/{}/payload", Uuid::nil()), "").await;
    assert_eq!(unknown.status, StatusCode::NOT_FOUND);
    let foreign = [("sec-fetch-site", "cross-site")];
    let refused = browser.call("POST", &format!("/message/{}/payload", message.id), &foreign, "").await;
    assert!(refused.status == StatusCode::FORBIDDEN && !refused.shows("ann@example.com"));
}

#[tokio::test(start_paused = true)]
async fn a_notification_has_its_request_its_attempts_and_its_receipts_and_hides_its_recipient() {
    let notified = Notified::new();
    let (request, ids) = notified.fanned_out(&["address:ann@example.com"]).await;
    let reason = Reason::new("450 try ann@example.com later");
    let retry = Disposition::Retry { after: Duration::ZERO, reason };
    notified.handle(MESSAGE_QUEUE, Some(retry)).await;
    notified.attempted(ids[0], 1, Some("450 try ann@example.com later")).await;
    notified.store.advance(Duration::from_secs(60));
    notified.attempted(ids[0], 2, None).await;
    notified.conclude(ids[0], DeliveryStatus::Delivered, None).await;
    notified.received(ids[0], ReceiptKind::Opened).await;
    let browser = Browser::on(&notified.store);
    let page = browser.get(&format!("/message/{}", ids[0])).await;
    assert_eq!(page.status, StatusCode::OK, "{}", page.text);
    for text in [
        &format!("href=\"/requests/{request}\""),
        "DELIVERED by email",
        "<dt>Recipient</dt><dd>hidden</dd>",
        "<bdi>450 try # later</bdi>",
        "&#60;i&#62;ref-9&#60;/i&#62;",
        "<td class=\"number\">120ms</td><td>TRANSIENT</td><td>NOT_ACCEPTED</td>",
        "<td>opened</td><td><bdi>&#60;u&#62;noon&#60;/u&#62;</bdi></td>",
    ] {
        assert!(page.shows(text), "{text}: {}", page.text);
    }
    let (first, second) =
        (page.text.find("<th scope=\"row\">1m</th>"), page.text.find("<th scope=\"row\">0ms</th>"));
    assert!(first.is_some() && first < second, "the oldest comes first: {}", page.text);
    assert!(!page.shows("ann@example.com"), "{}", page.text);
    let shown = browser.post(&format!("/message/{}/payload", ids[0]), "").await;
    assert!(shown.shows("<bdi>address:ann@example.com</bdi>"), "{}", shown.text);
    assert!(shown.shows("450 try ann@example.com later"), "{}", shown.text);

    // Finished, and its body gone: what is known of the delivery is there.
    notified.handle(MESSAGE_QUEUE, Some(Disposition::Done { emit: vec![] })).await;
    let page = browser.get(&format!("/message/{}", ids[0])).await;
    assert!(page.shows("<dd>handled</dd>") && page.shows("its body was swept"), "{}", page.text);
    assert!(page.shows("DELIVERED by email") && !page.shows("Show them"), "{}", page.text);
    let gone = browser.post(&format!("/message/{}/payload", ids[0]), "").await;
    assert_eq!(gone.status, StatusCode::NOT_FOUND);
    let own = browser.get(&format!("/message/{request}")).await;
    assert!(own.shows("which this message brings to its relay"), "{}", own.text);
}

fn kept(id: MessageId) -> MessageKept {
    MessageKept {
        id,
        queue: QueueName::new("orders").unwrap(),
        shard: Shard::from_number(3),
        ordering_key: None,
        content_type: "application/json".into(),
        bytes: 1_234,
        stored: Duration::from_secs(60),
        first_stored: Some(Duration::from_secs(3_600)),
        traceparent: None,
    }
}

fn board(find: MockFindMessages, read: MockReadMessages) -> Browser {
    let stores = BoardStores::new(Arc::new(MockObserve::new()), Arc::new(MockDeadLetters::new()));
    Browser::of(Board::for_everyone(stores.with_messages(Arc::new(find), Arc::new(read)), timer()).router())
}

#[tokio::test(start_paused = true)]
async fn a_handled_message_is_shown_as_such_until_its_body_is_swept() {
    let (mut find, mut read) = (MockFindMessages::new(), MockReadMessages::new());
    find.expect_find().returning(|_| Ok(vec![None]));
    read.expect_kept().returning(|id| Ok(Some(kept(id))));
    read.expect_carried().returning(|_| {
        let payload = Payload::new("application/octet-stream", vec![0xff; 1_234]).unwrap();
        Ok(Some(MessageCarried { headers: Headers::new(), payload }))
    });
    let browser = board(find, read);
    let path = format!("/message/{}", Uuid::new_v4());
    let page = browser.get(&path).await;
    for text in
        ["<dd>handled</dd>", "until a sweep deletes it", "1h ago; revived 1m ago", "1,234 bytes", "shard 3"]
    {
        assert!(page.shows(text), "{text}: {}", page.text);
    }
    let shown = browser.post(&format!("{path}/payload"), "").await;
    assert!(shown.shows("1,234 bytes that are not text"), "{}", shown.text);
}

#[tokio::test(start_paused = true)]
async fn a_relay_is_named_by_its_label_and_a_store_that_refuses_is_a_page() {
    let (mut find, mut read) = (MockFindMessages::new(), MockReadMessages::new());
    find.expect_find().returning(|ids| {
        let state =
            MessageState::Leased { ends_in: Duration::from_secs(5), holder: Some("relay-<b>".into()) };
        let queue = QueueName::new("orders").unwrap();
        Ok(vec![Some(MessageStanding { id: ids[0], queue, attempts: 2, last_error: None, state })])
    });
    read.expect_kept().returning(|_| Ok(None));
    let page = board(find, read).get(&format!("/message/{}", Uuid::new_v4())).await;
    assert!(
        page.shows("<dd>leased, for 5s more") && page.shows("<bdi>relay-&#60;b&#62;</bdi>"),
        "{}",
        page.text
    );

    let (mut find, read) = (MockFindMessages::new(), MockReadMessages::new());
    find.expect_find().returning(|_| {
        Err(StoreError::new(StoreErrorKind::Unavailable, "find", "no route to db-7 for root"))
    });
    let page = board(find, read).get(&format!("/message/{}", Uuid::new_v4())).await;
    assert!(page.status == StatusCode::SERVICE_UNAVAILABLE && !page.shows("db-7"), "{}", page.text);
}

#[tokio::test(start_paused = true)]
async fn errors_of_a_digest_are_hidden_too_although_it_is_for_no_record() {
    let notified = Notified::new();
    notified.enqueue(message(MESSAGE_QUEUE)).await;
    let reason = Reason::new("450 try ann@example.com later");
    let id = notified.handle(MESSAGE_QUEUE, Some(Disposition::Retry { after: Duration::ZERO, reason })).await;
    let browser = Browser::on(&notified.store);
    let page = browser.get(&format!("/message/{id}")).await;
    assert!(page.shows("<bdi>450 try # later</bdi>") && !page.shows("ann@example.com"), "{}", page.text);
    let shown = browser.post(&format!("/message/{id}/payload"), "").await;
    assert!(shown.shows("<bdi>450 try ann@example.com later</bdi>"), "{}", shown.text);
}
