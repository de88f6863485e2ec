//! Promise: the directory, preferences and suppressed addresses are the same over HTTP and by the program; an
//! invalid field is named; `DELETE` of a recipient erases it everywhere and may be repeated

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    body::{Body, Bytes},
    http::StatusCode,
};
use claimstream_domain::{
    Fingerprint,
    notification::consent::{PreferenceChange, Preferences, Suppression},
};
use claimstream_http::Limits;
use claimstream_ports::{
    StoreError,
    notification::{ConsentsRead, refused_change},
};
use futures::stream;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::{
    api::{Answer, Api, Ports},
    town::{Town, known},
    unsubscribe::link,
};

const JSON: (&str, &str) = ("content-type", "application/json");
const ADMIN: (&str, &str) = ("authorization", "Bearer admin");

/// What the store of preferences answers: no preference is set, and what is set holds.
pub(crate) fn script(ports: &mut Ports) {
    ports.preferences.expect_consents().returning(|keys, _| {
        known(&keys[0], ())?;
        let preferences = vec![Default::default(); keys.len()];
        Ok(ConsentsRead { preferences, suppressed: Vec::new(), since_1970: Duration::ZERO })
    });
}

fn api() -> (Api, Arc<Town>) {
    let town = Arc::<Town>::default();
    let mut ports = Ports { people: Some(town.people()), ..Ports::default() };
    script(&mut ports);
    ports.preferences.expect_change().returning(|key, changes| {
        assert_eq!(key, "user:a/b");
        changed(Default::default(), changes)
    });
    (Api::with(ports, Limits::default()), town)
}

/// What a store makes of preferences.
pub(crate) fn changed(before: Preferences, changes: &[PreferenceChange]) -> Result<Preferences, StoreError> {
    let after = changes.iter().try_fold(before, |before, change| change.apply(before));
    after.map_err(refused_change)
}

async fn change(api: &Api, method: &str, path: &str, body: &Value) -> Answer {
    api.call(method, path, &[ADMIN, JSON], body.to_string()).await
}

#[tokio::test]
async fn every_id_has_its_own_path_whatever_it_is() {
    let (api, town) = api();
    for id in ["lookup", "inbox", "preferences", "a%2Finbox"] {
        let put = change(&api, "PUT", &format!("/v1/recipients/{id}"), &json!({})).await;
        assert_eq!(put.status, StatusCode::OK, "{id}: {put:?}");
        assert_eq!(api.get(&format!("/v1/recipients/{id}")).await.problem(), "unknown-recipient");
    }
    assert_eq!(town.put.lock().unwrap().len(), 4);
}

#[tokio::test]
async fn a_user_is_put_shown_and_forgotten() {
    let (api, town) = api();
    let shown = api.get("/v1/recipients/u").await;
    let expected =
        json!({"user": "u", "email": "ann@example.com", "attributes": {"name": "Ann"}, "segments": ["vip"]});
    assert_eq!((shown.status, &shown.body), (StatusCode::OK, &expected));
    assert_eq!(api.get("/v1/recipients/v").await.problem(), "unknown-recipient");
    let listed = api.get("/v1/recipients?limit=1").await.body;
    assert_eq!((&listed["recipients"][0]["user"], &listed["next"]), (&json!("u"), &json!("u")));
    assert_eq!(listed["unreadable"], json!(["w"]));

    let body =
        json!({"email": "ann@example.com", "time_zone": "Europe/Berlin", "attributes": {"name": "Ann"}});
    let put = change(&api, "PUT", "/v1/recipients/%C3%A4%2Fb", &body).await;
    assert_eq!((put.status, &put.body["user"]), (StatusCode::OK, &json!("ä/b")));
    assert_eq!(town.put.lock().unwrap()[0].key, "user:ä/b");

    let gone = api.call("DELETE", "/v1/recipients/a%2Fb", &[ADMIN], Body::empty()).await;
    assert_eq!(gone.body, json!({"requests": 1, "records": 2, "payloads": 3, "dead_letters": 4}));
    assert_eq!(*town.erased.lock().unwrap(), ["user:a/b"]);
}

