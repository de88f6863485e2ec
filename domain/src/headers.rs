use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Invalid;

/// Names and values that travel with a payload, among them the W3C trace context of the producer.
///
/// Headers that are read back obey the same rules as new ones.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(try_from = "BTreeMap<String, String>")]
pub struct Headers(BTreeMap<String, String>);

impl Headers {
    /// The most that all names and values of one message may take together, in bytes.
    pub const MAX_BYTES: usize = 16 * 1024;

    /// No headers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets one header; a second value for the same name replaces the first. Names are kept in lower case.
    pub fn insert(&mut self, name: &str, value: &str) -> Result<(), Invalid> {
        Invalid::unless_length("header name", name, 255)?;
        if let Some(found) = name.chars().find(|c| !c.is_ascii_alphanumeric() && !"-_.".contains(*c)) {
            return Err(Invalid::Character {
                what: "header name",
                found,
                allowed: "use letters, digits, '-', '_' and '.'",
            });
        }
        if let Some(found) = value.chars().find(|c| c.is_control()) {
            return Err(Invalid::Character {
                what: "header value",
                found,
                allowed: "use printable characters",
            });
        }
        self.put(name.to_ascii_lowercase(), value)
    }

    /// Sets a header of which name and value are allowed.
    fn put(&mut self, name: String, value: &str) -> Result<(), Invalid> {
        let replaced = self.0.get(&name).map_or(0, |old| name.len() + old.len());
        let len = self.bytes() - replaced + name.len() + value.len();
        if len > Self::MAX_BYTES {
            return Err(Invalid::TooLong { what: "headers", len, max: Self::MAX_BYTES });
        }
        self.0.insert(name, value.into());
        Ok(())
    }

    /// Carries a W3C trace context: `traceparent` such as `00-<32 hex>-<16 hex>-01`, and `tracestate` if there is one.
    ///
    /// It takes the place of an earlier one as a whole; one that is refused changes nothing.
    ///
    /// Source: W3C Trace Context, section 3.2.
    pub fn set_trace(&mut self, traceparent: &str, tracestate: Option<&str>) -> Result<(), Invalid> {
        if !is_traceparent(traceparent) {
            return Err(Invalid::Malformed {
                what: "traceparent",
                why: "expected version-traceid-parentid-flags in lower-case hex, ids not all zero".into(),
            });
        }
        // Then one header is all that changes, and a refusal changes nothing.
        if tracestate.is_none() && !self.0.contains_key("tracestate") {
            return self.put("traceparent".into(), traceparent);
        }
        let mut traced = self.clone();
        traced.0.remove("tracestate");
        traced.insert("traceparent", traceparent)?;
        if let Some(state) = tracestate {
            traced.insert("tracestate", state)?;
        }
        *self = traced;
        Ok(())
    }

    /// All headers but the trace context.
    pub fn without_trace(&self) -> Self {
        self.without(&["traceparent", "tracestate"])
    }

    /// All headers but those of these names, which are in lower case.
    pub fn without(&self, names: &[&str]) -> Self {
        let mut others = self.clone();
        others.0.retain(|name, _| !names.contains(&name.as_str()));
        others
    }

    /// The value of one header.
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.get(name);
        let is_lower = || !name.bytes().any(|b| b.is_ascii_uppercase());
        match found {
            None if !self.0.is_empty() && !is_lower() => self.0.get(&name.to_ascii_lowercase()),
            found => found,
        }
        .map(String::as_str)
    }

    /// All headers by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn bytes(&self) -> usize {
        self.0.iter().map(|(name, value)| name.len() + value.len()).sum()
    }
}

impl TryFrom<BTreeMap<String, String>> for Headers {
    type Error = Invalid;

    fn try_from(all: BTreeMap<String, String>) -> Result<Self, Invalid> {
        let mut headers = Self::new();
        all.iter().try_for_each(|(name, value)| headers.insert(name, value))?;
        Ok(headers)
    }
}

fn is_traceparent(text: &str) -> bool {
    let text = text.as_bytes();
    let [version, trace, parent, flags] =
        [0..2, 3..35, 36..52, 53..55].map(|part| text.get(part).unwrap_or_default());
    let is_hex =
        |part: &[u8]| part.iter().fold(true, |all, b| all & (b.is_ascii_digit() | (b'a'..=b'f').contains(b)));
    let is_set = |part: &[u8]| part.iter().fold(0, |any, b| any | (b ^ b'0')) != 0;
    text.len() == 55
        && [2, 35, 52].iter().all(|dash| text[*dash] == b'-')
        && [version, trace, parent, flags].into_iter().all(is_hex)
        && version != b"ff"
        && is_set(trace)
        && is_set(parent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn carries_a_trace_context_and_refuses_a_broken_one() {
        let mut headers = Headers::new();
        let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        headers.set_trace(parent, Some("vendor=1")).unwrap();
        assert_eq!(headers.get("TraceParent"), Some(parent));
        assert_eq!(headers.get("tracestate"), Some("vendor=1"));
        for bad in ["", "00-0-0-00", "00-00000000000000000000000000000000-b7ad6b7169203331-01", &parent[1..]]
        {
            assert!(headers.set_trace(bad, None).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_trace_context_is_replaced_as_a_whole_or_not_at_all() {
        let [one, two] = ["1", "2"].map(|n| format!("00-{}-{}-01", n.repeat(32), n.repeat(16)));
        let mut headers = Headers::new();
        headers.set_trace(&one, Some("vendor=1")).unwrap();
        let before = headers.clone();
        assert!(headers.set_trace(&two, Some("vendor=\n")).is_err());
        assert_eq!(headers, before);
        headers.set_trace(&two, None).unwrap();
        assert_eq!((headers.get("traceparent"), headers.get("tracestate")), (Some(two.as_str()), None));
    }

    #[test]
    fn what_was_inserted_reads_back_and_nothing_else_does() {
        let mut headers = Headers::new();
        headers.insert("X-Tenant", "a b").unwrap();
        let json = serde_json::to_string(&headers).unwrap();
        assert_eq!(json, r#"{"x-tenant":"a b"}"#);
        assert_eq!(serde_json::from_str::<Headers>(&json).unwrap(), headers);
        assert_eq!(serde_json::from_str::<Headers>(r#"{"X-Tenant":"a b"}"#).unwrap(), headers);
        assert!(serde_json::from_str::<Headers>(r#"{"a b":"c"}"#).is_err());
        assert!(serde_json::from_str::<Headers>(r#"{"a":"b\r\nc: d"}"#).is_err());
    }

    #[test]
    fn refuses_more_than_the_limit_and_counts_a_replaced_value_once() {
        let mut headers = Headers::new();
        let half = "v".repeat(Headers::MAX_BYTES / 2 + 1);
        headers.insert("a", &half).unwrap();
        headers.insert("A", &half).unwrap();
        assert!(matches!(headers.insert("b", &half), Err(Invalid::TooLong { .. })));
        assert!(headers.insert("a b", "v").is_err());
        assert!(headers.insert("a", "v\r\nx: 1").is_err());
    }
}
