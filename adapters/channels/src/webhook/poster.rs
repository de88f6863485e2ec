use std::{
    error::Error,
    fmt,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use claimstream_domain::Invalid;
use claimstream_ports::notification::{Delivered, DeliveryError};
use reqwest::{
    Client, ClientBuilder, Request, RequestBuilder, Response, StatusCode, header::CONTENT_TYPE,
    redirect::Policy,
};

use super::{config::WebhookConfig, endpoint::Endpoint, retry_after, signature::Signer};

/// Posts JSON, signed and under an idempotency key, and says what the answer means.
pub(super) struct Poster {
    client: Client,
    signer: Option<Signer>,
    connect_timeout: Duration,
    timeout: Duration,
}

impl Poster {
    /// A poster with connections of its own; refuses what [`WebhookConfig::check`] refuses.
    pub(super) fn new(config: &WebhookConfig) -> Result<Self, Invalid> {
        config.check()?;
        let (connect_timeout, timeout) = (config.connect_timeout, config.timeout);
        Ok(Self { client: client(config)?, signer: config.signer()?, connect_timeout, timeout })
    }

    /// Posts `body` once.
    pub(super) async fn post(
        &self,
        to: &Endpoint,
        key: &str,
        body: Vec<u8>,
    ) -> Result<Delivered, DeliveryError> {
        let request = self.request(to, key, body)?;
        let response = self.client.execute(request).await.map_err(|e| self.unanswered(to, &e))?;
        judge(to, &response)
    }

    fn request(&self, to: &Endpoint, key: &str, body: Vec<u8>) -> Result<Request, DeliveryError> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let request = self.client.post(to.url().clone());
        let request = request.header(CONTENT_TYPE, "application/json");
        let request = request.header("idempotency-key", key);
        let request = self.sign(request, since.as_secs(), &body);
        request.body(body).build().map_err(|e| refuse(&root(&e)))
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
            (true, true) => format!("no connection to {to} within {:?}", self.connect_timeout),
            (true, false) => format!("no answer from {to} within {:?}", self.timeout),
            (false, true) => format!("no connection to {to}: {}", root(error)),
            (false, false) => format!("the connection to {to} broke: {}", root(error)),
        };
        DeliveryError::Transient { reason, retry_after: None }
    }
}

/// What cannot even be sent is refused for good.
pub(super) fn refuse(why: &dyn fmt::Display) -> DeliveryError {
    DeliveryError::Permanent { reason: format!("the message cannot be posted: {why}") }
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
    Ok(builder.tls_backend_preconfigured(super::tls::client_config().map_err(|e| no_client(&e))?))
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
