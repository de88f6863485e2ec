use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::tools::{Tools, script};
use crate::{operator::Operator, server::Server};

/// A webhook as its receiver gets it.
pub(super) struct Webhook {
    operator: Operator,
    headers: BTreeMap<String, String>,
    pub(super) body: String,
}

/// The keys that sign: a new one, and the one that receivers may still know.
pub(super) const SECRETS: [&str; 2] =
    ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_bmV2ZXIgdHJ1c3QgYSBrZXkgb2YgYSB0ZXN0"];

impl Webhook {
    /// Delivers a notification to the URL of its recipient.
    pub(super) fn sent() -> Self {
        let (operator, receiver) = (Operator::with_database(), Server::answering(200));
        operator.write(
            "claimstream.toml",
            format!(
                "[channels.webhook]\nprovider = 'webhook'\nallow_private = true\nproxy = false\nsecret = '''\n{}'''\n",
                SECRETS.join("\n")
            ),
        );
        let request = json!({
            "id": "01900000-0000-7000-8000-000000000001", "requester": {"type": "service", "id": "shop"},
            "recipients": [{"webhook": format!("http://{}/hook", receiver.address())}], "channels": ["webhook"],
            "content": {"title": "Grüße", "body": "a\r\nb\u{2028}\"\\ü€𝄞"},
        });
        operator.run_with(&["notify", "-"], request.to_string().as_bytes()).succeeded();
        operator.run(&["relay", "--until-empty"]).succeeded();
        let received = receiver.received();
        assert!(received.starts_with("POST /hook "), "{received}");
        let (head, body) = received.split_once("\r\n\r\n").unwrap();
        let headers = head.lines().skip(1).filter_map(|line| line.split_once(": "));
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        Self { operator, headers, body: body.to_owned() }
    }

    /// What the library reads of it with a secret, and with this body in place of its own.
    #[track_caller]
    pub(super) fn verified(&self, tools: &Tools, secret: &str, body: &str) -> Value {
        let line = json!({"secret": secret, "headers": self.headers, "body": body}).to_string();
        let read = tools.run(&self.operator.path(""), &[&script("webhooks.py")], &format!("{line}\n"));
        serde_json::from_str(&read).unwrap()
    }
}