#[tokio::test]
async fn addresses_that_only_the_caller_knows_are_forgotten() {
    let (api, town) = api();
    let erase = async |addresses: Value| {
        change(&api, "DELETE", "/v1/recipients/v", &json!({"addresses": addresses})).await
    };
    let named = json!(["email:\"Ann\"@Example.com", "sms:+49 1"]);
    assert_eq!(erase(named).await.status, StatusCode::OK);
    let forgotten: Vec<_> =
        town.forgotten.lock().unwrap().iter().map(|one| one.as_str().to_owned()).collect();
    assert_eq!(forgotten, ["ann@example.com", "\"ann\"@example.com", "+491"]);
    for wrong in ["ann@example.com", "email: ", "in_app:v"] {
        assert_eq!(erase(json!(["chat:C1", wrong])).await.pointer(), "#/addresses/1", "{wrong}");
    }
    assert_eq!(erase(json!(vec!["chat:C1"; 501])).await.pointer(), "#/addresses");
    assert_eq!(town.erased.lock().unwrap().len(), 1);
    assert_eq!(change(&api, "DELETE", "/v1/recipients/v", &json!({})).await.status, StatusCode::OK);
}

#[tokio::test(start_paused = true)]
async fn an_erasure_may_take_longer_than_any_other_call_and_needs_no_caller() {
    let town = Arc::<Town>::default();
    let api = Api::with(Ports { people: Some(town.people()), ..Ports::default() }, Limits::default());
    let headers = [("authorization", "Bearer admin")];
    let left = api.call("DELETE", "/v1/recipients/old", &headers, Body::empty());
    assert!(timeout(Duration::from_secs(1), left).await.is_err(), "the caller has left");
    let answer = api.call("DELETE", "/v1/recipients/old", &headers, Body::empty()).await;
    assert_eq!((answer.status, town.erased.lock().unwrap().len()), (StatusCode::OK, 2));
}

#[tokio::test]
async fn many_users_are_looked_up_at_once() {
    let (api, _) = api();
    let found = change(&api, "POST", "/v1/lookup", &json!({"users": ["u", "v"]})).await.body;
    assert_eq!(found["recipients"].as_array().unwrap().len(), 1);
    assert_eq!(found["unreadable"], json!(["w"]));
    assert_eq!(found["recipients"][0]["email"], "ann@example.com");
    let many = json!({"users": vec!["u"; 501]});
    assert_eq!(change(&api, "POST", "/v1/lookup", &many).await.pointer(), "#/users");
}

#[tokio::test]
async fn what_no_directory_can_keep_is_refused_at_its_field() {
    let (api, town) = api();
    for (body, pointer) in [
        (json!({"email": ""}), "#/email"),
        (json!({"webhook": "w".repeat(2049)}), "#/webhook"),
        (json!({"language": "x".repeat(65)}), "#/language"),
        (json!({"user": "v"}), "#/user"),
        (json!({"mail": "a"}), "#/mail"),
        (json!({"time_zone": "Mars"}), "#/time_zone"),
        (json!([]), "#"),
        (json!(["u", "ann@example.com"]), "#"),
    ] {
        let refused = change(&api, "PUT", "/v1/recipients/u", &body).await;
        assert_eq!(refused.pointer(), pointer, "{refused:?}");
    }
    let long = "u".repeat(129);
    let refused = change(&api, "PUT", &format!("/v1/recipients/{long}"), &json!({})).await;
    assert_eq!(refused.body["errors"][0]["parameter"], "id");
    let refused = api.call("DELETE", &format!("/v1/recipients/{long}"), &[ADMIN], Body::empty()).await;
    assert_eq!(refused.problem(), "invalid-request");
    let refused = api.get(&format!("/v1/recipients/{long}/preferences")).await;
    assert_eq!(
        (refused.problem(), &refused.body["errors"][0]["parameter"]),
        ("invalid-request", &json!("id"))
    );
    for method in ["PUT", "DELETE"] {
        let refused =
            api.call(method, &format!("/v1/segments/vip/members/{long}"), &[ADMIN], Body::empty()).await;
        assert_eq!(
            (refused.problem(), &refused.body["errors"][0]["parameter"]),
            ("invalid-request", &json!("user"))
        );
    }
    let big = json!({"attributes": {"note": "x".repeat(300_000)}});
    assert_eq!(change(&api, "PUT", "/v1/recipients/u", &big).await.problem(), "too-large");
    assert!(town.put.lock().unwrap().is_empty() && town.erased.lock().unwrap().is_empty());
}

