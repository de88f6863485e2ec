//! Promise: each route needs its scope, each fault names its field, and a database that is away is 503
//! everywhere

use std::{sync::Arc, time::Duration};

use axum::{
    body::{Body, Bytes},
    http::StatusCode,
};
use claimstream_http::{Limits, Service};
use claimstream_ports::StoreErrorKind;
use futures::stream;
use uuid::Uuid;

use crate::api::{Api, Ports, body, trouble};

/// The operations of the description, with a path that fits each, and whether it needs no token. Receipts and links to unsubscribe have
/// proofs of their own.
fn operations() -> Vec<(String, String, bool)> {
    let api = serde_json::to_value(Service::description()).unwrap();
    let mut operations = Vec::new();
    let has_own_proof = |path: &str| path.starts_with("/unsubscribe/") || path.starts_with("/v1/receipts/");
    for (path, item) in api["paths"].as_object().unwrap().iter().filter(|(path, _)| !has_own_proof(path)) {
        for (method, operation) in item.as_object().unwrap() {
            let is_free = operation["security"] == serde_json::json!([{}]);
            operations.push((
                method.to_uppercase(),
                path.replace("{id}", &Uuid::nil().to_string()).replace("{entry}", "x"),
                is_free,
            ));
        }
    }
    assert!(operations.len() >= 7);
    operations
}

#[tokio::test]
async fn every_route_but_those_of_health_needs_a_token_with_its_scope() {
    let mut ports = Ports::default();
    ports.requests.expect_read().returning(|_| Ok(vec![None]));
    let api = Api::with(ports, Limits::default());
    for (method, path, is_free) in operations() {
        assert_eq!(is_free, path.ends_with('z'), "{path}");
        let call = async |token: &str| {
            let headers = [("authorization", token), ("content-type", "application/json")];
            api.call(&method, &path, &headers[usize::from(token.is_empty())..], Body::empty()).await
        };
        if is_free {
            assert_eq!(call("").await.status, StatusCode::OK);
            continue;
        }
        for wrong in ["", "Bearer ", "Bearer sent", "Basic send", "send", "Bearer send send"] {
            let answer = call(wrong).await;
            assert_eq!(
                (answer.status, answer.problem()),
                (StatusCode::UNAUTHORIZED, "unauthorized"),
                "{method} {path}"
            );
            assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
        }
        let is_read = method == "GET" || path.ends_with("/preview") || path.ends_with("/lookup");
        let other = if is_read { "send" } else { "read" };
        let answer = call(&format!("Bearer {other}")).await;
        assert_eq!(
            (answer.status, answer.problem()),
            (StatusCode::FORBIDDEN, "forbidden"),
            "{method} {path}"
        );
        assert!(answer.header("www-authenticate").unwrap().contains("insufficient_scope"));
    }
}

/// Guard: without tokens a server answers no page that has its own name lead to it | src/caller.rs
/// `FromRequestParts`: no look at `Host`
#[tokio::test]
async fn without_tokens_only_this_machine_is_answered() {
    let mut ports = Ports::default();
    ports.reports.expect_progress().returning(|_| Ok(None));
    let api = Api::open(ports);
    let notification = format!("/v1/notifications/{}", Uuid::nil());
    let ask = async |path: &str, host: &str| {
        let answer = api.call("GET", path, &[("host", host)], Body::empty()).await;
        (answer.status, answer.problem().to_owned())
    };
    let unknown = (StatusCode::NOT_FOUND, "unknown-notification".to_owned());
    for ours in ["127.0.0.1:8080", "[::1]:8080", "localhost:8080", "LocalHost"] {
        assert_eq!(ask(&notification, ours).await, unknown, "{ours}");
    }
    for other in ["evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1@evil.example"] {
        for path in [&notification, "/v1/recipients/ann/inbox"] {
            let refused = (StatusCode::FORBIDDEN, "other-host".to_owned());
            assert_eq!(ask(path, other).await, refused, "{path} {other}");
        }
    }
}

