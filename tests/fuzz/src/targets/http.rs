use std::{
    sync::{Arc, LazyLock},
    time::Duration,
};

use async_trait::async_trait;
use axum::{
    Router,
    body::Body,
    http::{HeaderName, Request, StatusCode, header::AUTHORIZATION},
};
use claimstream_domain::notification::{InboxKeys, NotificationRequest, Submitted, consent::UnsubscribeKeys};
use claimstream_http::{
    Directory, Intake, Limits, ReceiptCheck, ReceiptMapping, ReceiptProviders, RecipientStores, Service,
    SharedSecret, Stores,
};
use claimstream_memory::MemoryStore;
use claimstream_ports::{StoreError, mock::HandTimer, notification::SubmitRequests};
use tokio::runtime::{Builder, Runtime};
use tower::ServiceExt;

use crate::{
    Target,
    head::{Head, split, text},
};

/// A request to the service: `METHOD PATH`, headers, an empty line, and the body.
pub(super) const REQUEST: Target = Target {
    name: "http_request",
    run: |data| {
        let (line, rest) = split(data, b'\n');
        let Some((method, path)) = text(line).and_then(|line| line.split_once(' ')) else { return false };
        call(method, path, &Head::of(rest))
    },
    seeds: &[
        b"POST /v1/notifications\nauthorization: Bearer x\ncontent-type: application/json\nidempotency-key: \"a\"\ntraceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\n\n{\"requester\":{\"type\":\"service\",\"id\":\"shop\"},\"recipients\":[{\"email\":\"ann@example.com\"}],\"channels\":[\"email\"],\"content\":{\"title\":\"Paid\"}}",
        b"GET /v1/notifications?status=PENDING&after=019ac0de-0000-7000-8000-000000000001&limit=7\n\n",
        b"GET /v1/notifications/019ac0de-0000-7000-8000-000000000001/messages?after=019ac0de-0000-7000-8000-000000000001&limit=100\n\n",
        b"GET /v1/recipients/7/inbox/events?after=019ac0de00007000800000000000000.00000001\nlast-event-id: 019ac0de000070008000000000000001\n\n",
        b"GET /v1/recipients/7/inbox\n\n",
        b"PUT /v1/recipients/7/preferences\ncontent-type: application/json\n\n{\"rules\":[{\"channel\":\"email\",\"category\":\"news\",\"allowed\":false}],\"time_zone\":\"Europe/Berlin\",\"quiet_hours\":\"22:00-08:00\"}",
        b"PUT /v1/recipients/7\ncontent-type: application/json\n\n{\"email\":\"ann@example.com\",\"attributes\":{\"a\":1}}",
        b"POST /v1/suppressions\ncontent-type: application/json\n\n{\"channel\":\"email\",\"address\":\"ann@example.com\",\"reason\":\"bounced\"}",
        b"GET /v1/segments/all/members?after=7&limit=10\n\n",
    ],
};

/// A receipt of the provider that the first line names: a token proves one, signatures prove the others.
pub(super) const RECEIPT: Target = Target {
    name: "http_receipt",
    run: |data| {
        let (provider, rest) = split(data, b'\n');
        let Some(provider) = text(provider) else { return false };
        call("POST", &format!("/v1/receipts/{provider}"), &Head::of(rest))
    },
    seeds: &[
        b"token\nauthorization: Bearer a-token-of-mail\ncontent-type: application/json\n\n[{\"RecordType\":\"Bounce\",\"Type\":\"HardBounce\",\"MessageID\":\"m-1\",\"Email\":\"ann@example.com\",\"BouncedAt\":\"2026-11-23T10:00:00Z\",\"Description\":\"no such user\"}]",
        b"token\nauthorization: a-token-of-mail\ncontent-type: application/x-www-form-urlencoded\n\nRecordType=Delivery&MessageID=SM+1&Email=%2B49",
        b"text\nauthorization: a-token-of-mail\nx-amz-sns-message-type: Notification\n\n{\"Message\":\"{\\\"RecordType\\\":\\\"Delivery\\\",\\\"MessageID\\\":\\\"m-1\\\"}\"}",
        b"text\nauthorization: a-token-of-mail\nx-amz-sns-message-type: SubscriptionConfirmation\n\n{\"SubscribeURL\":\"https://sns.eu-west-1.amazonaws.com/?Token=1\"}",
        b"standard\nwebhook-id: msg_1\nwebhook-timestamp: 1700000000\nwebhook-signature: v1,bcpS2rEVnyEsxZRoFMsRYE3pSYQoT4oqwXmzNew0A60= v1a,x\n\n{\"id\":1}",
        b"hmac\nx-signature: sha256=5c7c76af77af443a710729c69dbfac6394ac5b78aa21a360d1cd2a71077fc9cf\nx-timestamp: 1700000000\n\n{\"id\":1}",
    ],
};