#[tokio::test]
async fn preferences_are_set_as_a_whole() {
    let (api, _) = api();
    assert_eq!(api.get("/v1/recipients/u/preferences").await.body, json!({}));
    let wanted = json!({
        "rules": [{"channel": "email", "category": "marketing", "allowed": false}],
        "time_zone": "Europe/Berlin", "quiet_hours": "22:00-08:00",
    });
    let set = change(&api, "PUT", "/v1/recipients/a%2Fb/preferences", &wanted).await;
    assert_eq!((set.status, set.body), (StatusCode::OK, wanted));
    let twice = json!({"rules": [{"allowed": false}, {"allowed": true}]});
    let refused = change(&api, "PUT", "/v1/recipients/a%2Fb/preferences", &twice).await;
    assert_eq!(refused.pointer(), "#/rules");
}

#[tokio::test]
async fn preferences_that_changed_meanwhile_are_not_overwritten() {
    let kept = Arc::<Mutex<Preferences>>::default();
    let (read, written) = (kept.clone(), kept.clone());
    let mut ports = Ports::default();
    ports.preferences.expect_consents().returning(move |_, _| {
        let preferences = vec![read.lock().unwrap().clone()];
        Ok(ConsentsRead { preferences, suppressed: Vec::new(), since_1970: Duration::ZERO })
    });
    ports.preferences.expect_change().returning(move |_, changes| {
        let mut kept = written.lock().unwrap();
        *kept = changed(kept.clone(), changes)?;
        Ok(kept.clone())
    });
    let api = Api::with(ports, Limits::default());
    let path = "/v1/recipients/u/preferences";
    let tag = async || api.get(path).await.header("etag").unwrap().to_owned();
    let put = async |condition: &str, hours: &str| {
        let headers = [ADMIN, JSON, ("if-match", condition)];
        api.call("PUT", path, &headers, json!({"quiet_hours": hours}).to_string()).await
    };
    let before = tag().await;
    api.page("POST", &link("user:u"), "List-Unsubscribe=One-Click").await;
    let click = kept.lock().unwrap().clone();
    assert_eq!((click.rules.len(), tag().await == before), (1, false));
    for condition in [&before, &format!("W/{}", tag().await), "\"a\", \"b\""] {
        let refused = put(condition, "22:00-08:00").await;
        assert_eq!((refused.status.as_u16(), refused.problem()), (412, "changed-meanwhile"), "{condition}");
        assert_eq!(*kept.lock().unwrap(), click);
    }
    let malformed = put("unquoted", "22:00-08:00").await;
    assert_eq!(
        (malformed.problem(), &malformed.body["errors"][0]["header"]),
        ("invalid-request", &json!("If-Match"))
    );
    let one_of = format!("{before}, {}", tag().await);
    for (condition, hours) in [(&*one_of, "22:00-08:00"), (&one_of, "22:00-08:00"), ("*", "23:00-08:00")] {
        assert_eq!(put(condition, hours).await.body, json!({"quiet_hours": hours}), "{condition}");
    }
}

