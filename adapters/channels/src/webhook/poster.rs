use std::{
    fmt,
    time::{SystemTime, UNIX_EPOCH},
};

use claimstream_domain::{Invalid, notification::Answer};
use claimstream_ports::notification::{Delivered, DeliveryError};
use reqwest::{Request, RequestBuilder, Response, header::CONTENT_TYPE};

use super::{config::WebhookConfig, endpoint::Endpoint, signature::Signer};
use crate::http::{HttpClient, failure, root};

/// Posts JSON, signed and under an idempotency key, and says what the answer means.
pub(crate) struct Poster {
    pub(super) client: HttpClient,
    signer: Option<Signer>,
}

impl Poster {
    /// A poster with connections of its own; refuses what [`WebhookConfig::check`] refuses.
    pub(crate) fn new(config: &WebhookConfig) -> Result<Self, Invalid> {
        config.check()?;
        let (connect, total, proxies) = (config.connect_timeout, config.timeout, config.environment_proxies);
        let client = match &config.gateway {
            Some(_) => HttpClient::new(connect, total, proxies)?,
            None => HttpClient::limited(&config.reach, connect, total, proxies)?,
        };
        Ok(Self { client, signer: config.signer()? })
    }

    /// Posts `body` once, as a part of a trace if there is one.
    pub(crate) async fn post(
        &self,
        to: &Endpoint,
        key: &str,
        traceparent: Option<&str>,
        body: Vec<u8>,
    ) -> Result<Delivered, DeliveryError> {
        let response = self.client.send(to, self.request(to, key, traceparent, body)?).await?.response;
        match Answer::of_http_status(response.status().as_u16()) {
            Answer::DELIVERED => Ok(Delivered { reference: reference(&response) }),
            answer => Err(failure(to, &response, answer)),
        }
    }

    fn request(
        &self,
        to: &Endpoint,
        key: &str,
        traceparent: Option<&str>,
        body: Vec<u8>,
    ) -> Result<Request, DeliveryError> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let request = self.client.requests().post(to.url().clone());
        let request = request.header(CONTENT_TYPE, "application/json");
        let request = request.header("idempotency-key", key);
        let request = traceparent.into_iter().fold(request, |request, it| request.header("traceparent", it));
        let request = self.sign(request, key, since.as_secs(), &body);
        request.body(body).build().map_err(|e| refuse(&root(&e)))
    }

    fn sign(&self, request: RequestBuilder, id: &str, timestamp: u64, body: &[u8]) -> RequestBuilder {
        let request = request.header("webhook-id", id).header("webhook-timestamp", timestamp.to_string());
        let request = request.header("x-claimstream-timestamp", timestamp.to_string());
        match &self.signer {
            Some(signer) => request
                .header("webhook-signature", signer.standard(id, timestamp, body))
                .header("x-claimstream-signature", signer.sign(timestamp, body)),
            None => request,
        }
    }
}

/// What cannot even be sent is refused for good.
pub(crate) fn refuse(why: &dyn fmt::Display) -> DeliveryError {
    DeliveryError::permanent(format!("the message cannot be posted: {why}"))
}

fn reference(response: &Response) -> Option<String> {
    let id = response.headers().get("x-request-id")?.to_str().ok()?.trim();
    (!id.is_empty()).then(|| id.to_owned())
}