/// Calls a service on a store in memory. Whatever the call says, the fault is not ours; a stream of events is not read.
fn call(method: &str, path: &str, head: &Head<'_>) -> bool {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in &head.fields {
        request = request.header(*name, *value);
    }
    let Ok(request) = request.body(Body::from(head.body.to_vec())) else { return false };
    let (runtime, router) = &*SERVICE;
    let answer = runtime.block_on(router.clone().oneshot(request));
    let status = answer.unwrap_or_else(|never| match never {}).status();
    assert!(status.as_u16() != 500, "{method} {path} is answered with {status}");
    // What is asked about need not be there.
    status.is_success() || status == StatusCode::NOT_FOUND
}

static SERVICE: LazyLock<(Runtime, Router)> = LazyLock::new(|| {
    let runtime = Builder::new_current_thread().enable_time().build().expect("a runtime");
    let router = runtime.block_on(async { service().router() });
    (runtime, router)
});

fn service() -> Service {
    let store = Arc::new(MemoryStore::default());
    let directory = Directory { users: store.clone(), segments: store.clone() };
    let stores = Stores {
        intake: Arc::new(Forgetful(MemoryStore::default())),
        requests: store.clone(),
        reports: store.clone(),
        list: store.clone(),
        receipts: store.clone(),
        preferences: store.clone(),
        in_app: store.clone(),
        people: RecipientStores { directory: Some(directory), erase: store.clone(), suppressions: store },
        template_check: None,
        templates: None,
    };
    let service = Service::without_tokens(stores, Arc::new(HandTimer::default()), Limits::default())
        .with_receipts(providers());
    let service = service.with_unsubscribe_links(UnsubscribeKeys::new([&[7; 32][..]]).expect("keys"));
    service.with_inbox_keys(InboxKeys::new([&[8; 32][..]]).expect("keys"))
}

fn providers() -> ReceiptProviders {
    let secret = |text: &str| SharedSecret::new(text).expect("a secret");
    // The seeds were signed at some time.
    let max_age = Duration::MAX;
    let checks = [
        ("token", ReceiptCheck::Token { secret: secret("a-token-of-mail"), header: AUTHORIZATION }),
        ("text", ReceiptCheck::Token { secret: secret("a-token-of-mail"), header: AUTHORIZATION }),
        (
            "standard",
            ReceiptCheck::Standard { secret: secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), max_age },
        ),
        (
            "hmac",
            ReceiptCheck::Hmac {
                secret: secret("whsec-test"),
                header: HeaderName::from_static("x-signature"),
                timestamp: Some(HeaderName::from_static("x-timestamp")),
                max_age,
            },
        ),
    ];
    checks.into_iter().fold(ReceiptProviders::default(), |all, (name, check)| {
        let body = (name == "text").then(|| "/Message".to_owned());
        let name = name.parse().expect("a name");
        all.with(name, check, ReceiptMapping { body, ..mapping() }).expect("a mapping")
    })
}

fn mapping() -> ReceiptMapping {
    ReceiptMapping {
        body: None,
        events: None,
        kind: vec!["/RecordType".into(), "/Type".into()],
        kinds: "Delivery=delivered, Bounce/HardBounce=bounced, Bounce=soft_bounced".parse().expect("kinds"),
        message: Some("/Metadata/message".into()),
        reference: Some("/MessageID".into()),
        channel: None,
        address: Some("/Email".into()),
        at: Some("/BouncedAt".into()),
        note: Some("/Description".into()),
    }
}

/// Takes requests in and forgets them, so that the store stays small.
struct Forgetful(MemoryStore);

#[async_trait]
impl Intake for Forgetful {
    async fn take(&self, requests: &[NotificationRequest]) -> Result<Vec<Submitted>, StoreError> {
        let tx = self.0.begin();
        let taken = self.0.submit(&tx, requests).await;
        tx.rollback();
        taken
    }
}
