use std::time::Duration;

use claimstream_domain::{
    Invalid,
    notification::{AnswerTable, Channel, Content, NotificationMessage},
};
use reqwest::{Method, Url};
use uuid::Uuid;

use super::{GatewayAuth, templates::Templates};
use crate::timeouts;

/// What a gateway is sent, and what its answers mean.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GatewayConfig {
    /// The method.
    pub method: Method,
    /// The template of the URL.
    pub url: String,
    /// The headers, each with the template of its value.
    pub headers: Vec<(String, String)>,
    /// The template of the body; none unless given.
    pub body: Option<String>,
    /// How the gateway knows who calls.
    pub auth: GatewayAuth,
    /// What answers mean that mean something else than [usual](AnswerTable::gateway).
    pub answers: AnswerTable,
    /// Where a JSON answer says more than its status, as a JSON pointer (RFC 6901): what stands there is the detail of a row of `answers`.
    pub answer_code: Option<String>,
    /// Where the provider's name for the delivery stands in a JSON answer, as a JSON pointer (RFC 6901).
    pub reference: Option<String>,
    /// How long a connection may take, 5 s by default.
    pub connect_timeout: Duration,
    /// How long a delivery may take in all, 15 s by default.
    pub timeout: Duration,
    /// Whether the proxies of the environment (`HTTP_PROXY`, `HTTPS_PROXY`, `NO_PROXY`) are used; by default they are.
    pub environment_proxies: bool,
}

impl GatewayConfig {
    /// POSTs of this body, as JSON, to a URL.
    pub fn post_json(url: &str, body: &str) -> Self {
        Self {
            method: Method::POST,
            url: url.to_owned(),
            headers: vec![("Content-Type".into(), "application/json".into())],
            body: Some(body.to_owned()),
            auth: GatewayAuth::None,
            answers: AnswerTable::default(),
            answer_code: None,
            reference: None,
            connect_timeout: Duration::from_secs(5),
            timeout: Duration::from_secs(15),
            environment_proxies: true,
        }
    }

    /// Refuses timeouts of nothing, a URL that this build cannot speak to, a pointer that is none, templates with errors, and a body that should be
    /// JSON and is none.
    pub fn check(&self) -> Result<(), Invalid> {
        self.checked().map(|_| ())
    }

    /// The parts of a message on this channel that no template uses: where a message has one, the provider does not get it. A message with
    /// attachments is refused instead.
    pub fn unused_parts(&self, channel: Channel) -> Result<Vec<&'static str>, Invalid> {
        let templates = self.checked()?;
        let parts: &[&str] = match channel {
            Channel::Email => &[
                "title",
                "body",
                "html",
                "sender",
                "attachments",
                "redirect_url",
                "image_url",
                "unsubscribe_url",
            ],
            Channel::Push => &["title", "body", "redirect_url", "image_url"],
            _ => &["body", "redirect_url", "image_url"],
        };
        Ok(parts.iter().copied().filter(|part| !templates.use_name(part)).collect())
    }

    /// The templates, tried with a message.
    pub(super) fn checked(&self) -> Result<Templates, Invalid> {
        timeouts::check("gateway timeout", self.connect_timeout, self.timeout)?;
        self.auth.check()?;
        for (what, pointer) in [("reference", &self.reference), ("answer_code", &self.answer_code)] {
            if let Some(pointer) = pointer.as_deref().filter(|pointer| !pointer.starts_with('/')) {
                let why = format!("{pointer:?}; a JSON pointer begins with /, such as /messages/0/id");
                return Err(Invalid::Malformed { what, why });
            }
        }
        let templates = Templates::of(&self.url, &self.headers, self.body.as_deref())?;
        let sample = templates.render(&sample()).map_err(malformed)?;
        if templates.is_json
            && let Some(body) = sample.body.as_deref().filter(|body| !body.is_empty())
            && let Err(e) = serde_json::from_str::<serde::de::IgnoredAny>(body)
        {
            let why =
                "a template in JSON has no quotes around {{ body }}, because it is a JSON value already";
            return Err(malformed(format!("body: filled in, it is no JSON ({e}); {why}")));
        }
        let url: Url = sample.url.parse().map_err(|e| malformed(format!("url: {e}")))?;
        match url.scheme() {
            "https" if !cfg!(feature = "tls") => Err(Invalid::Contradiction(
                "a gateway with https needs the feature tls of claimstream-channels".into(),
            )),
            "http" | "https" => Ok(templates),
            other => Err(malformed(format!("url: its scheme is {other:?}, use http or https"))),
        }
    }
}

fn malformed(why: String) -> Invalid {
    Invalid::Malformed { what: "gateway", why }
}

/// A message with a title and a body and nothing else.
fn sample() -> NotificationMessage {
    NotificationMessage {
        id: Uuid::from_u128(1),
        request_id: Uuid::from_u128(2),
        channel: Channel::Sms,
        recipient: "user:sample".into(),
        address: "sample".into(),
        content: Content { title: Some("title".into()), body: Some("body".into()), ..Content::default() },
        sender: None,
        expires_at: None,
        category: None,
        priority: Default::default(),
        unsubscribe_url: None,
        time_zone: None,
        digest: None,
        traceparent: None,
    }
}

#[cfg(test)]
mod tests {
    //! Promise: a gateway whose body would not be JSON is refused when the program starts, and a body without
    //! a content type is escaped as JSON
    use super::*;

    #[test]
    fn a_body_that_would_be_no_json_is_refused_before_the_first_message() {
        let check = |body: &str| GatewayConfig::post_json("https://api.example.com/sms", body).check();
        assert_eq!(check(r#"{"text": {{ body }}, "page": {{ html }}, "files": {{ attachments }}}"#), Ok(()));
        assert_eq!(check(""), Ok(()));
        for body in [r#"{"text": "{{ body }}"}"#, r#"{"text": {{ body }}"#, "{{ body }} {{ title }}"] {
            let refused = check(body).unwrap_err().to_string();
            assert!(refused.contains("no quotes around {{ body }}"), "{refused}");
        }
        let form = GatewayConfig {
            headers: vec![("Content-Type".into(), "application/x-www-form-urlencoded".into())],
            ..GatewayConfig::post_json("https://api.example.com/sms", "Body={{ body }}")
        };
        assert_eq!(form.check(), Ok(()));
    }

    #[test]
    fn the_parts_that_no_template_uses_are_named_by_channel() {
        let body = r#"{"text": {{ body }}, "page": {{ html }}, "link": {{ redirect_url }}}"#;
        let gateway = GatewayConfig::post_json("https://api.example.com", body);
        let of = |channel| gateway.unused_parts(channel);
        let unused = ["title", "sender", "attachments", "image_url", "unsubscribe_url"];
        assert_eq!(of(Channel::Email).unwrap(), unused);
        assert_eq!(of(Channel::Sms).unwrap(), ["image_url"]);
    }
}
