//! Promise: each documented answer is given, and each given answer is documented

use std::{collections::BTreeSet, sync::Arc};

use axum::body::{Body, Bytes};
use claimstream_domain::notification::{InboxToken, Progress, ReceiptOf, ReceiptTaken, RequestStatus};
use claimstream_http::{Limits, Service};
use claimstream_ports::{
    StoreErrorKind,
    notification::{Cancelled, CancelledMessages, RequestPage},
};
use futures::stream;
use serde_json::json;
use tokio::sync::Barrier;
use uuid::Uuid;

use crate::{
    api::{Api, Ports, body, trouble},
    inbox::keys,
    people,
    receipts::TOKEN,
    templates::{self, Desk},
    town::Town,
    unsubscribe::link,
};

/// Stores whose answer for a request follows from its id: 1 is there, 2 has begun, 3 meets a database that is away.
fn ports() -> Ports {
    let mut ports = Ports::default();
    let progress = || Progress::of(RequestStatus::Pending, None);
    let away = || trouble(StoreErrorKind::Unavailable);
    ports.requests.expect_cancel().returning(move |id| match id.as_u128() {
        1 => Ok(Cancelled::Yes(CancelledMessages::default())),
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
    ports.receipts.expect_facts().returning(|ids| Ok(vec![Vec::new(); ids.len()]));
    ports.receipts.expect_take().returning(move |receipts| match &receipts[0].of {
        ReceiptOf::Message(_) => Err(away()),
        ReceiptOf::Reference(_) => Ok(vec![ReceiptTaken::New; receipts.len()]),
    });
    ports.preferences.expect_change().returning(move |recipient, changes| match recipient {
        "user:away" => Err(away()),
        _ => people::changed(Default::default(), changes),
    });
    ports
        .in_app
        .expect_page()
        .returning(move |page| if page.user == "away" { Err(away()) } else { Ok(Vec::new()) });
    ports.in_app.expect_unread().returning(|_| Ok(0));
    ports
        .in_app
        .expect_mark_read()
        .returning(move |user, _| if user == "away" { Err(away()) } else { Ok(0) });
    people::script(&mut ports);
    ports.requests.expect_read().times(1).returning(|_| Ok(vec![None]));
    ports
}

#[tokio::test(start_paused = true)]
async fn every_documented_answer_is_given() {
    let desk = Arc::new(Desk::default());
    let people = Some(Arc::<Town>::default().people());
    let ports = Ports { templates: Some(desk.clone()), people, ..ports() };
    let api = Api::with(ports, Limits { body: 1_000, receipts: 1_000, ..Limits::default() });
    api.get("/healthz").await;
    api.get("/readyz").await;
    send_in_every_way(&api).await;
    bring_receipts_in_every_way(&api).await;
    unsubscribe_in_every_way(&api).await;
    read_inboxes_in_every_way(&api).await;
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
    templates::call_in_every_way(&api).await;
    people::call_in_every_way(&api).await;
    api.service.stop();
    api.get("/readyz").await;
    let mut given = api.given();
    given.extend(templates::elsewhere().await);
    given.extend(people::elsewhere().await);
    assert_eq!(given, documented());
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

async fn read_inboxes_in_every_way(api: &Api) {
    let pass = "Bearer ".to_owned() + &keys().sign(&InboxToken { user: "bea".into(), until: u64::MAX });
    let entry = Uuid::nil();
    for (method, path) in [
        ("GET", ""),
        ("GET", "/events"),
        ("POST", "/read-all"),
        ("POST", &*format!("/{entry}/read")),
        ("POST", "/pass"),
    ] {
        for (user, token) in [
            ("ann", "Bearer none"),
            ("ann", &*pass),
            ("ann", "Bearer read"),
            ("ann", "Bearer inbox"),
            ("away", "Bearer inbox"),
        ] {
            api.call(method, &format!("/v1/recipients/{user}/inbox{path}"), &[("authorization", token)], "")
                .await;
        }
        let wrong = format!("/v1/recipients/ann/inbox{}?wrong=1", path.replace(&entry.to_string(), "x"));
        let json = ("content-type", "application/json");
        api.call(method, &wrong, &[("authorization", "Bearer inbox"), json], "{").await;
    }
    let inbox = ("authorization", "Bearer inbox");
    let to_pass = "/v1/recipients/ann/inbox/pass";
    api.call("POST", to_pass, &[inbox], "x".repeat(2_000)).await;
    api.call("POST", to_pass, &[inbox, ("content-type", "text/plain")], "{}").await;
    let endless = Body::from_stream(stream::pending::<Result<Bytes, std::io::Error>>());
    api.call("POST", to_pass, &[inbox], endless).await;
    // A server without keys makes no passes.
    let without = Api::without_keys();
    without.call("POST", to_pass, &[inbox], "").await;
    api.note(&without);
}

async fn unsubscribe_in_every_way(api: &Api) {
    for path in [link("user:a"), link("user:away"), "/unsubscribe/x".into()] {
        api.call("GET", &path, &[], Body::empty()).await;
        api.call("POST", &path, &[], Body::empty()).await;
    }
    api.call("POST", &link("user:a"), &[], "x".repeat(2_000)).await;
    let endless = Body::from_stream(stream::pending::<Result<Bytes, std::io::Error>>());
    api.call("POST", &link("user:a"), &[], endless).await;
}

/// Receipts that are taken, cannot be read, are too long, belong to no message, come too slowly, and meet a database that is away.
async fn bring_receipts_in_every_way(api: &Api) {
    let receipt = json!({"RecordType": "Delivery", "MessageID": "m"}).to_string();
    let away = json!({"RecordType": "Delivery", "Metadata": {"message": Uuid::from_u128(3)}}).to_string();
    let mail = "/v1/receipts/mail";
    for body in [receipt.clone(), "{".into(), "x".repeat(2_000), away] {
        api.call("POST", mail, &[TOKEN], body).await;
    }
    api.call("POST", mail, &[], receipt.clone()).await;
    api.call("POST", "/v1/receipts/sms", &[TOKEN], receipt).await;
    let endless = Body::from_stream(stream::pending::<Result<Bytes, std::io::Error>>());
    api.call("POST", mail, &[TOKEN], endless).await;
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
