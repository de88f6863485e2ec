use serde::de::IgnoredAny;

use super::{Facts, RouteTemplate};
use crate::{Headers, MessageId, OrderingKey, Payload, Reason};

/// How the CloudEvents of a queue describe themselves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EventDescription {
    /// The attribute `source`, such as `/shop/orders`.
    pub source: RouteTemplate,
    /// The attribute `type`, such as `com.example.order.{header:event}`.
    pub kind: RouteTemplate,
    /// The attribute `subject`; there is none unless this is set.
    pub subject: Option<RouteTemplate>,
}

/// A message as a CloudEvent 1.0.
///
/// Its id is that of the message. Its time is that of the id, if that is a UUIDv7. The ordering key is `partitionkey`, of the
/// extension for partitioning, and the trace context stands in `traceparent` and `tracestate`, of the one for distributed tracing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CloudEvent(Vec<(&'static str, String)>);

impl EventDescription {
    /// The CloudEvent of a message, or why it cannot be one.
    pub fn event(
        &self,
        facts: Facts<'_>,
        key: Option<&OrderingKey>,
        headers: &Headers,
        body: &Payload,
    ) -> Result<CloudEvent, Reason> {
        let mut all = vec![
            ("specversion", "1.0".to_owned()),
            ("id", facts.id.to_string()),
            ("source", self.source.fill(facts)?),
            ("type", self.kind.fill(facts)?),
        ];
        if let Some(subject) = &self.subject {
            all.push(("subject", subject.fill(facts)?));
        }
        all.extend(time_of(facts.id).map(|time| ("time", time)));
        all.push(("datacontenttype", body.content_type().to_owned()));
        all.extend(key.map(|key| ("partitionkey", key.as_str().to_owned())));
        let traces = TRACE_CONTEXT.into_iter();
        all.extend(traces.filter_map(|name| headers.get(name).map(|value| (name, value.to_owned()))));
        all.iter().try_for_each(|(name, value)| check(name, value))?;
        Ok(CloudEvent(all))
    }
}

impl CloudEvent {
    /// The content type of a CloudEvent in the JSON format.
    pub const JSON: &str = "application/cloudevents+json";

    /// The attributes by their plain names, for binary mode.
    pub fn attributes(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (*name, value.as_str()))
    }

    /// The event in the JSON format, for structured mode: a body that is JSON stands in it as it is, text as a string, and everything
    /// else in base64. Refuses a body that is no JSON although its content type says so.
    ///
    /// The trace context stands in the headers next to it alone: it is another one for each attempt, and an inbox knows a message
    /// that is sent again by its body.
    ///
    /// Source: CloudEvents 1.0, JSON event format, section 3.1.
    pub fn to_json(&self, body: &Payload) -> Result<Payload, Reason> {
        let mut text = String::with_capacity(body.bytes().len() + 512);
        for (name, value) in self.0.iter().filter(|(name, _)| !TRACE_CONTEXT.contains(name)) {
            text.push(if text.is_empty() { '{' } else { ',' });
            push_string(&mut text, name);
            text.push(':');
            push_string(&mut text, value);
        }
        push_data(&mut text, body)?;
        text.push('}');
        Payload::new(Self::JSON, text.into_bytes()).map_err(Reason::new)
    }
}

/// The attributes of the extension for distributed tracing.
const TRACE_CONTEXT: [&str; 2] = ["traceparent", "tracestate"];

fn push_data(text: &mut String, body: &Payload) -> Result<(), Reason> {
    let kind = MediaKind::of(body.content_type());
    match (kind, std::str::from_utf8(body.bytes())) {
        (MediaKind::Json, Ok(json)) if serde_json::from_str::<IgnoredAny>(json).is_ok() => {
            text.push_str(",\"data\":");
            text.push_str(json);
        }
        (MediaKind::Json, _) => {
            return Err(Reason::new(format_args!(
                "the body is no JSON, although it is {}",
                body.content_type()
            )));
        }
        (MediaKind::Text, Ok(plain)) => {
            text.push_str(",\"data\":");
            push_string(text, plain);
        }
        _ => {
            use base64::{Engine, engine::general_purpose::STANDARD};
            text.push_str(",\"data_base64\":\"");
            STANDARD.encode_string(body.bytes(), text);
            text.push('"');
        }
    }
    Ok(())
}

fn push_string(text: &mut String, value: &str) {
    text.push_str(&serde_json::Value::from(value).to_string());
}

/// What a content type says about a body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum MediaKind {
    Json,
    /// Text in UTF-8.
    Text,
    Other,
}

impl MediaKind {
    fn of(content_type: &str) -> Self {
        let lower = content_type.to_ascii_lowercase();
        let mut parts = lower.split(';').map(str::trim);
        let media = parts.next().unwrap_or_default();
        let charset = parts.find_map(|parameter| parameter.strip_prefix("charset="));
        let is_utf8 = charset.is_none_or(|name| matches!(name.trim_matches('"'), "utf-8" | "us-ascii"));
        let (kind, subtype) = media.split_once('/').unwrap_or((media, ""));
        match subtype {
            "json" => Self::Json,
            _ if subtype.ends_with("+json") => Self::Json,
            _ if is_utf8 && (kind == "text" || subtype == "xml" || subtype.ends_with("+xml")) => Self::Text,
            _ => Self::Other,
        }
    }
}

/// Refuses an attribute that CloudEvents does not know the value of.
fn check(name: &str, value: &str) -> Result<(), Reason> {
    let refused = |why: &str| Err(Reason::new(format_args!("the CloudEvents attribute {name} {why}")));
    match value.chars().find(|c| c.is_control()) {
        _ if value.is_empty() => refused("is empty"),
        Some(_) => refused("has a control character"),
        None => Ok(()),
    }
}

