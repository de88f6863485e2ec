use std::time::Duration;

use axum::{body::Body, http::StatusCode};
use claimstream_domain::{
    Reason,
    notification::{
        Channel, DeliveryStatus, NotificationRecord, Progress, ReceiptCounts, ReceiptKind, RequestStatus,
        Requester, RequesterKind,
    },
};
use claimstream_http::Limits;
use claimstream_ports::notification::{
    Cancelled, CancelledMessages, RequestFilter, RequestListed, RequestPage,
};
use serde_json::json;
use uuid::Uuid;

use crate::api::{Api, Ports};

const ID: Uuid = Uuid::from_u128(7);

fn progress() -> Progress {
    let mut receipts = ReceiptCounts::default();
    receipts.count(ReceiptKind::Delivered, 5);
    receipts.count(ReceiptKind::Bounced, 1);
    Progress {
        recorded: RequestStatus::Dispatched,
        reason: None,
        pending: 0,
        delivered: 6,
        skipped: 2,
        failed: 0,
        cancelled: 0,
        receipts,
    }
}

#[tokio::test]
async fn a_notification_shows_how_far_it_has_come() {
    let mut ports = Ports::default();
    ports.reports.expect_progress().returning(|id| Ok((id == ID).then(progress)));
    let api = Api::with(ports, Limits::default());
    let answer = api.get(&format!("/v1/notifications/{ID}")).await;
    let expected = json!({
        "id": ID, "status": "DISPATCHED", "reason": null, "total": 8, "pending": 0, "delivered": 6, "skipped": 2,
        "failed": 0, "cancelled": 0, "receipts": {
            "sent": 0, "soft_bounced": 0, "delivered": 5, "opened": 0, "unsubscribed": 0, "bounced": 1, "complained": 0,
        },
    });
    assert_eq!((answer.status, answer.body), (StatusCode::OK, expected));
    let answer = api.get(&format!("/v1/notifications/{}", Uuid::nil())).await;
    assert_eq!((answer.status, answer.problem()), (StatusCode::NOT_FOUND, "unknown-notification"));
    let answer = api.get("/v1/notifications/7").await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
    assert_eq!(answer.body["errors"][0]["parameter"], "id");
}

#[tokio::test]
async fn notifications_are_listed_as_the_query_says() {
    let mut ports = Ports::default();
    let filter = RequestFilter { status: Some(RequestStatus::Failed), requester: Some("shop & co".into()) };
    ports.list.expect_list().times(1).returning(move |given, after, limit| {
        assert_eq!((given, after, limit), (&filter, Some(ID), 2));
        let listed = RequestListed {
            id: Uuid::from_u128(6),
            status: RequestStatus::Failed,
            requester: Requester { kind: RequesterKind::Service, id: "shop & co".into() },
            age: Duration::from_millis(1_500),
        };
        Ok(RequestPage { requests: vec![listed], next: Some(Uuid::from_u128(5)) })
    });
    ports.list.expect_list().times(1).returning(|given, after, limit| {
        assert_eq!((given, after, limit), (&RequestFilter::default(), None, 50));
        Ok(RequestPage::default())
    });
    let api = Api::with(ports, Limits::default());
    let answer =
        api.get(&format!("/v1/notifications?status=FAILED&requester=shop+%26%20co&after={ID}&limit=2")).await;
    let expected = json!({
        "notifications": [{
            "id": Uuid::from_u128(6), "status": "FAILED", "requester": {"type": "service", "id": "shop & co"},
            "age_ms": 1_500,
        }],
        "next": Uuid::from_u128(5),
    });
    assert_eq!((answer.status, answer.body), (StatusCode::OK, expected));
    assert_eq!(api.get("/v1/notifications").await.body, json!({"notifications": [], "next": null}));
    for (query, parameter) in [
        ("status=SENT", "status"),
        ("status=UNDELIVERABLE", "status"),
        ("status=PARTIALLY_FAILED", "status"),
        ("after=7", "after"),
        ("limit=0", "limit"),
        ("limit=501", "limit"),
        ("page=1", "query"),
    ] {
        let answer = api.get(&format!("/v1/notifications?{query}")).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{query}");
        assert_eq!(answer.body["errors"][0]["parameter"], parameter);
    }
}

fn record(n: u128) -> NotificationRecord {
    NotificationRecord {
        id: Uuid::from_u128(n),
        request_id: ID,
        channel: Channel::Sms,
        recipient: "user:u-7".into(),
        status: DeliveryStatus::Skipped,
        reason: Some(Reason::new("no address")),
        reference: None,
    }
}

#[tokio::test]
async fn messages_come_in_pages() {
    let mut ports = Ports::default();
    ports.reports.expect_messages().returning(|id, after, limit| {
        let first = after.map_or(1, |after| after.as_u128() + 1);
        let all = if id == ID { 1..4 } else { 0..0 };
        Ok(all.filter(|n| *n >= first).take(limit as usize).map(record).collect())
    });
    ports.reports.expect_progress().returning(|id| Ok((id == ID).then(progress)));
    ports.receipts.expect_facts().returning(|ids| Ok(vec![Vec::new(); ids.len()]));
    let api = Api::with(ports, Limits::default());
    let path = format!("/v1/notifications/{ID}/messages");
    let page = api.get(&format!("{path}?limit=2")).await.body;
    let first = json!({
        "id": Uuid::from_u128(1), "channel": "sms", "recipient": "user:u-7", "status": "SKIPPED", "reason": "no address", "reference": null,
        "receipt": null, "receipts": [],
    });
    assert_eq!((&page["messages"][0], page["messages"].as_array().unwrap().len()), (&first, 2));
    assert_eq!(page["next"], json!(Uuid::from_u128(2)));
    let page = api.get(&format!("{path}?limit=2&after={}", Uuid::from_u128(2))).await.body;
    assert_eq!((page["messages"].as_array().unwrap().len(), &page["next"]), (1, &json!(null)));
    let page = api.get(&format!("{path}?after={}", Uuid::from_u128(9))).await;
    assert_eq!((page.status, &page.body["messages"]), (StatusCode::OK, &json!([])));
    let unknown = api.get(&format!("/v1/notifications/{}/messages", Uuid::nil())).await;
    assert_eq!(unknown.status, StatusCode::NOT_FOUND);
    assert_eq!(api.get("/v1/notifications/7/messages").await.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_notification_is_called_off_while_something_is_left_to_take_back() {
    let mut ports = Ports::default();
    ports.requests.expect_cancel().returning(|id| {
        Ok(match id.as_u128() {
            7 => Cancelled::Yes(CancelledMessages { messages: 3, delivered: 2, in_hands: 1 }),
            8 => Cancelled::TooLate(RequestStatus::Dispatched),
            _ => Cancelled::Unknown,
        })
    });
    let api = Api::with(ports, Limits::default());
    let cancel = async |n: u128| {
        let path = format!("/v1/notifications/{}/cancel", Uuid::from_u128(n));
        api.call("POST", &path, &[("authorization", "Bearer send")], Body::empty()).await
    };
    let answer = cancel(7).await;
    assert_eq!(
        (answer.status, answer.body),
        (
            StatusCode::OK,
            json!({"id": ID, "status": "CANCELLED", "taken_back": 3, "delivered": 2, "in_hands": 1})
        )
    );
    let answer = cancel(8).await;
    assert_eq!((answer.status, answer.problem()), (StatusCode::CONFLICT, "too-late"));
    assert!(answer.body["detail"].as_str().unwrap().contains("DISPATCHED"));
    assert_eq!(cancel(9).await.status, StatusCode::NOT_FOUND);
}
