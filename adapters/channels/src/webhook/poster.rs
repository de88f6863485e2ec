use std::{
    fmt,
    time::{SystemTime, UNIX_EPOCH},
};

use claimstream_domain::{
    Invalid,
    notification::{AnswerTable, Judgement},
};
use claimstream_ports::notification::{Delivered, DeliveryError};
use reqwest::{
    Request, RequestBuilder,
    header::{CONTENT_TYPE, HeaderMap},
};

use super::{config::WebhookConfig, endpoint::Endpoint, signature::Signer};
use crate::http::{HttpClient, JudgedAnswer, root};

/// Posts JSON, signed and under an idempotency key.
pub(crate) struct Poster {
    pub(super) client: HttpClient,
    signer: Option<Signer>,
    /// Whether the headers of Svix are sent too.
    svix: bool,
    answers: AnswerSettings,
}

/// What answers mean that mean something else than usual.
struct AnswerSettings {
    rows: AnswerTable,
    code: Option<String>,
    /// Whether each message goes to an endpoint of its recipient.
    is_own: bool,
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
        let (rows, code) = (config.answers.clone(), config.answer_code.clone());
        let answers = AnswerSettings { rows, code, is_own: config.gateway.is_none() };
        Ok(Self { client, signer: config.signer()?, svix: config.svix_headers, answers })
    }

    /// Posts `body` once, as a part of a trace if there is one, and judges the answer by the rows of the settings, else by the usual ones.
    pub(super) async fn post(
        &self,
        to: &Endpoint,
        key: &str,
        traceparent: Option<&str>,
        body: Vec<u8>,
        usual: &AnswerTable,
    ) -> Result<JudgedAnswer, DeliveryError> {
        let answer = self.client.send(to, self.request(to, key, traceparent, body)?).await?;
        let AnswerSettings { rows, code, .. } = &self.answers;
        Ok(JudgedAnswer::of(answer, rows, usual, code.as_deref(), false).await)
    }

    /// Posts a message, and says what the answer means.
    pub(crate) async fn deliver(
        &self,
        to: &Endpoint,
        key: &str,
        traceparent: Option<&str>,
        body: Vec<u8>,
    ) -> Result<Delivered, DeliveryError> {
        let usual = if self.answers.is_own { AnswerTable::own_webhook() } else { AnswerTable::webhook() };
        let judged = self.post(to, key, traceparent, body, usual).await?;
        match judged.judgement {
            Judgement::Delivered => Ok(Delivered { reference: reference(&judged.headers) }),
            _ => Err(judged.failure(to)),
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
        let signatures = self
            .signer
            .as_ref()
            .map(|signer| (signer.standard(id, timestamp, body), signer.sign(timestamp, body)));
        let prefixes = ["webhook", "svix"].into_iter().filter(|prefix| *prefix == "webhook" || self.svix);
        let request = prefixes.fold(request, |request, prefix| {
            let request = request.header(format!("{prefix}-id"), id);
            let request = request.header(format!("{prefix}-timestamp"), timestamp.to_string());
            match &signatures {
                Some((standard, _)) => request.header(format!("{prefix}-signature"), standard),
                None => request,
            }
        });
        let request = request.header("x-claimstream-timestamp", timestamp.to_string());
        match signatures {
            Some((_, own)) => request.header("x-claimstream-signature", own),
            None => request,
        }
    }
}

/// What cannot even be sent is refused for good.
pub(crate) fn refuse(why: &dyn fmt::Display) -> DeliveryError {
    DeliveryError::permanent(format!("the message cannot be posted: {why}"))
}

fn reference(headers: &HeaderMap) -> Option<String> {
    let id = headers.get("x-request-id")?.to_str().ok()?.trim();
    (!id.is_empty()).then(|| id.to_owned())
}
