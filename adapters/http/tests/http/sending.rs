use std::sync::{Arc, atomic::Ordering};

use axum::http::StatusCode;
use claimstream_http::Limits;
use claimstream_ports::StoreErrorKind;
use serde_json::{Value, json};

use crate::api::{Api, Ports, body};

#[tokio::test]
async fn a_new_notification_is_created_and_its_path_named() {
    let api = Api::new();
    let answer = api.send(Some("order-7"), &body()).await;
    assert_eq!(answer.status, StatusCode::CREATED);
    let id = answer.body["id"].as_str().unwrap();
    assert_eq!(answer.body, json!({"id": id, "status": "PENDING"}));
    assert_eq!(answer.header("location"), Some(format!("/v1/notifications/{id}").as_str()));
    assert_eq!(answer.header("idempotent-replayed"), None);
    assert!(api.intake.kept.lock().unwrap().contains_key(&id.parse().unwrap()));
}

#[tokio::test]
async fn the_same_call_again_is_answered_the_same_and_says_so() {
    let api = Api::new();
    let first = api.send(Some("order-7"), &body()).await;
    let again = api.send(Some("\"order-7\""), &body()).await;
    assert_eq!((again.status, again.header("idempotent-replayed")), (StatusCode::OK, Some("true")));
    assert_eq!(again.body, first.body);
    assert_eq!(api.intake.kept.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn the_same_key_with_another_body_is_refused() {
    let api = Api::new();
    api.send(Some("order-7"), &body()).await;
    let mut other = body();
    other["content"]["title"] = json!("Not paid");
    let answer = api.send(Some("order-7"), &other).await;
    assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(answer.problem(), "idempotency-key-reused");
}

#[tokio::test]
async fn calls_without_a_key_are_notifications_of_their_own() {
    let api = Api::new();
    for _ in 0..2 {
        assert_eq!(api.send(None, &body()).await.status, StatusCode::CREATED);
    }
    assert_eq!(api.intake.kept.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn a_key_belongs_to_its_token() {
    let api = Api::new();
    let first = api.send(Some("order-7"), &body()).await;
    let headers = [
        ("authorization", "Bearer admin"),
        ("content-type", "application/json"),
        ("idempotency-key", "order-7"),
    ];
    let other = api.call("POST", "/v1/notifications", &headers, body().to_string()).await;
    assert_eq!(other.status, StatusCode::CREATED);
    assert_ne!(other.body["id"], first.body["id"]);
}

#[tokio::test]
async fn a_call_during_the_first_is_answered_that_it_is_under_way() {
    let api = Arc::new(Api::new());
    let closed = api.intake.gate.lock().await;
    let first = tokio::spawn({
        let api = Arc::clone(&api);
        async move { api.send(Some("order-7"), &body()).await }
    });
    api.intake.begun(1).await;
    let answer = api.send(Some("order-7"), &body()).await;
    assert_eq!((answer.status, answer.problem()), (StatusCode::CONFLICT, "in-progress"));
    assert_eq!(answer.header("retry-after"), Some("1"));
    assert!(!first.is_finished(), "answered before the commit");
    drop(closed);
    assert_eq!(first.await.unwrap().status, StatusCode::CREATED);
    assert_eq!(api.intake.kept.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_fault_of_the_body_has_its_place() {
    let api = Api::new();
    let with = |edit: fn(&mut Value)| {
        let mut body = body();
        edit(&mut body);
        body.to_string()
    };
    for (text, place) in [
        ("{".to_owned(), "#"),
        ("[]".to_owned(), "#"),
        (body().to_string() + "{}", "#"),
        (with(|b| b["id"] = json!("x")), "#/id"),
        (with(|b| b["content"]["subject"] = json!("x")), "#/content/subject"),
        (with(|b| b["content"]["title"] = json!(7)), "#/content/title"),
        (with(|b| b["channels"] = json!(["email", "pigeon"])), "#/channels/1"),
        (with(|b| b["recipients"] = json!([{"user": "a"}, {"nick": "b"}])), "#/recipients/1"),
        (with(|b| b["recipients"] = json!([{"user": "a"}, {"user": ""}])), "#/recipients/1"),
        (with(|b| b["scheduled_at"] = json!("soon")), "#/scheduled_at"),
    ] {
        let answer = api.send_text(Some("order-7"), &text).await;
        assert_eq!((answer.status, answer.pointer()), (StatusCode::BAD_REQUEST, place), "{text}: {answer:?}");
    }
    let answer = api.send(Some(&"x".repeat(256)), &body()).await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
    assert_eq!(answer.body["errors"][0]["header"], "Idempotency-Key");
    assert!(api.intake.kept.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_refused_call_may_be_mended_under_its_key() {
    let api = Api::new();
    assert_eq!(api.send_text(Some("order-7"), "{}").await.status, StatusCode::BAD_REQUEST);
    *api.intake.trouble.lock().unwrap() = Some(StoreErrorKind::Unavailable);
    let away = api.send(Some("order-7"), &body()).await;
    assert_eq!((away.status, away.header("retry-after")), (StatusCode::SERVICE_UNAVAILABLE, Some("1")));
    assert!(
        !away.body.to_string().contains("as the test wants it"),
        "the trouble of the store is not for callers"
    );
    *api.intake.trouble.lock().unwrap() = None;
    assert_eq!(api.send(Some("order-7"), &body()).await.status, StatusCode::CREATED);
}

#[tokio::test]
async fn one_that_the_store_refuses_for_its_values_is_a_fault_of_the_caller() {
    let api = Api::new();
    *api.intake.trouble.lock().unwrap() = Some(StoreErrorKind::Corrupt);
    assert_eq!(api.send(None, &body()).await.status, StatusCode::BAD_REQUEST);
}

/// Guard: an unreadable stored request is not the caller's error | src/problem.rs `of_store`: 400 for all
/// that is not about the store
#[tokio::test]
async fn what_is_kept_and_cannot_be_read_is_no_fault_of_the_caller() {
    let api = Api::new();
    api.intake.is_unreadable.store(true, Ordering::SeqCst);
    let answer = api.send(Some("order-7"), &body()).await;
    assert_eq!((answer.status, answer.header("retry-after")), (StatusCode::SERVICE_UNAVAILABLE, Some("1")));
}

#[tokio::test]
async fn a_body_that_is_too_long_or_no_json_is_refused() {
    let api = Api::with(Ports::default(), Limits { body: 300, ..Limits::default() });
    let mut long = body();
    long["memo"] = json!("x".repeat(300));
    let answer = api.send(None, &long).await;
    assert_eq!((answer.status, answer.problem()), (StatusCode::PAYLOAD_TOO_LARGE, "too-large"));
    let headers = [("authorization", "Bearer send"), ("content-type", "text/plain")];
    let answer = api.call("POST", "/v1/notifications", &headers, body().to_string()).await;
    assert_eq!((answer.status, answer.problem()), (StatusCode::UNSUPPORTED_MEDIA_TYPE, "media-type"));
    let headers = [("authorization", "Bearer send"), ("content-type", "application/json; charset=utf-8")];
    let answer = api.call("POST", "/v1/notifications", &headers, body().to_string()).await;
    assert_eq!(answer.status, StatusCode::CREATED);
}

#[tokio::test(start_paused = true)]
async fn what_takes_too_long_is_given_up_and_carried_out_all_the_same() {
    let api = Api::new();
    let closed = api.intake.gate.lock().await;
    let answer = api.send(Some("order-7"), &body()).await;
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(answer.body["detail"].as_str().unwrap().contains("the outcome is unknown"));
    drop(closed);
    api.service.finish().await;
    assert_eq!(api.intake.kept.lock().unwrap().len(), 1);
    assert_eq!(api.send(Some("order-7"), &body()).await.status, StatusCode::SERVICE_UNAVAILABLE);
}
