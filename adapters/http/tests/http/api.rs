use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use async_trait::async_trait;
use axum::{
    body::{Body, to_bytes},
    http::{HeaderMap, Request, StatusCode},
};
use claimstream_domain::notification::{NotificationRequest, Submitted};
use claimstream_http::{
    Intake, Limits, RecipientStores, Service, Stores, TemplateCheck, TemplateDesk, Tokens,
};
use claimstream_ports::{
    StoreError, StoreErrorKind, Timer,
    mock::{
        MockDeliveryReceipts, MockInAppInbox, MockListRequests, MockNotificationReports,
        MockPreferenceRepository, MockRequestRepository,
    },
    notification::UnreadableRequest,
};
use claimstream_tokio::TokioTimer;
use serde_json::{Value, json};
use tokio::sync::watch;
use tower::ServiceExt;
use uuid::Uuid;

use crate::town::Town;

/// A service on mocked ports; every answer is compared with the description.
pub(crate) struct Api {
    pub(crate) service: Service,
    pub(crate) intake: Arc<Shelf>,
    given: Mutex<BTreeSet<(String, u16)>>,
}

/// The mocks that a test scripts.
#[derive(Default)]
pub(crate) struct Ports {
    pub(crate) requests: MockRequestRepository,
    pub(crate) reports: MockNotificationReports,
    pub(crate) list: MockListRequests,
    pub(crate) receipts: MockDeliveryReceipts,
    pub(crate) preferences: MockPreferenceRepository,
    pub(crate) in_app: MockInAppInbox,
    pub(crate) intake: Arc<Shelf>,
    /// People without a directory unless a test has others.
    pub(crate) people: Option<RecipientStores>,
    pub(crate) template_check: Option<Arc<dyn TemplateCheck>>,
    pub(crate) templates: Option<Arc<dyn TemplateDesk>>,
}

/// An intake that keeps requests in memory, and waits for others where a test says so.
#[derive(Default)]
pub(crate) struct Shelf {
    pub(crate) kept: Mutex<BTreeMap<Uuid, NotificationRequest>>,
    pub(crate) trouble: Mutex<Option<StoreErrorKind>>,
    /// Whether what it has kept cannot be read any longer.
    pub(crate) is_unreadable: AtomicBool,
    /// Held by a test to keep transactions from committing.
    pub(crate) gate: tokio::sync::Mutex<()>,
    /// How many transactions have come to the gate.
    begun: watch::Sender<usize>,
}

impl Shelf {
    /// Waits until so many transactions have come to the gate.
    pub(crate) async fn begun(&self, transactions: usize) {
        self.begun.subscribe().wait_for(|begun| *begun >= transactions).await.unwrap();
    }
}

/// The timer of a service; it follows the paused time of a test.
pub(crate) fn timer() -> Arc<dyn Timer> {
    Arc::new(TokioTimer::new())
}

#[async_trait]
impl Intake for Shelf {
    async fn take(&self, requests: &[NotificationRequest]) -> Result<Vec<Submitted>, StoreError> {
        self.begun.send_modify(|begun| *begun += 1);
        let _open = self.gate.lock().await;
        if let Some(kind) = *self.trouble.lock().unwrap() {
            return Err(StoreError::new(kind, "submit", "as the test wants it"));
        }
        if self.is_unreadable.load(Ordering::SeqCst) {
            let why = UnreadableRequest("it has a field of a newer version".into());
            return Err(StoreError::new(StoreErrorKind::Corrupt, "submit", why));
        }
        let mut kept = self.kept.lock().unwrap();
        let take = |request: &NotificationRequest| match kept.get(&request.id) {
            Some(known) if known == request => Submitted::Replayed,
            Some(_) => Submitted::Conflict,
            None => {
                kept.insert(request.id, request.clone());
                Submitted::New
            }
        };
        Ok(requests.iter().map(take).collect())
    }
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// The last part of a problem's type.
    pub(crate) fn problem(&self) -> &str {
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        assert_eq!(self.body["status"], self.status.as_u16(), "{self:?}");
        self.body["type"].as_str().unwrap().rsplit(':').next().unwrap()
    }

    pub(crate) fn pointer(&self) -> &str {
        assert_eq!(self.problem(), "invalid-request");
        self.body["errors"][0]["pointer"].as_str().unwrap_or("none")
    }
}

/// Tokens of the tests; the token `send` has the scope send, and so on.
pub(crate) fn tokens() -> Tokens {
    let hash = |token: &str| {
        use sha2::{Digest, Sha256};
        hex::encode(Sha256::digest(token))
    };
    let line = |name: &str| format!("{name} {name} sha256:{}\n", hash(name));
    Tokens::read(&["send", "read", "inbox", "admin"].map(line).concat()).unwrap()
}

