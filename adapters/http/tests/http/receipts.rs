//! Promise: receipts without their provider's proof, or too old, reach no store; while the database is away
//! the answer is 503

use std::time::Duration;

use axum::http::StatusCode;
use claimstream_domain::notification::{
    Channel, DeliveryReceipt, DeliveryStatus, NotificationRecord, ReceiptFact, ReceiptKind, ReceiptOf,
    ReceiptTaken,
};
use claimstream_http::{Limits, ReceiptCheck, ReceiptMapping, ReceiptProviders, SharedSecret};
use claimstream_ports::StoreErrorKind;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::api::{Answer, Api, Ports, trouble};

/// Receipts of the provider `mail`, which proves itself by a token.
pub(crate) fn providers() -> ReceiptProviders {
    let check = ReceiptCheck::Token {
        secret: SharedSecret::new("a-token-of-mail").unwrap(),
        header: axum::http::header::AUTHORIZATION,
    };
    let mapping = ReceiptMapping {
        body: None,
        events: None,
        kind: vec!["/RecordType".into(), "/Type".into()],
        kinds: "Delivery=delivered, Bounce/HardBounce=bounced, Bounce=soft_bounced".parse().unwrap(),
        message: Some("/Metadata/message".into()),
        reference: Some("/MessageID".into()),
        channel: Some(Channel::Email),
        address: Some("/Email".into()),
        at: Some("/BouncedAt".into()),
        note: Some("/Description".into()),
    };
    ReceiptProviders::default().with("mail".parse().unwrap(), check, mapping).unwrap()
}

pub(crate) const TOKEN: (&str, &str) = ("authorization", "Bearer a-token-of-mail");

async fn post(api: &Api, body: &Value) -> Answer {
    api.call("POST", "/v1/receipts/mail", &[TOKEN], body.to_string()).await
}

fn bounce(reference: &str) -> Value {
    json!({
        "RecordType": "Bounce", "Type": "HardBounce", "MessageID": reference, "Email": "ann@example.com",
        "BouncedAt": "2026-11-23T10:00:00Z", "Description": "no such user",
    })
}

#[tokio::test]
async fn a_call_with_several_receipts_is_answered_with_what_became_of_each() {
    let mut ports = Ports::default();
    ports.receipts.expect_take().times(1).returning(|receipts| {
        let expected = DeliveryReceipt {
            provider: "mail".parse().unwrap(),
            of: ReceiptOf::Reference("m-1".into()),
            kind: ReceiptKind::Bounced,
            channel: Some(Channel::Email),
            address: Some("ann@example.com".into()),
            said_at: Some("2026-11-23T10:00:00Z".into()),
            note: Some("no such user".into()),
        };
        assert_eq!(receipts[0], expected);
        assert_eq!(receipts[1].of, ReceiptOf::Message(Uuid::from_u128(7)));
        let taken = [ReceiptTaken::New, ReceiptTaken::Unknown, ReceiptTaken::Waiting, ReceiptTaken::Known];
        Ok(taken[..receipts.len()].to_vec())
    });
    let api = Api::with(ports, Limits::default());
    let by_id = json!({"RecordType": "Delivery", "Metadata": {"message": Uuid::from_u128(7)}});
    let nameless = json!({"RecordType": "Delivery"});
    let events =
        json!([bounce("m-1"), by_id, bounce("m-2"), bounce("m-3"), {"RecordType": "Click"}, nameless]);
    let answer = post(&api, &events).await;
    let expected = json!({"new": 1, "known": 1, "waiting": 1, "unknown": 1, "ignored": 1, "faulty": 1});
    assert_eq!((answer.status, answer.body), (StatusCode::OK, expected));
    // Providers may send many at a time; without a challenge some never send their password.
    let long = api.call("POST", "/v1/receipts/mail", &[TOKEN], format!("[{}]", " ".repeat(800_000))).await;
    assert_eq!(long.status, StatusCode::OK);
    let unproven = api.call("POST", "/v1/receipts/mail", &[], "[]").await;
    assert_eq!(unproven.header("www-authenticate"), Some("Basic realm=\"receipts\""));
    // Nothing is asked of the store for nothing.
    let answer = post(&api, &json!([])).await;
    assert_eq!((answer.status, &answer.body["new"]), (StatusCode::OK, &json!(0)));
}

#[tokio::test]
async fn receipts_without_proof_reach_no_store() {
    let api = Api::new();
    let body = bounce("m-1").to_string();
    for headers in [&[][..], &[("authorization", "Bearer admin")], &[("authorization", "a-token-of-mai")]] {
        let answer = api.call("POST", "/v1/receipts/mail", headers, body.clone()).await;
        assert_eq!((answer.status, answer.problem()), (StatusCode::UNAUTHORIZED, "bad-signature"));
    }
    for provider in ["sms", "no+name", "%00"] {
        let path = format!("/v1/receipts/{provider}");
        let answer = api.call("POST", &path, &[TOKEN], body.clone()).await;
        assert_eq!((answer.status, answer.problem()), (StatusCode::NOT_FOUND, "no-receipts"), "{provider}");
    }
    let answer = api.call("POST", "/v1/receipts/mail", &[TOKEN], "{").await;
    assert_eq!((answer.status, answer.pointer()), (StatusCode::BAD_REQUEST, "#"));
}

