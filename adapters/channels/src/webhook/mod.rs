mod endpoint;
mod retry_after;
mod signature;
#[cfg(feature = "tls")]
mod tls;

use std::{
    error::Error,
    fmt,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use async_trait::async_trait;
use claimstream_domain::{Invalid, notification::NotificationMessage};
use claimstream_ports::{ChannelProvider, Delivered, DeliveryError};
use reqwest::{
    Client, ClientBuilder, Request, RequestBuilder, Response, StatusCode, header::CONTENT_TYPE,
    redirect::Policy,
};

pub use endpoint::Endpoint;

use self::signature::Signer;
use crate::{Secret, timeouts};

/// Posts each message as JSON, to the recipient's own URL or to one gateway.
///
/// The body is `{id, request_id, channel, recipient, address, content}`. The headers are `Idempotency-Key`, the
/// message's id; `X-Claimstream-Timestamp`, the Unix time in seconds of this attempt; and, where there is a secret,
/// `X-Claimstream-Signature: v1=<hex>`, the HMAC-SHA256 of `<timestamp>.<body>`. A receiver checks the signature,
/// refuses timestamps that are minutes old, and drops ids that it has seen.
///
/// | answer | outcome |
/// |---|---|
/// | 2xx | delivered; the header `X-Request-Id` is the reference |
/// | 408, 429, 5xx, no answer in time, no or a broken connection | tried again, no earlier than `Retry-After` says |
/// | any other status, redirects among them; a URL that is none | refused for good |
///
/// It posts to whatever URL a message bears, private networks included: where recipients choose their URLs themselves,
/// let it reach the outside only.
pub struct WebhookChannel {
    client: Client,
    signer: Option<Signer>,
    config: WebhookConfig,
}

/// Where and how messages are posted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WebhookConfig {
    /// Where every message goes; each to its own address if there is none.
    pub gateway: Option<Endpoint>,
    /// What messages are signed with; unsigned if there is none.
    pub secret: Option<Secret>,
    /// How long a connection may take, 5 s unless told otherwise.
    pub connect_timeout: Duration,
    /// How long a delivery may take in all, 15 s unless told otherwise.
    pub timeout: Duration,
    /// Whether the proxies of the environment (`HTTP_PROXY`, `HTTPS_PROXY`, `NO_PROXY`) are used; they are unless told
    /// otherwise.
    pub environment_proxies: bool,
}

impl WebhookConfig {
    /// Refuses timeouts of nothing, an empty secret, and a gateway that this build cannot speak to.
    pub fn check(&self) -> Result<(), Invalid> {
        timeouts::check("webhook timeout", self.connect_timeout, self.timeout)?;
        self.signer()?;
        self.gateway.as_ref().map_or(Ok(()), Endpoint::check)
    }

    fn signer(&self) -> Result<Option<Signer>, Invalid> {
        self.secret.as_ref().map(Signer::new).transpose()
    }
}

impl Default for WebhookConfig {
    fn default() -> Self {
        Self {
            gateway: None,
            secret: None,
            connect_timeout: Duration::from_secs(5),
            timeout: Duration::from_secs(15),
            environment_proxies: true,
        }
    }
}

impl WebhookChannel {
    /// A provider with connections of its own; refuses what [`WebhookConfig::check`] refuses.
    pub fn new(config: WebhookConfig) -> Result<Self, Invalid> {
        config.check()?;
        Ok(Self { client: client(&config)?, signer: config.signer()?, config })
    }

    fn endpoint(&self, message: &NotificationMessage) -> Result<Endpoint, DeliveryError> {
        let endpoint = match &self.config.gateway {
            Some(gateway) => Ok(gateway.clone()),
            None => message.address.parse::<Endpoint>(),
        };
        let checked = endpoint.and_then(|endpoint| endpoint.check().map(|()| endpoint));
        checked.map_err(|e| DeliveryError::Permanent { reason: e.to_string() })
    }

