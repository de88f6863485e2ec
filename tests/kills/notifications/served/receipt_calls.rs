use std::{
    net::SocketAddr,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    time::{Duration, Instant},
};

use base64::{Engine, prelude::BASE64_STANDARD};
use claimstream_domain::notification::ReceiptKind;
use hmac::{Hmac, KeyInit, Mac};
use http_body_util::{BodyExt, Full};
use hyper::{Request, StatusCode, body::Bytes, header::CONTENT_TYPE};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use tokio::time::timeout;
use uuid::Uuid;

use crate::sink::unix_micros;

/// Sends receipts to the processes that serve, signed by Standard Webhooks, and again until they are answered.
pub(crate) struct ReceiptCalls {
    client: Client<HttpConnector, Full<Bytes>>,
    servers: Vec<SocketAddr>,
    key: [u8; 16],
    calls: AtomicUsize,
}

/// An event as this provider writes it.
#[derive(Serialize)]
pub(crate) struct Event {
    pub(crate) event: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reference: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<Uuid>,
    pub(crate) recipient: String,
    pub(crate) at: String,
}

/// How many events of calls became what, in the words of the server.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Answered {
    pub(crate) new: usize,
    pub(crate) known: usize,
    pub(crate) waiting: usize,
    pub(crate) unknown: usize,
    pub(crate) ignored: usize,
    pub(crate) faulty: usize,
}

impl Answered {
    pub(crate) fn add(&mut self, other: Self) {
        self.new += other.new;
        self.known += other.known;
        self.waiting += other.waiting;
        self.unknown += other.unknown;
        self.ignored += other.ignored;
        self.faulty += other.faulty;
    }
}

impl ReceiptCalls {
    const TIMEOUT: Duration = Duration::from_secs(10);
    /// How long a call is repeated.
    const RETRY_FOR: Duration = Duration::from_secs(30);

    /// Calls these servers in turn; the key is made for this run.
    pub(crate) fn to(servers: Vec<SocketAddr>) -> Self {
        let client = Client::builder(TokioExecutor::new()).build_http();
        Self { client, servers, key: Uuid::now_v7().into_bytes(), calls: AtomicUsize::new(0) }
    }

    /// The secret that both sides know.
    pub(crate) fn secret(&self) -> String {
        format!("whsec_{}", BASE64_STANDARD.encode(self.key))
    }

    /// This provider's word for a kind of receipt.
    pub(crate) fn word(kind: ReceiptKind) -> &'static str {
        match kind {
            ReceiptKind::Sent => "sent",
            ReceiptKind::SoftBounced => "deferred",
            ReceiptKind::Delivered => "delivered",
            ReceiptKind::Opened => "open",
            ReceiptKind::Unsubscribed => "unsubscribe",
            ReceiptKind::Bounced => "hard_bounce",
            ReceiptKind::Complained => "spam_report",
        }
    }

    /// Its words and what they mean, as the setting `receipts_kinds` has it.
    pub(crate) fn words() -> String {
        let rule = |kind: ReceiptKind| format!("{}={kind}", Self::word(kind));
        ReceiptKind::ALL.map(rule).join(", ")
    }

    /// Sends events; `None` if no server has taken them in time.
    pub(crate) async fn send(&self, events: &[Event]) -> Option<Answered> {
        let body = serde_json::json!({ "events": events }).to_string();
        let began = Instant::now();
        while began.elapsed() < Self::RETRY_FOR {
            let number = self.calls.fetch_add(1, Relaxed);
            let server = self.servers[number % self.servers.len()];
            if let Ok(Some(answered)) = timeout(Self::TIMEOUT, self.call(server, &body)).await {
                return Some(answered);
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        None
    }

    /// One call; `None` if it was not answered by 200.
    async fn call(&self, server: SocketAddr, body: &str) -> Option<Answered> {
        let (id, at) = (Uuid::now_v7().to_string(), (unix_micros() / 1_000_000).to_string());
        let call = Request::post(format!("http://{server}/v1/receipts/mailer"))
            .header(CONTENT_TYPE, "application/json")
            .header(
                "webhook-signature",
                format!("v1,{}", BASE64_STANDARD.encode(self.signed(&id, &at, body)?)),
            )
            .header("webhook-id", id)
            .header("webhook-timestamp", at)
            .body(Full::from(body.to_owned()))
            .ok()?;
        let response = self.client.request(call).await.ok()?;
        let status = response.status();
        let answer = response.into_body().collect().await.ok()?.to_bytes();
        (status == StatusCode::OK).then(|| serde_json::from_slice(&answer).ok()).flatten()
    }

    fn signed(&self, id: &str, at: &str, body: &str) -> Option<Vec<u8>> {
        let mac = Hmac::<Sha256>::new_from_slice(&self.key).ok()?;
        Some(mac.chain_update(format!("{id}.{at}.{body}")).finalize().into_bytes().to_vec())
    }
}
