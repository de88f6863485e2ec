use std::collections::BTreeSet;

use axum::body::{Body, Bytes};
use claimstream_domain::notification::{Progress, RequestStatus};
use claimstream_http::{Limits, Service};
use claimstream_ports::{
    StoreErrorKind,
    notification::{Cancelled, RequestPage, TakenBack},
};
use futures::stream;
use serde_json::json;
use tokio::sync::Barrier;
use uuid::Uuid;

use crate::api::{Api, Ports, body, trouble};

/// Stores whose answer for a request follows from its id: 1 is there, 2 has begun, 3 meets a database that is away.
fn ports() -> Ports {
    let mut ports = Ports::default();
    let progress = || Progress {
        recorded: RequestStatus::Pending,
        reason: None,
        pending: 0,
        delivered: 0,
        skipped: 0,
        failed: 0,
        cancelled: 0,
    };
    let away = || trouble(StoreErrorKind::Unavailable);
    ports.requests.expect_cancel().returning(move |id| match id.as_u128() {
        1 => Ok(Cancelled::Yes(TakenBack::default())),
        2 => Ok(Cancelled::TooLate(RequestStatus::Dispatched)),
        3 => Err(away()),
        _ => Ok(Cancelled::Unknown),
    });
    ports.reports.expect_progress().returning(move |id| match id.as_u128() {
        1 => Ok(Some(progress())),
        3 => Err(away()),
        _ => Ok(None),
    });
    ports
        .reports
        .expect_messages()
        .returning(move |id, _, _| if id.as_u128() == 3 { Err(away()) } else { Ok(vec![]) });
    ports.list.expect_list().returning(move |filter, _, _| match &filter.requester {
        Some(_) => Err(away()),
        None => Ok(RequestPage::default()),
    });
    ports.requests.expect_read().times(1).returning(|_| Ok(vec![None]));
    ports
}

#[tokio::test(start_paused = true)]
async fn every_documented_answer_is_given() {
    let api = Api::with(ports(), Limits { body: 1_000, ..Limits::default() });
    api.get("/healthz").await;
    api.get("/readyz").await;
    send_in_every_way(&api).await;
    for (method, path) in [
        ("GET", "/v1/notifications"),
        ("GET", "/v1/notifications/{id}"),
        ("GET", "/v1/notifications/{id}/messages"),
        ("POST", "/v1/notifications/{id}/cancel"),
    ] {
        for (token, id) in [("Bearer none", 1), ("Bearer send", 1), ("Bearer read", 1)] {
            let path = path.replace("{id}", &Uuid::from_u128(id).to_string());
            api.call(method, &path, &[("authorization", token)], Body::empty()).await;
        }
        for id in [
            "x".to_owned(),
            Uuid::nil().to_string(),
            Uuid::from_u128(2).to_string(),
            Uuid::from_u128(3).to_string(),
        ] {
            let path = path.replace("{id}", &id);
            api.call(method, &path, &[("authorization", "Bearer admin")], Body::empty()).await;
        }
    }
    api.get("/v1/notifications?status=x").await;
    api.get("/v1/notifications?requester=away").await;
    api.service.stop();
    api.get("/readyz").await;
    assert_eq!(api.given(), documented());
}

/// The routes and statuses of the description.
fn documented() -> BTreeSet<(String, u16)> {
    let api = serde_json::to_value(Service::description()).unwrap();
    let mut documented = BTreeSet::new();
    for (path, item) in api["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let name = format!("{} {path}", method.to_uppercase());
            let statuses = operation["responses"].as_object().unwrap().keys();
            documented.extend(statuses.map(|status| (name.clone(), status.parse().unwrap())));
        }
    }
    documented
}

async fn send_in_every_way(api: &Api) {
    let mut other = body();
    other["content"] = json!({"title": "another"});
    for body in [&body(), &body(), &other, &json!({}), &json!({"memo": "x".repeat(2_000)})] {
        api.send(Some("a"), body).await;
    }
    let json = ("content-type", "application/json");
    for headers in [
        &[json][..],
        &[json, ("authorization", "Bearer read")],
        &[("content-type", "text/plain"), ("authorization", "Bearer send")],
    ] {
        api.call("POST", "/v1/notifications", headers, body().to_string()).await;
    }
    let endless = Body::from_stream(stream::pending::<Result<Bytes, std::io::Error>>());
    api.call("POST", "/v1/notifications", &[json, ("authorization", "Bearer send")], endless).await;
    // While nothing commits, the first of two calls waits until it is given up, and the second hears of it.
    let closed = api.intake.gate.lock().await;
    let both = Barrier::new(2);
    let call = async || {
        both.wait().await;
        api.send(Some("b"), &body()).await
    };
    futures::join!(call(), call());
    drop(closed);
}