#[tokio::test]
async fn no_body_is_read_before_the_token() {
    let api = Api::new();
    let endless = Body::from_stream(stream::pending::<Result<Bytes, std::io::Error>>());
    let headers = [("content-type", "application/json")];
    let answer = api.call("POST", "/v1/notifications", &headers, endless).await;
    assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn an_unknown_route_and_an_unknown_method_are_problems() {
    let api = Api::new();
    let answer = api.get("/v1/nothing").await;
    assert_eq!((answer.status, answer.problem()), (StatusCode::NOT_FOUND, "no-such-route"));
    let answer = api.call("DELETE", "/v1/notifications", &[], Body::empty()).await;
    assert_eq!((answer.status, answer.problem()), (StatusCode::METHOD_NOT_ALLOWED, "method-not-allowed"));
    assert!(answer.header("allow").unwrap().contains("POST"), "{answer:?}");
}

#[tokio::test]
async fn every_answer_has_the_headers_that_keep_browsers_in_check() {
    let api = Api::new();
    let answers = [api.send(None, &body()).await, api.get("/v1/nothing").await, api.get("/docs").await];
    for answer in answers {
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        let policy = answer.header("content-security-policy").unwrap();
        assert!(
            policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"),
            "{policy}"
        );
    }
}

#[tokio::test]
async fn more_than_the_limit_at_a_time_are_refused_and_health_still_answers() {
    let api = Arc::new(Api::with(Ports::default(), Limits { concurrency: 1, ..Limits::default() }));
    let closed = api.intake.gate.lock().await;
    let first = tokio::spawn({
        let api = Arc::clone(&api);
        async move { api.send(None, &body()).await }
    });
    api.intake.begun(1).await;
    let refused = api.send(None, &body()).await;
    assert_eq!((refused.status, refused.problem()), (StatusCode::SERVICE_UNAVAILABLE, "unavailable"));
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(api.get("/healthz").await.status, StatusCode::OK);
    drop(closed);
    assert_eq!(first.await.unwrap().status, StatusCode::CREATED);
    assert_eq!(api.send(None, &body()).await.status, StatusCode::CREATED);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_arrives_too_slowly_is_given_up() {
    let api = Api::new();
    let endless = Body::from_stream(stream::pending::<Result<Bytes, std::io::Error>>());
    let headers = [("authorization", "Bearer send"), ("content-type", "application/json")];
    let answer = api.call("POST", "/v1/notifications", &headers, endless).await;
    assert_eq!((answer.status, answer.problem()), (StatusCode::REQUEST_TIMEOUT, "slow-body"));
}

#[tokio::test]
async fn a_database_that_is_away_is_503_on_every_route_and_not_ready() {
    let mut ports = Ports::default();
    ports.requests.expect_read().returning(|_| Err(trouble(StoreErrorKind::Unavailable)));
    ports.requests.expect_cancel().returning(|_| Err(trouble(StoreErrorKind::Transient)));
    ports.reports.expect_progress().returning(|_| Err(trouble(StoreErrorKind::Misconfigured)));
    ports.reports.expect_messages().returning(|_, _, _| Err(trouble(StoreErrorKind::Unavailable)));
    ports.list.expect_list().returning(|_, _, _| Err(trouble(StoreErrorKind::Unavailable)));
    ports.in_app.expect_page().returning(|_| Err(trouble(StoreErrorKind::Unavailable)));
    ports.in_app.expect_mark_read().returning(|_, _| Err(trouble(StoreErrorKind::Unavailable)));
    *ports.intake.trouble.lock().unwrap() = Some(StoreErrorKind::Unavailable);
    let api = Api::with(ports, Limits::default());
    // Those of templates and of people are looked at with their own stores.
    let elsewhere =
        ["/healthz", "/v1/templates", "/v1/recipients", "/v1/lookup", "/v1/suppressions", "/v1/segments"];
    let of_others = |path: &str| path.ends_with("/pass") || elsewhere.iter().any(|one| path.starts_with(one));
    for (method, path, _) in operations().into_iter().filter(|(_, path, _)| !of_others(path)) {
        let headers = [("authorization", "Bearer admin"), ("content-type", "application/json")];
        let path = path.replace("/x/read", &format!("/{}/read", Uuid::nil()));
        let answer = api.call(&method, &path, &headers, body().to_string()).await;
        assert_eq!(
            (answer.status, answer.problem()),
            (StatusCode::SERVICE_UNAVAILABLE, "unavailable"),
            "{path}"
        );
        assert_eq!(answer.header("retry-after"), Some("1"));
        assert!(!answer.body.to_string().contains("db.internal"), "{answer:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn readiness_asks_the_database_at_most_once_a_second_and_ends_with_the_signal() {
    let mut ports = Ports::default();
    ports.requests.expect_read().times(2).returning(|_| Ok(vec![None]));
    let api = Api::with(ports, Limits::default());
    for _ in 0..5 {
        assert_eq!(api.get("/readyz").await.status, StatusCode::OK);
    }
    tokio::time::advance(Duration::from_millis(1_100)).await;
    assert_eq!(api.get("/readyz").await.status, StatusCode::OK);
    api.service.stop();
    assert_eq!(api.get("/readyz").await.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(api.get("/healthz").await.status, StatusCode::OK);
}