    fn request(&self, to: &Endpoint, message: &NotificationMessage) -> Result<Request, DeliveryError> {
        let refuse =
            |why: String| DeliveryError::Permanent { reason: format!("the message cannot be posted: {why}") };
        let body = serde_json::to_vec(message).map_err(|e| refuse(e.to_string()))?;
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let request = self.client.post(to.url().clone());
        let request = request.header(CONTENT_TYPE, "application/json");
        let request = request.header("idempotency-key", message.id.to_string());
        let request = self.sign(request, since.as_secs(), &body);
        request.body(body).build().map_err(|e| refuse(root(&e)))
    }

    fn sign(&self, request: RequestBuilder, timestamp: u64, body: &[u8]) -> RequestBuilder {
        let request = request.header("x-claimstream-timestamp", timestamp.to_string());
        match &self.signer {
            Some(signer) => request.header("x-claimstream-signature", signer.sign(timestamp, body)),
            None => request,
        }
    }

    /// Why no answer came; a person reads it, so it names the host and nothing that could be secret.
    fn unanswered(&self, to: &Endpoint, error: &reqwest::Error) -> DeliveryError {
        let reason = match (error.is_timeout(), error.is_connect()) {
            (true, true) => format!("no connection to {to} within {:?}", self.config.connect_timeout),
            (true, false) => format!("no answer from {to} within {:?}", self.config.timeout),
            (false, true) => format!("no connection to {to}: {}", root(error)),
            (false, false) => format!("the connection to {to} broke: {}", root(error)),
        };
        DeliveryError::Transient { reason, retry_after: None }
    }
}

#[async_trait]
impl ChannelProvider for WebhookChannel {
    async fn deliver(&self, message: &NotificationMessage) -> Result<Delivered, DeliveryError> {
        let to = self.endpoint(message)?;
        let request = self.request(&to, message)?;
        let response = self.client.execute(request).await.map_err(|e| self.unanswered(&to, &e))?;
        judge(&to, &response)
    }
}

impl fmt::Debug for WebhookChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookChannel").field("config", &self.config).finish_non_exhaustive()
    }
}

/// The one place that says what an answer means.
fn judge(from: &Endpoint, response: &Response) -> Result<Delivered, DeliveryError> {
    let status = response.status();
    let reason = format!("HTTP {} from {from}", status.as_u16());
    match status {
        _ if status.is_success() => Ok(Delivered { reference: reference(response) }),
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS => Err(later(reason, response)),
        _ if status.is_server_error() => Err(later(reason, response)),
        _ => Err(DeliveryError::Permanent { reason }),
    }
}

fn later(reason: String, response: &Response) -> DeliveryError {
    DeliveryError::Transient {
        reason,
        retry_after: retry_after::retry_after(response.headers(), SystemTime::now()),
    }
}

fn reference(response: &Response) -> Option<String> {
    let id = response.headers().get("x-request-id")?.to_str().ok()?.trim();
    (!id.is_empty()).then(|| id.to_owned())
}

fn client(config: &WebhookConfig) -> Result<Client, Invalid> {
    let builder = Client::builder()
        .user_agent(concat!("claimstream/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(config.connect_timeout)
        .timeout(config.timeout)
        .redirect(Policy::none())
        .referer(false);
    let builder = if config.environment_proxies { builder } else { builder.no_proxy() };
    encrypted(builder)?.build().map_err(|e| no_client(&e))
}

#[cfg(feature = "tls")]
fn encrypted(builder: ClientBuilder) -> Result<ClientBuilder, Invalid> {
    Ok(builder.tls_backend_preconfigured(tls::client_config().map_err(|e| no_client(&e))?))
}

#[cfg(not(feature = "tls"))]
fn encrypted(builder: ClientBuilder) -> Result<ClientBuilder, Invalid> {
    Ok(builder)
}

fn no_client(why: &dyn Error) -> Invalid {
    Invalid::Contradiction(format!("the webhook channel has no HTTP client: {}", root(why)))
}

/// The innermost cause of an error: what the system said, without the URL that outer ones repeat.
fn root(error: &dyn Error) -> String {
    let mut inner = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}
