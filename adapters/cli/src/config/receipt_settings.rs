use std::time::Duration;

use claimstream_domain::notification::Channel;
use claimstream_http::{ReceiptCheck, ReceiptKinds, ReceiptMapping, SharedSecret};

use super::{
    secret::SecretSource,
    setting::{ConfigValue, Setting, quoted, word},
};

/// How receipts of a named provider are checked and read; they are taken if `receipts_kinds` is set.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ReceiptSettings {
    /// How the provider proves that a receipt is its own.
    pub check: Option<ReceiptProof>,
    /// The key that it signs with, or its token; several lines while it is being changed.
    pub secret: SecretSource,
    /// The header of the signature or the token; `Authorization` for a token by default.
    pub header: Option<String>,
    /// The header of the moment that `hmac` signs with the body; none by default.
    pub timestamp: Option<String>,
    /// How old a receipt may be that says its moment; 5 min by default.
    pub max_age: Option<Duration>,
    /// The JSON pointer to a text of the body that holds JSON, in which the other pointers lead; the body itself by default.
    pub body: Option<String>,
    /// The JSON pointer to the list of events; the body itself by default.
    pub events: Option<String>,
    /// The JSON pointers to the words that say what happened, with blanks between them.
    pub kind: Option<String>,
    /// What these words mean, such as `Delivery=delivered, Bounce/HardBounce=bounced`.
    pub kinds: Option<String>,
    /// The JSON pointer to our own id of the message.
    pub message: Option<String>,
    /// The JSON pointer to the provider's name for the delivery.
    pub reference: Option<String>,
    /// The JSON pointer to the address.
    pub address: Option<String>,
    /// The JSON pointer to the moment.
    pub at: Option<String>,
    /// The JSON pointer to the reason.
    pub note: Option<String>,
}

/// How a provider proves that a receipt is its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReceiptProof {
    /// By Standard Webhooks.
    Standard,
    /// By HMAC-SHA-256 in a header.
    Hmac,
    /// By a token in a header.
    Token,
}