#[tokio::test]
async fn an_address_is_suppressed_and_lifted_without_standing_in_a_path() {
    let (api, town) = api();
    let body =
        json!({"channel": "email", "address": "Ann@Example.com", "reason": "complained", "note": "by phone"});
    assert_eq!(change(&api, "POST", "/v1/suppressions", &body).await.status, StatusCode::OK);
    let (address, reason, note) = town.suppressed.lock().unwrap()[0].clone();
    assert_eq!(
        (address.as_str(), reason, note.as_deref()),
        ("ann@example.com", Suppression::Complained, Some("by phone"))
    );
    let listed = api.get("/v1/suppressions?limit=1").await.body;
    assert_eq!(listed["suppressions"][0]["reason"], "bounced");
    let next = listed["next"].as_str().unwrap().to_owned();
    assert_eq!(api.get(&format!("/v1/suppressions?after={next}")).await.status, StatusCode::OK);
    let lifted =
        change(&api, "POST", "/v1/suppressions/lift", &json!({"channel": "email", "address": "u"})).await;
    assert_eq!(lifted.body, json!({"was_suppressed": true}));
    let empty = json!({"channel": "email", "address": " ", "reason": "bounced"});
    assert_eq!(change(&api, "POST", "/v1/suppressions", &empty).await.pointer(), "#/address");
    let note =
        json!({"channel": "email", "address": "a@x.org", "reason": "bounced", "note": "n".repeat(1_025)});
    assert_eq!(change(&api, "POST", "/v1/suppressions", &note).await.pointer(), "#/note");
}

#[tokio::test]
async fn members_come_and_go_by_name() {
    let (api, _) = api();
    let page = api.get("/v1/segments/u/members").await.body;
    assert_eq!((&page["members"][0]["user"], &page["next"]), (&json!("u"), &json!("u")));
    assert_eq!(page["unreadable"], json!(["w"]));
    assert_eq!(api.get("/v1/segments/u/members?after=u").await.body["next"], Value::Null);
    assert_eq!(api.get("/v1/segments/x/members").await.problem(), "unknown-segment");
    let put = api.call("PUT", "/v1/segments/vip/members/u", &[ADMIN], Body::empty()).await;
    assert_eq!(put.body, json!({"is_member": true}));
    let unknown = api.call("PUT", "/v1/segments/vip/members/v", &[ADMIN], Body::empty()).await;
    assert_eq!(unknown.problem(), "unknown-recipient");
    let gone = api.call("DELETE", "/v1/segments/vip/members/v", &[ADMIN], Body::empty()).await;
    assert_eq!(gone.body, json!({"is_member": false}));
}

#[tokio::test]
async fn a_database_that_is_away_is_503_and_not_named() {
    let (api, _) = api();
    let of = |id: &str| json!({"channel": "chat", "address": id});
    let suppress = json!({"channel": "chat", "address": "away", "reason": "bounced"});
    let answers = [
        api.get("/v1/recipients?after=away").await,
        api.get("/v1/recipients/away").await,
        change(&api, "PUT", "/v1/recipients/away", &json!({})).await,
        change(&api, "POST", "/v1/lookup", &json!({"users": ["u", "away"]})).await,
        api.call("DELETE", "/v1/recipients/away", &[ADMIN], Body::empty()).await,
        api.get("/v1/recipients/away/preferences").await,
        change(&api, "POST", "/v1/suppressions", &suppress).await,
        change(&api, "POST", "/v1/suppressions/lift", &of("away")).await,
        api.get("/v1/segments/away/members").await,
        api.call("PUT", "/v1/segments/s/members/away", &[ADMIN], Body::empty()).await,
        api.call("DELETE", "/v1/segments/s/members/away", &[ADMIN], Body::empty()).await,
    ];
    for answer in answers {
        assert_eq!((answer.status, answer.problem()), (StatusCode::SERVICE_UNAVAILABLE, "unavailable"));
        assert_eq!(answer.header("retry-after"), Some("1"));
        assert!(!answer.body.to_string().contains("db.internal"), "{answer:?}");
    }
}