/// Guard: a confirmation of Amazon SNS is no receipt | src/resources/receipts.rs `take`: no `Subscription::of`
#[tokio::test]
async fn a_confirmation_of_a_subscription_is_answered_200_and_counts_as_no_receipt() {
    let api = Api::new();
    let url = "https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&Token=2336412f37";
    let body = json!({"Type": "SubscriptionConfirmation", "Message": "You have chosen", "SubscribeURL": url});
    let kind = ("x-amz-sns-message-type", "SubscriptionConfirmation");
    let answer = api.call("POST", "/v1/receipts/mail", &[TOKEN, kind], body.to_string()).await;
    let nothing = json!({"new": 0, "known": 0, "waiting": 0, "unknown": 0, "ignored": 0, "faulty": 0});
    assert_eq!((answer.status, answer.body), (StatusCode::OK, nothing));
    let stranger = api.call("POST", "/v1/receipts/mail", &[kind], body.to_string()).await;
    assert_eq!((stranger.status, stranger.problem()), (StatusCode::UNAUTHORIZED, "bad-signature"));
}

#[tokio::test]
async fn a_provider_repeats_receipts_while_the_database_is_away() {
    let mut ports = Ports::default();
    ports.receipts.expect_take().returning(|_| Err(trouble(StoreErrorKind::Unavailable)));
    let api = Api::with(ports, Limits::default());
    let answer = post(&api, &bounce("m-1")).await;
    assert_eq!((answer.status, answer.header("retry-after")), (StatusCode::SERVICE_UNAVAILABLE, Some("1")));
    assert!(!answer.body.to_string().contains("db.internal"));
}

#[tokio::test]
async fn messages_show_what_their_provider_has_said_since() {
    let mut ports = Ports::default();
    let id = Uuid::from_u128(9);
    ports.reports.expect_messages().returning(move |request_id, _, _| {
        Ok(vec![NotificationRecord {
            id,
            request_id,
            channel: Channel::Email,
            recipient: "user:u-7".into(),
            status: DeliveryStatus::Delivered,
            reason: None,
            reference: Some("m-1".into()),
        }])
    });
    ports.receipts.expect_facts().times(1).returning(move |ids| {
        assert_eq!(ids, [id]);
        let fact = |kind, seconds| ReceiptFact {
            kind,
            ago: Duration::from_secs(seconds),
            said_at: (kind == ReceiptKind::Bounced).then(|| "10:00".into()),
        };
        Ok(vec![vec![fact(ReceiptKind::Bounced, 5), fact(ReceiptKind::Delivered, 2)]])
    });
    let api = Api::with(ports, Limits::default());
    let page = api.get(&format!("/v1/notifications/{}/messages", Uuid::from_u128(7))).await.body;
    let message = &page["messages"][0];
    assert_eq!((&message["status"], &message["receipt"]), (&json!("DELIVERED"), &json!("bounced")));
    let expected = json!([
        {"kind": "bounced", "age_ms": 5_000, "said_at": "10:00"},
        {"kind": "delivered", "age_ms": 2_000, "said_at": null},
    ]);
    assert_eq!(message["receipts"], expected);
}

#[tokio::test(start_paused = true)]
async fn receipts_that_wait_are_looked_for_soon_and_forgotten_after_an_hour() {
    let mut ports = Ports::default();
    ports.receipts.expect_take().returning(|receipts| Ok(vec![ReceiptTaken::Waiting; receipts.len()]));
    let (report, mut reported) = tokio::sync::mpsc::unbounded_channel();
    let forget = report.clone();
    ports.receipts.expect_take_waiting().returning(move |within, _| {
        report.send(("take", within)).unwrap();
        Ok(0)
    });
    ports.receipts.expect_forget_waiting().returning(move |age, _| {
        forget.send(("forget", age)).unwrap();
        Ok(0)
    });
    let api = Api::with(ports, Limits::default());
    let (minute, hour) = (Duration::from_secs(60), Duration::from_secs(3_600));
    let began = tokio::time::Instant::now();
    tokio::select! {
        never = api.service.upkeep() => match never {},
        () = async {
            assert_eq!((reported.recv().await, reported.recv().await), (Some(("take", hour)), Some(("forget", hour))));
            assert_eq!(reported.recv().await, Some(("take", hour)));
            assert!(began.elapsed() >= minute, "an idle server asks once a minute");
            assert_eq!(reported.recv().await, Some(("forget", hour)));
            let before = tokio::time::Instant::now();
            assert_eq!(post(&api, &bounce("m-1")).await.body["waiting"], 1);
            assert_eq!(reported.recv().await, Some(("take", minute)));
            assert!(before.elapsed() < Duration::from_secs(2));
        } => {}
    }
}
