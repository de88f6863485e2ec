//! Promise: a request that its template can never render is refused with the position, and one that was
//! accepted before is not

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use axum::{
    body::{Body, Bytes},
    http::StatusCode,
};
use claimstream_domain::notification::{
    Channel, Content, NotificationRequest, Recipient, RequestStatus, Template, TemplateCall, TemplateFault,
    TemplateVersion,
};
use claimstream_http::{Limits, PublishedTemplate, TemplateCheck, TemplateDesk, TemplateRefusal};
use claimstream_ports::{
    StoreError, StoreErrorKind,
    notification::{RequestRead, TemplateDraft, TemplateListed, TemplateVersionListed},
};
use futures::stream;
use serde_json::{Value, json};

use crate::api::{Answer, Api, Ports, body, trouble};

/// Templates whose answers follow from their ids: `t` is there, `away` meets a database that is away, `raced` is published by
/// another call, `bad` has a fault.
#[derive(Default)]
pub(crate) struct Desk {
    saved: Mutex<Option<Template>>,
}

fn template() -> Template {
    serde_json::from_value(draft()).unwrap()
}

fn draft() -> Value {
    json!({"default_language": "en", "variables": {"name": {}}, "texts": {"sms": {"en": {"body": "Hi {{ name }}"}}}})
}

fn known<T>(id: &str, answer: T) -> Result<Option<T>, StoreError> {
    match id {
        "away" => Err(trouble(StoreErrorKind::Unavailable)),
        "t" => Ok(Some(answer)),
        _ => Ok(None),
    }
}

fn done<T>(id: &str, answer: T) -> Result<T, TemplateRefusal> {
    match id {
        "raced" => Err(TemplateRefusal::Conflict("publish again".into())),
        "bad" => Err(TemplateRefusal::Invalid("sms, en, body: line 1: syntax error".into())),
        id => match known(id, answer) {
            Ok(Some(answer)) => Ok(answer),
            Ok(None) => Err(TemplateRefusal::Unknown(format!("there is no template {id:?}"))),
            Err(error) => Err(TemplateRefusal::Store(error)),
        },
    }
}

#[async_trait]
impl TemplateDesk for Desk {
    async fn list(&self, after: Option<String>, _: u32) -> Result<Vec<TemplateListed>, StoreError> {
        let age = Duration::from_millis(1_500);
        let listed = TemplateListed { id: "t".into(), revision: 2, age, published: Some(3) };
        known(after.as_deref().unwrap_or("t"), listed).map(Vec::from_iter)
    }

    async fn draft(&self, id: &str) -> Result<Option<TemplateDraft>, StoreError> {
        known(id, TemplateDraft { template: template(), revision: 2, age: Duration::ZERO })
    }

    async fn versions(&self, _: &str, _: u32) -> Result<Vec<TemplateVersionListed>, StoreError> {
        Ok(vec![TemplateVersionListed { number: 3, restores: Some(1), age: Duration::ZERO }])
    }

    async fn version(
        &self,
        id: &str,
        number: Option<u32>,
    ) -> Result<Option<Arc<TemplateVersion>>, StoreError> {
        let number = number.unwrap_or(3);
        let partials = Default::default();
        known(id, Arc::new(TemplateVersion { id: id.into(), number, template: template(), partials }))
    }

    async fn save(&self, id: &str, draft: &Template) -> Result<u32, TemplateRefusal> {
        *self.saved.lock().unwrap() = Some(draft.clone());
        done(if id == "other" { "t" } else { id }, 3)
    }

    async fn publish(&self, id: &str, restore: Option<u32>) -> Result<PublishedTemplate, TemplateRefusal> {
        done(id, PublishedTemplate { number: 4, is_new: restore.is_none() })
    }

    async fn preview(
        &self,
        call: &TemplateCall,
        _: Option<u32>,
        recipient: &Recipient,
        _: Channel,
    ) -> Result<Content, TemplateRefusal> {
        let body = format!("{:?} {:?}", recipient.language, recipient.attributes.get("city"));
        done(&call.id, Content { body: Some(body), ..Content::default() })
    }
}

const ADMIN: (&str, &str) = ("authorization", "Bearer admin");
const READ: (&str, &str) = ("authorization", "Bearer read");
const JSON: (&str, &str) = ("content-type", "application/json");

fn api() -> (Api, Arc<Desk>) {
    let desk = Arc::new(Desk::default());
    let ports = Ports { templates: Some(desk.clone()), ..Ports::default() };
    (Api::with(ports, Limits::default()), desk)
}