/// Gives every documented answer but those of a server whose directory is kept elsewhere.
pub(crate) async fn call_in_every_way(api: &Api) {
    let bodies = [
        ("PUT", "/v1/recipients/{id}", json!({})),
        ("DELETE", "/v1/recipients/{id}", json!({"addresses": ["chat:{id}"]})),
        ("POST", "/v1/lookup", json!({"users": ["{id}"]})),
        ("PUT", "/v1/recipients/{id}/preferences", json!({})),
        ("POST", "/v1/suppressions", json!({"channel": "chat", "address": "{id}", "reason": "bounced"})),
        ("POST", "/v1/suppressions/lift", json!({"channel": "chat", "address": "{id}"})),
    ];
    let bare = [
        ("GET", "/v1/recipients?after={id}"),
        ("GET", "/v1/recipients/{id}"),
        ("GET", "/v1/recipients/{id}/preferences"),
        ("GET", "/v1/suppressions"),
        ("GET", "/v1/segments/{id}/members"),
        ("PUT", "/v1/segments/s/members/{id}"),
        ("DELETE", "/v1/segments/s/members/{id}"),
    ];
    for (token, id) in [("none", "u"), ("send", "u"), ("admin", "u"), ("admin", "other"), ("admin", "away")] {
        let authorization = format!("Bearer {token}");
        let headers = [("authorization", authorization.as_str()), JSON];
        for (method, path) in bare {
            api.call(method, &path.replace("{id}", id), &headers, Body::empty()).await;
        }
        for (method, path, body) in &bodies {
            api.call(method, &path.replace("{id}", id), &headers, body.to_string().replace("{id}", id)).await;
        }
    }
    let away = hex::encode(Fingerprint::of(&[b"away"]).as_bytes());
    let long = "x".repeat(129);
    for path in ["/v1/recipients?limit=0", "/v1/suppressions?after=x", "/v1/segments/u/members?limit=x"] {
        api.get(path).await;
    }
    api.get(&format!("/v1/suppressions?after={away}")).await;
    let headers = [ADMIN, JSON, ("if-match", "\"other\"")];
    api.call("PUT", "/v1/recipients/u/preferences", &headers, r#"{"quiet_hours":"22:00-08:00"}"#).await;
    for (method, path) in [
        ("DELETE", format!("/v1/recipients/{long}")),
        ("GET", format!("/v1/recipients/{long}/preferences")),
        ("PUT", format!("/v1/segments/{long}/members/u")),
        ("DELETE", format!("/v1/segments/{long}/members/u")),
    ] {
        api.call(method, &path, &[ADMIN], Body::empty()).await;
    }
    for (method, path, body) in &bodies {
        let (path, good) = (path.replace("{id}", "u"), body.to_string());
        api.call(method, &path, &[ADMIN, JSON], r#"{"x":1}"#).await;
        api.call(method, &path, &[ADMIN, JSON], format!("{:2000}", 1)).await;
        api.call(method, &path, &[ADMIN, ("content-type", "text/plain")], good).await;
        let endless = Body::from_stream(stream::pending::<Result<Bytes, std::io::Error>>());
        api.call(method, &path, &[ADMIN, JSON], endless).await;
    }
}

/// The answers of a server whose directory is kept elsewhere.
pub(crate) async fn elsewhere() -> BTreeSet<(String, u16)> {
    let api = Api::new();
    for path in ["/v1/recipients", "/v1/recipients/u", "/v1/segments/s/members"] {
        assert_eq!(api.get(path).await.problem(), "directory-elsewhere");
    }
    change(&api, "PUT", "/v1/recipients/u", &json!({})).await;
    change(&api, "POST", "/v1/lookup", &json!({"users": []})).await;
    api.call("PUT", "/v1/segments/s/members/u", &[ADMIN], Body::empty()).await;
    api.call("DELETE", "/v1/segments/s/members/u", &[ADMIN], Body::empty()).await;
    let forgotten = api.call("DELETE", "/v1/recipients/u", &[ADMIN], Body::empty()).await;
    assert_eq!(forgotten.status, StatusCode::OK, "requests are forgotten wherever the directory is");
    api.given()
}

#[test]
fn a_whole_replaces_what_was_wanted() {
    let before =
        "email/marketing=off".parse::<PreferenceChange>().unwrap().apply(Default::default()).unwrap();
    assert_eq!(PreferenceChange::All(Default::default()).apply(before).unwrap(), Default::default());
}
