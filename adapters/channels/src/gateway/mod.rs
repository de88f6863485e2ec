mod auth;
mod config;
mod templates;

use std::fmt;

use async_trait::async_trait;
use claimstream_domain::{
    Invalid,
    notification::{AnswerTable, Judgement, NotificationMessage},
};
use claimstream_ports::notification::{ChannelProvider, Delivered, DeliveryError};
use reqwest::{Request, Url};
use serde_json::Value;

pub use auth::GatewayAuth;
pub use config::GatewayConfig;

use self::templates::Templates;
use crate::{
    http::{HttpClient, JudgedAnswer, root, text_at},
    webhook::refuse,
};

/// Calls the HTTP API of a provider, such as one for SMS, push or mail, with a request that templates describe.
///
/// The templates are those of minijinja. They see `id`, `request_id`, `channel`, `recipient`, `address`, and of the content
/// `title`, `body`, `html`, `redirect_url` and `image_url`, which are none where the content has none, and the list `attachments`, each
/// with `url`, `name` and maybe `content_type`, and `unsubscribe_url`, none where the message has no link; a name that does not exist is an error. A message with attachments is refused for good if no
/// template uses them. What a template inserts is escaped for its place, so that no text of a message can change the request:
///
/// | place | `{{ body }}` becomes |
/// |---|---|
/// | a body whose content type is JSON | a JSON value, quotes included |
/// | a body whose content type is `application/x-www-form-urlencoded`, the URL | percent-encoded |
/// | a header, any other body | itself; a header with a line break is refused |
///
/// [`AnswerTable::gateway`] says what a status means, unless a row of [`GatewayConfig::answers`] does. The request bears `Idempotency-Key`, the message's id, unless the headers set it.
pub struct GatewayChannel {
    client: HttpClient,
    templates: Templates,
    config: GatewayConfig,
}

impl GatewayChannel {
    /// The longest answer that is read, in bytes.
    pub const MAX_ANSWER_BYTES: usize = JudgedAnswer::MAX_BYTES;

    /// A provider with connections of its own; refuses what [`GatewayConfig::check`] refuses, and templates that fail for a
    /// message without content.
    pub fn new(config: GatewayConfig) -> Result<Self, Invalid> {
        let templates = config.checked()?;
        let client = HttpClient::new(config.connect_timeout, config.timeout, config.environment_proxies)?;
        Ok(Self { client, templates, config })
    }

    fn request(&self, message: &NotificationMessage) -> Result<(Host, Request), DeliveryError> {
        if !self.carries(message) {
            return Err(refuse(&"it has attachments, and no template of this gateway uses `attachments`"));
        }
        let rendered = self.templates.render(message).map_err(|why| refuse(&why))?;
        let url: Url =
            rendered.url.parse().map_err(|e| refuse(&format_args!("its URL is not valid: {e}")))?;
        let host = Host(url.host_str().unwrap_or_default().to_owned());
        let request = self.client.requests().request(self.config.method.clone(), url);
        let has = |header| rendered.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(header));
        let request = match has("idempotency-key") {
            true => request,
            false => request.header("idempotency-key", message.id.to_string()),
        };
        let request = match &message.traceparent {
            Some(traceparent) if !has("traceparent") => request.header("traceparent", traceparent),
            _ => request,
        };
        let request =
            rendered.headers.iter().fold(request, |request, (name, value)| request.header(name, value));
        let request = self.config.auth.apply(request)?;
        let request = match rendered.body {
            Some(body) => request.body(body),
            None => request,
        };
        Ok((host, request.build().map_err(|e| refuse(&root(&e)))?))
    }

    /// The provider's own name for the delivery. An answer that cannot be read has none; the message is delivered all the same.
    fn reference(&self, body: Option<&Value>) -> Option<String> {
        text_at(body?, self.config.reference.as_deref()?)
    }
}

#[async_trait]
impl ChannelProvider for GatewayChannel {
    fn carries(&self, message: &NotificationMessage) -> bool {
        message.content.attachments.is_empty() || self.templates.use_name("attachments")
    }

    async fn deliver(&self, message: &NotificationMessage) -> Result<Delivered, DeliveryError> {
        let (host, request) = self.request(message)?;
        let answer = self.client.send(&host, request).await?;
        let wants_body = self.config.reference.is_some();
        let rows = &self.config.answers;
        let judged = JudgedAnswer::of(
            answer,
            rows,
            AnswerTable::gateway(),
            self.config.answer_code.as_deref(),
            wants_body,
        )
        .await;
        match judged.judgement {
            Judgement::Delivered => Ok(Delivered { reference: self.reference(judged.body.as_ref()) }),
            _ => Err(judged.failure(&host)),
        }
    }
}

impl fmt::Debug for GatewayChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GatewayChannel").field("config", &self.config).finish_non_exhaustive()
    }
}

/// The host that a request goes to: all that is shown of its URL.
struct Host(String);

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