#[tokio::test]
async fn a_template_is_shown_edited_published_and_previewed() {
    let (api, desk) = api();
    let listed = api.get("/v1/templates?limit=1").await.body;
    assert_eq!(listed["templates"][0], json!({"id": "t", "revision": 2, "age_ms": 1500, "published": 3}));
    assert_eq!(listed["next"], "t");
    let shown = api.get("/v1/templates/t").await.body;
    assert_eq!((&shown["draft"], &shown["versions"][0]["restores"]), (&draft(), &json!(1)));
    for (number, expected) in [("2", 2), ("latest", 3)] {
        let version = api.get(&format!("/v1/templates/t/versions/{number}")).await.body;
        assert_eq!((&version["number"], &version["template"]), (&json!(expected), &draft()));
    }
    let saved = api.call("PUT", "/v1/templates/t", &[ADMIN, JSON], draft().to_string()).await;
    assert_eq!(saved.body, json!({"id": "t", "revision": 3}));
    assert_eq!(*desk.saved.lock().unwrap(), Some(template()));
    let published = api.call("POST", "/v1/templates/t/publish", &[ADMIN], Body::empty()).await;
    assert_eq!(published.body, json!({"id": "t", "number": 4, "is_new": true}));
    let nothing = api.call("POST", "/v1/templates/t/publish", &[ADMIN, JSON], "null").await;
    assert_eq!(nothing.body, published.body);
    let restored = api.call("POST", "/v1/templates/t/publish", &[ADMIN, JSON], r#"{"version":1}"#).await;
    assert_eq!(restored.body["is_new"], false);
    let asked =
        json!({"channel": "sms", "language": "de", "params": {"name": "x"}, "attributes": {"city": "Bonn"}});
    let preview = api.call("POST", "/v1/templates/t/preview", &[READ, JSON], asked.to_string()).await;
    assert_eq!(preview.body, json!({"body": "Some(\"de\") Some(String(\"Bonn\"))"}));
}

#[tokio::test]
async fn a_fault_of_a_draft_says_where_it_is() {
    let (api, _) = api();
    let put = async |body: &str| api.call("PUT", "/v1/templates/bad", &[ADMIN, JSON], body.to_owned()).await;
    let wrong = put(r#"{"default_language": "en", "texts": {"sms": {"en": {"text": "x"}}}}"#).await;
    assert_eq!(wrong.pointer(), "#/texts/sms/en/text");
    let wrong = put(r#"{"default_language": "en", "texts": {"pigeon": {}}}"#).await;
    assert_eq!(wrong.pointer(), "#/texts/pigeon");
    let wrong = put(&draft().to_string()).await;
    assert_eq!((wrong.status, wrong.pointer()), (StatusCode::BAD_REQUEST, "#"));
    assert!(wrong.body["detail"].as_str().unwrap().contains("line 1"), "{wrong:?}");
}

/// A check whose answer follows from the template's id.
struct Check;

#[async_trait]
impl TemplateCheck for Check {
    async fn fault(&self, request: &NotificationRequest) -> Result<Option<TemplateFault>, StoreError> {
        let id = request.template.as_ref().unwrap().id.clone();
        let names = vec!["a/b".to_owned(), "c".to_owned()];
        Ok(Some(match id.as_str() {
            "good" => return Ok(None),
            "away" => return Err(trouble(StoreErrorKind::Unavailable)),
            "surplus" => TemplateFault::Surplus { id, names },
            "missing" => TemplateFault::Missing { id, names },
            "mute" => TemplateFault::NoText { id, channels: vec![Channel::Email] },
            _ => TemplateFault::Unknown { id },
        }))
    }
}

async fn sent(template: &str, key: Option<&str>) -> Answer {
    let mut ports = Ports { template_check: Some(Arc::new(Check)), ..Ports::default() };
    ports.requests.expect_read().returning(|ids| {
        let request: NotificationRequest = serde_json::from_value({
            let mut request = body();
            request["id"] = json!(ids[0]);
            request
        })
        .unwrap();
        Ok(vec![Some(RequestRead { request, status: RequestStatus::Pending })])
    });
    let api = Api::with(ports, Limits::default());
    let mut request = body();
    request["content"] = Value::Null;
    request["template"] = json!({"id": template});
    api.send(key, &request).await
}

#[tokio::test]
async fn a_request_that_its_template_can_never_carry_out_is_refused_with_the_place() {
    for (template, place, why) in [
        ("unknown", "#/template/id", "there is no template \"unknown\""),
        ("mute", "#/channels", "the template \"mute\" has no text for email"),
        ("surplus", "#/template/params/a~1b", "the template \"surplus\" has no variable \"a/b\", \"c\""),
        ("missing", "#/template/params", "the template \"missing\" needs a value for \"a/b\", \"c\""),
    ] {
        let refused = sent(template, None).await;
        assert_eq!((refused.status, refused.pointer()), (StatusCode::BAD_REQUEST, place));
        assert_eq!(refused.body["detail"], why);
    }
    let both = sent("surplus", None).await.body["errors"].clone();
    assert_eq!(both[1]["pointer"], "#/template/params/c");
}

#[tokio::test]
async fn a_request_is_taken_in_if_its_template_can_carry_it_out_or_cannot_be_asked_about() {
    for template in ["good", "away"] {
        assert_eq!(sent(template, None).await.status, StatusCode::CREATED, "{template}");
    }
}

#[tokio::test]
async fn a_request_that_was_taken_in_before_gets_its_answer_whatever_has_become_of_its_template() {
    // The mock knows the id that is made of the key, and the intake answers.
    assert_eq!(sent("unknown", Some("k")).await.status, StatusCode::CREATED);
    assert_eq!(sent("unknown", None).await.status, StatusCode::BAD_REQUEST);
}

/// Gives every documented answer but those of a server whose templates are kept elsewhere.
pub(crate) async fn call_in_every_way(api: &Api) {
    let preview = json!({"channel": "sms"}).to_string();
    let (draft, long) = (draft().to_string(), format!("{:2000}", 1));
    for (token, id) in [("none", "t"), ("send", "t"), ("read", "t"), ("admin", "other"), ("admin", "away")] {
        let token =
            [("authorization", &*format!("Bearer {token}"))].map(|(name, value)| (name, value.to_owned()));
        let headers = [(token[0].0, token[0].1.as_str()), JSON];
        for path in ["/v1/templates?after={id}", "/v1/templates/{id}", "/v1/templates/{id}/versions/1"] {
            api.call("GET", &path.replace("{id}", id), &headers, Body::empty()).await;
        }
        api.call("PUT", &format!("/v1/templates/{id}"), &headers, draft.clone()).await;
        api.call("POST", &format!("/v1/templates/{id}/publish"), &headers, "{}").await;
        api.call("POST", &format!("/v1/templates/{id}/preview"), &headers, preview.clone()).await;
    }
    for path in ["/v1/templates?limit=0", "/v1/templates/t/versions/x"] {
        api.get(path).await;
    }
    for (method, path, good) in [
        ("PUT", "/v1/templates/t", draft.as_str()),
        ("POST", "/v1/templates/t/publish", "{}"),
        ("POST", "/v1/templates/t/preview", preview.as_str()),
    ] {
        api.call(method, path, &[ADMIN, JSON], good.to_owned()).await;
        api.call(method, path, &[ADMIN, JSON], r#"{"x":1}"#).await;
        api.call(method, path, &[ADMIN, JSON], long.clone()).await;
        api.call(method, path, &[ADMIN, ("content-type", "text/plain")], good.to_owned()).await;
        let endless = Body::from_stream(stream::pending::<Result<Bytes, std::io::Error>>());
        api.call(method, path, &[ADMIN, JSON], endless).await;
    }
    api.call("POST", "/v1/templates/raced/publish", &[ADMIN, JSON], "{}").await;
}

#[tokio::test]
async fn a_database_that_is_away_is_503_and_not_named() {
    let (api, _) = api();
    let answers = [
        api.get("/v1/templates?after=away").await,
        api.get("/v1/templates/away").await,
        api.get("/v1/templates/away/versions/1").await,
        api.call("PUT", "/v1/templates/away", &[ADMIN, JSON], draft().to_string()).await,
        api.call("POST", "/v1/templates/away/publish", &[ADMIN, JSON], "{}").await,
        api.call("POST", "/v1/templates/away/preview", &[READ, JSON], r#"{"channel":"sms"}"#).await,
    ];
    for answer in answers {
        assert_eq!((answer.status, answer.problem()), (StatusCode::SERVICE_UNAVAILABLE, "unavailable"));
        assert_eq!(answer.header("retry-after"), Some("1"));
        assert!(!answer.body.to_string().contains("db.internal"), "{answer:?}");
    }
}

/// The answers of a server whose templates are kept elsewhere.
pub(crate) async fn elsewhere() -> BTreeSet<(String, u16)> {
    let api = Api::new();
    for path in ["/v1/templates", "/v1/templates/t", "/v1/templates/t/versions/1"] {
        assert_eq!(api.get(path).await.problem(), "templates-elsewhere");
    }
    api.call("PUT", "/v1/templates/t", &[ADMIN, JSON], draft().to_string()).await;
    api.call("POST", "/v1/templates/t/publish", &[ADMIN, JSON], "{}").await;
    api.call("POST", "/v1/templates/t/preview", &[ADMIN, JSON], json!({"channel": "sms"}).to_string()).await;
    api.given()
}