pub(crate) fn body() -> Value {
    json!({
        "requester": {"type": "service", "id": "shop"}, "recipients": [{"email": "ann@example.com"}],
        "channels": ["email"], "content": {"title": "Paid"},
    })
}

impl Api {
    pub(crate) fn new() -> Self {
        Self::with(Ports::default(), Limits::default())
    }

    /// Without the keys of passes.
    pub(crate) fn without_keys() -> Self {
        let ports = Ports::default();
        let intake = Arc::clone(&ports.intake);
        let service = Service::new(ports.stores(), timer(), tokens(), Limits::default());
        Self { service, intake, given: Mutex::default() }
    }

    /// Without tokens.
    pub(crate) fn open(ports: Ports) -> Self {
        let intake = Arc::clone(&ports.intake);
        let service = Service::without_tokens(ports.stores(), timer(), Limits::default());
        Self { service, intake, given: Mutex::default() }
    }

    /// What another one has answered counts as well.
    pub(crate) fn note(&self, other: &Self) {
        self.given.lock().unwrap().extend(other.given());
    }

    pub(crate) fn with(ports: Ports, limits: Limits) -> Self {
        let intake = Arc::clone(&ports.intake);
        let service = Service::new(ports.stores(), timer(), tokens(), limits);
        let service = service.with_receipts(crate::receipts::providers());
        let service = service.with_unsubscribe_links(crate::unsubscribe::keys());
        let service = service.with_inbox_keys(crate::inbox::keys());
        Self { service, intake, given: Mutex::default() }
    }

    /// Sends a request with a token, headers and a body.
    pub(crate) async fn call(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Body>,
    ) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let answer = self.service.router().oneshot(request.body(body.into()).unwrap()).await.unwrap();
        let (status, headers) = (answer.status(), answer.headers().clone());
        let bytes = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
        let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        let answer = Answer { status, headers, body, text: String::from_utf8_lossy(&bytes).into_owned() };
        self.is_described(method, path, &answer);
        answer
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.call("GET", path, &[("authorization", "Bearer read")], Body::empty()).await
    }

    /// Opens a page, or sends its form.
    pub(crate) async fn page(&self, method: &str, path: &str, form: &'static str) -> (StatusCode, String) {
        let answer = self.call(method, path, &[], form).await;
        (answer.status, answer.text)
    }

    /// Hands a notification in, with a key if there is one.
    pub(crate) async fn send(&self, key: Option<&str>, body: &Value) -> Answer {
        self.send_text(key, &body.to_string()).await
    }

    pub(crate) async fn send_text(&self, key: Option<&str>, body: &str) -> Answer {
        let mut headers = vec![("authorization", "Bearer send"), ("content-type", "application/json")];
        headers.extend(key.map(|key| ("idempotency-key", key)));
        self.call("POST", "/v1/notifications", &headers, body.to_owned()).await
    }

    /// Fails unless the description has this route with this status and this type of content.
    fn is_described(&self, method: &str, path: &str, answer: &Answer) {
        let api = serde_json::to_value(Service::description()).unwrap();
        let path = path.split('?').next().unwrap();
        let Some(route) = api["paths"].as_object().unwrap().keys().find(|route| matches(route, path)) else {
            return;
        };
        let Some(operation) = api["paths"][route].get(method.to_lowercase()) else { return };
        let described = &operation["responses"][answer.status.as_str()];
        let media_type = answer.header("content-type").unwrap();
        assert!(!described["content"][media_type].is_null(), "{method} {route} has no answer {answer:?}");
        self.given.lock().unwrap().insert((format!("{method} {route}"), answer.status.as_u16()));
    }

    /// The routes and statuses that were answered so far.
    pub(crate) fn given(&self) -> BTreeSet<(String, u16)> {
        self.given.lock().unwrap().clone()
    }
}

impl Ports {
    pub(crate) fn stores(self) -> Stores {
        Stores {
            intake: self.intake,
            requests: Arc::new(self.requests),
            reports: Arc::new(self.reports),
            list: Arc::new(self.list),
            receipts: Arc::new(self.receipts),
            preferences: Arc::new(self.preferences),
            in_app: Arc::new(self.in_app),
            people: self.people.unwrap_or_else(|| Arc::<Town>::default().elsewhere()),
            template_check: self.template_check,
            templates: self.templates,
        }
    }
}

/// Whether a path is one of a route, whose parameters stand in braces.
fn matches(route: &str, path: &str) -> bool {
    let (route, path): (Vec<_>, Vec<_>) = (route.split('/').collect(), path.split('/').collect());
    route.len() == path.len()
        && route.iter().zip(path).all(|(part, given)| part.starts_with('{') || *part == given)
}

pub(crate) fn trouble(kind: StoreErrorKind) -> StoreError {
    StoreError::new(kind, "read", "host db.internal is away")
}