/// The key that stands in the way, and why.
type ReceiptRefusal = (&'static str, String);

impl ReceiptSettings {
    pub(super) fn each(&mut self, section: &str, visit: &mut dyn FnMut(&str, &mut dyn Setting)) {
        let key = |name: &str| format!("{section}.receipts_{name}");
        visit(&key("check"), &mut self.check);
        self.secret.each(&key("secret"), visit);
        visit(&key("header"), &mut self.header);
        visit(&key("timestamp"), &mut self.timestamp);
        visit(&key("max_age"), &mut self.max_age);
        visit(&key("body"), &mut self.body);
        visit(&key("events"), &mut self.events);
        visit(&key("kind"), &mut self.kind);
        visit(&key("kinds"), &mut self.kinds);
        visit(&key("message"), &mut self.message);
        visit(&key("reference"), &mut self.reference);
        visit(&key("address"), &mut self.address);
        visit(&key("at"), &mut self.at);
        visit(&key("note"), &mut self.note);
    }

    /// Whether receipts are taken.
    pub fn is_set(&self) -> bool {
        *self != Self::default()
    }

    pub(super) fn contradiction(&self) -> Option<ReceiptRefusal> {
        if !self.is_set() {
            return None;
        }
        if !self.secret.is_set() {
            return Some(("receipts_secret", "receipts are taken only from those who know a secret".into()));
        }
        let placeholder =
            || SharedSecret::new("a secret that is read when it is needed").map_err(|e| e.to_string());
        let check =
            placeholder().map_err(|why| ("receipts_secret", why)).and_then(|secret| self.check(secret));
        self.mapping(None).err().or(check.err())
    }

    /// How receipts are read of a provider that serves this channel alone, or none or several.
    pub(crate) fn mapping(&self, channel: Option<Channel>) -> Result<ReceiptMapping, ReceiptRefusal> {
        let kinds = self.kinds.as_deref().ok_or_else(|| {
            (
                "receipts_kinds",
                "is not set; write rules such as Delivery=delivered, Bounce/HardBounce=bounced".to_owned(),
            )
        })?;
        let kinds: ReceiptKinds =
            kinds.parse().map_err(|e: claimstream_domain::Invalid| ("receipts_kinds", e.to_string()))?;
        let mapping = ReceiptMapping {
            body: self.body.clone(),
            events: self.events.clone(),
            kind: self.kind.iter().flat_map(|kind| kind.split_whitespace()).map(str::to_owned).collect(),
            kinds,
            message: self.message.clone(),
            reference: self.reference.clone(),
            channel,
            address: self.address.clone(),
            at: self.at.clone(),
            note: self.note.clone(),
        };
        mapping.check().map_err(|e| ("receipts_kind", e.to_string()))?;
        Ok(mapping)
    }

    /// How receipts are checked.
    pub(crate) fn check(&self, secret: SharedSecret) -> Result<ReceiptCheck, ReceiptRefusal> {
        let header = |key: &'static str, name: &str| {
            name.parse().map_err(|_| (key, format!("{name:?} is no name of a header")))
        };
        let max_age = self.max_age.unwrap_or(ReceiptCheck::MAX_AGE);
        let unset = |key, why: &str| (key, why.to_owned());
        Ok(match self.check {
            None => return Err(unset("receipts_check", "is not set; use standard, hmac or token")),
            Some(ReceiptProof::Standard) => ReceiptCheck::Standard { secret, max_age },
            Some(ReceiptProof::Hmac) => {
                let name = self.header.as_deref();
                let name =
                    name.ok_or_else(|| unset("receipts_header", "hmac needs the header of the signature"))?;
                let timestamp =
                    self.timestamp.as_deref().map(|name| header("receipts_timestamp", name)).transpose()?;
                ReceiptCheck::Hmac { secret, header: header("receipts_header", name)?, timestamp, max_age }
            }
            Some(ReceiptProof::Token) => {
                let name = self.header.as_deref().unwrap_or("authorization");
                ReceiptCheck::Token { secret, header: header("receipts_header", name)? }
            }
        })
    }
}

impl ConfigValue for ReceiptProof {
    fn read(text: &str) -> Result<Self, String> {
        word(text, &[("standard", Self::Standard), ("hmac", Self::Hmac), ("token", Self::Token)])
    }

    fn write(&self) -> String {
        quoted(match self {
            Self::Standard => "standard",
            Self::Hmac => "hmac",
            Self::Token => "token",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Secret;

    fn settings() -> ReceiptSettings {
        ReceiptSettings {
            check: Some(ReceiptProof::Token),
            secret: SecretSource { value: Some(Secret::new("x")), ..SecretSource::default() },
            kind: Some("/RecordType /Type".into()),
            kinds: Some("Delivery=delivered, Bounce/HardBounce=bounced".into()),
            reference: Some("/MessageID".into()),
            ..ReceiptSettings::default()
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        let why = |edit: fn(&mut ReceiptSettings)| {
            let mut settings = settings();
            edit(&mut settings);
            settings.contradiction().map(|(key, _)| key)
        };
        assert_eq!(why(|_| ()), None);
        assert_eq!(why(|s| *s = ReceiptSettings::default()), None);
        assert_eq!(why(|s| s.check = None), Some("receipts_check"));
        assert_eq!(why(|s| s.check = Some(ReceiptProof::Hmac)), Some("receipts_header"));
        assert_eq!(why(|s| s.header = Some("a b".into())), Some("receipts_header"));
        assert_eq!(why(|s| s.secret = SecretSource::default()), Some("receipts_secret"));
        assert_eq!(why(|s| s.kinds = None), Some("receipts_kinds"));
        assert_eq!(why(|s| s.kinds = Some("Delivery=arrived".into())), Some("receipts_kinds"));
        assert_eq!(why(|s| s.kind = Some("/RecordType".into())), Some("receipts_kind"));
        assert_eq!(why(|s| s.reference = None), Some("receipts_kind"));
    }
}