/// When an id was made, if it says so.
fn time_of(id: MessageId) -> Option<String> {
    let id = id.uuid();
    if id.get_version_num() != 7 {
        return None;
    }
    let millis = i64::try_from(id.as_u64_pair().0 >> 16).ok()?;
    jiff::Timestamp::from_millisecond(millis).ok().map(|moment| format!("{moment:.3}"))
}

#[cfg(test)]
mod tests {
    //! Promise: attributes and the JSON of CloudEvents follow the specification, and a JSON payload loses
    //! nothing
    use proptest::prelude::*;
    use serde_json::Value;
    use uuid::Uuid;

    use super::*;

    const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    fn event(key: Option<&str>, body: &Payload) -> Result<CloudEvent, Reason> {
        let template = |text: &str| RouteTemplate::new(text).unwrap();
        let description = EventDescription {
            source: template("/shop/{queue}"),
            kind: template("{header:type}"),
            subject: Some(template("{key|none}")),
        };
        let mut headers = Headers::new();
        headers.insert("type", "order.paid").unwrap();
        headers.set_trace(TRACE, None).unwrap();
        let id = MessageId::new(Uuid::from_u128(0x0199_0000_0000_7000_8000_0000_0000_0007));
        let key = key.map(|key| OrderingKey::new(key).unwrap());
        let facts =
            Facts { queue: "orders", key: key.as_ref().map(OrderingKey::as_str), id, headers: &headers };
        description.event(facts, key.as_ref(), &headers, body)
    }

    fn json(body: &Payload) -> Result<Value, String> {
        let written = event(Some("account-7"), body).unwrap().to_json(body).map_err(|e| e.to_string())?;
        assert_eq!(written.content_type(), "application/cloudevents+json");
        Ok(serde_json::from_slice(written.bytes()).unwrap())
    }

    #[test]
    fn attributes_are_those_of_the_specification() {
        let event = event(Some("account-7"), &Payload::json("{}")).unwrap();
        let expected = [
            ("specversion", "1.0"),
            ("id", "01990000-0000-7000-8000-000000000007"),
            ("source", "/shop/orders"),
            ("type", "order.paid"),
            ("subject", "account-7"),
            ("time", "2025-08-31T12:00:24.064Z"),
            ("datacontenttype", "application/json"),
            ("partitionkey", "account-7"),
            ("traceparent", TRACE),
        ];
        assert_eq!(event.attributes().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_body_stands_in_the_event_by_its_content_type() {
        let of = |kind: &str, bytes: &[u8]| json(&Payload::new(kind, bytes.to_vec()).unwrap()).unwrap();
        assert_eq!(of("application/json", b"{\"a\":[1]}")["data"]["a"][0], 1);
        assert_eq!(of("application/vnd.shop+json; charset=utf-8", b"7")["data"], 7);
        assert_eq!(of("text/plain", "ü\"\n".as_bytes())["data"], "ü\"\n");
        assert_eq!(of("application/xml", b"<a/>")["data"], "<a/>");
        let binary = of("application/octet-stream", &[0, 255]);
        assert_eq!((&binary["data_base64"], binary.get("data")), (&Value::from("AP8="), None));
        assert_eq!(of("text/plain; charset=latin1", &[0xfc])["data_base64"], "/A==");
        assert_eq!(of("text/plain", &[0xfc])["data_base64"], "/A==");
        assert_eq!(of("application/json", b" {} ")["specversion"], "1.0");
    }

    /// Guard: an event that is sent again is the same for an inbox | `to_json`: with `TRACE_CONTEXT`
    #[test]
    fn the_trace_context_of_an_attempt_is_not_in_a_structured_event() {
        assert_eq!(json(&Payload::json("{}")).unwrap().get("traceparent"), None);
    }

    #[test]
    fn numbers_of_a_body_lose_nothing() {
        let body = Payload::json("{\"amount\":12345678901234567890.000000001}");
        let written = event(None, &body).unwrap().to_json(&body).unwrap();
        let text = String::from_utf8(written.into_bytes()).unwrap();
        assert!(text.ends_with(",\"data\":{\"amount\":12345678901234567890.000000001}}"), "{text}");
    }

    #[test]
    fn what_is_no_event_is_refused_with_a_reason() {
        for bad in ["{", "", "{}{}", "nul", "{\"a\":\"\u{1}\"}"] {
            let why = json(&Payload::json(bad)).unwrap_err();
            assert!(why.contains("no JSON, although it is application/json"), "{bad}: {why}");
        }
        let why = event(Some("a\nb"), &Payload::json("{}")).unwrap_err().to_string();
        assert_eq!(why, "the CloudEvents attribute subject has a control character");
    }

    #[test]
    fn only_an_id_with_a_time_has_one() {
        assert_eq!(time_of(MessageId::new(Uuid::from_u128(0x4000_8000 << 64))), None);
        let late = MessageId::new(Uuid::from_u128(0xffff_ffff_ffff_7fff_bfff_ffff_ffff_ffff));
        assert_eq!(time_of(late), None);
    }

    proptest! {
        #[test]
        fn every_body_is_an_event_or_refused(kind in "[a-z]{1,5}/[a-z+]{0,8}(; charset=[a-z0-9-]{1,6})?", bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let body = Payload::new(&kind, bytes).unwrap();
            if let Ok(value) = json(&body) {
                prop_assert_eq!(value.get("data").is_some(), value.get("data_base64").is_none());
            }
        }

        #[test]
        fn json_that_is_read_back_is_what_it_was(text in "\\PC{0,20}", number in any::<i64>()) {
            let given = serde_json::json!({"text": text, "number": number});
            prop_assert_eq!(&json(&Payload::json(given.to_string())).unwrap()["data"], &given);
        }
    }
}
