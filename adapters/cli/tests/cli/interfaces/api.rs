use std::path::PathBuf;

use serde_json::{Value, json};

use crate::{
    operator::Operator,
    serve::{LOG, OPEN, Served, path, start},
};

/// A server with everything that its routes need: a directory, templates, receipts, passes and links.
pub(super) struct Api {
    operator: Operator,
    served: Served,
}

/// The token that allows everything.
pub(super) const TOKEN: &str = "a-token-for-the-tools-of-others";

const SETTINGS: &str = "
[notifications]
unsubscribe_url = 'http://127.0.0.1/unsubscribe/'
unsubscribe_key = 'change-me-change-me-change-me-change-me'
[templates]
source = 'database'
[directory]
source = 'database'
[serve]
inbox_key = 'change-me-change-me-change-me-change-me'
[channels.default]
provider = 'log'
file = 'out.jsonl'
[channels.email]
providers = 'mailer'
[providers.mailer]
type = 'log'
file = 'out.jsonl'
receipts_check = 'token'
receipts_secret = 'change-me-change-me-change-me-change-me'
receipts_header = 'X-Token'
receipts_kind = '/kind'
receipts_kinds = 'sent=delivered'
receipts_reference = '/id'
";

impl Api {
    /// One that asks each caller for a token.
    pub(super) fn with_a_token() -> Self {
        Self::start(&["--set", "serve.tokens=tools admin env:TOOLS_TOKEN"])
    }

    /// One that lets every caller do everything.
    pub(super) fn open() -> Self {
        Self::start(&OPEN)
    }

    fn start(callers: &[&str]) -> Self {
        let operator = Operator::with_database().set("TOOLS_TOKEN", TOKEN);
        operator.write("claimstream.toml", SETTINGS);
        let mut served = start(&operator, &[callers, &["--relay"]].concat());
        served.client.token = Some(TOKEN.to_owned());
        Self { operator, served }
    }

    pub(super) fn folder(&self) -> PathBuf {
        self.operator.path("")
    }

    pub(super) fn address(&self) -> String {
        format!("http://{}", self.served.client.address)
    }

    /// Its description, in a file of its folder.
    pub(super) fn description(&self) -> &'static str {
        const FILE: &str = "openapi.json";
        self.operator.write(FILE, self.served.client.get("/openapi.json").text);
        FILE
    }

    /// Hands a notification in, and gives its id.
    pub(super) fn send(&self) -> String {
        let body = json!({
            "requester": {"type": "service", "id": "shop"}, "recipients": [{"email": "ann@example.com"}],
            "channels": ["email"], "content": {"title": "Paid"},
        });
        let sent = self.served.client.send("the first", &body);
        assert_eq!(sent.status, 201, "{sent:?}");
        path(&sent).rsplit_once('/').unwrap().1.to_owned()
    }

    /// What the program shows of a notification.
    pub(super) fn shown(&self, id: &str) -> String {
        self.operator.run(&["show", id]).succeeded()
    }

    /// The errors that the server has logged.
    pub(super) fn errors(&self) -> Vec<Value> {
        let lines = self.operator.lines(LOG);
        let events = lines.iter().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        events.filter(|event| event["level"] == "ERROR").collect()
    }
}
