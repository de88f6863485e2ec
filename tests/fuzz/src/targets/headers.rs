use claimstream_domain::{
    Headers, MessageId, OrderingKey, Payload,
    publishing::{EventDescription, Facts, RouteTemplate},
};
use serde_json::Value;
use uuid::Uuid;

use crate::{
    Target,
    head::{Head, split, text},
};

#[path = "../../../../adapters/opentelemetry/src/trace_context.rs"]
#[allow(dead_code, unreachable_pub, reason = "a trace context is read here and not written")]
mod trace_context;

/// `traceparent` and `tracestate`.
pub(super) const TRACE_CONTEXT: Target = Target {
    name: "trace_context",
    run: |data| {
        let (parent, state) = split(data, b'\n');
        let (Some(parent), Some(state)) = (text(parent), text(state)) else { return false };
        let mut headers = Headers::new();
        let is_taken = headers.set_trace(parent, (!state.is_empty()).then_some(state)).is_ok();
        if is_taken {
            assert!(trace_context::carried(&headers).is_some(), "what was taken cannot be read");
        }
        let mut foreign = Headers::new();
        let _ = foreign.insert("traceparent", parent);
        let _ = foreign.insert("tracestate", state);
        trace_context::carried(&foreign).is_some() | is_taken
    },
    seeds: &[
        b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\nvendor=1,other@tenant=a b",
        b"cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-what-comes-later\n",
    ],
};

/// A message that becomes a CloudEvent: headers of the message and its body.
pub(super) const CLOUD_EVENT: Target = Target {
    name: "cloud_event",
    run: |data| {
        let head = Head::of(data);
        let (headers, key) = (headers_of(&head), head.texts().find(|(name, _)| *name == "key"));
        let key = key.and_then(|(_, key)| OrderingKey::new(key).ok());
        let kind = head.texts().find(|(name, _)| *name == "content-type");
        let kind = kind.map_or("application/json", |(_, kind)| kind);
        let Ok(body) = Payload::new(kind, head.body.to_vec()) else { return false };
        let template = |text: &str| text.parse::<RouteTemplate>().ok();
        let (source, subject) = (template("/shop/{header:region|eu}"), template("{key|none}"));
        let (Some(source), Some(kind)) = (source, template("order.{queue}")) else { return false };
        let description = EventDescription { source, kind, subject };
        let Ok(event) = description.event(facts(&headers, key.as_ref()), key.as_ref(), &headers, &body) else { return false };
        assert!(event.attributes().all(|(_, value)| !value.is_empty() && !value.contains(char::is_control)));
        let Ok(json) = event.to_json(&body) else { return false };
        assert!(json.bytes().starts_with(br#"{"specversion":"1.0","#));
        // A number that JSON has and `Value` has not, such as 1e400, is passed on as it is.
        let is_json = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).is_ok();
        assert!(is_json(json.bytes()) || !is_json(head.body), "the event is no JSON");
        true
    },
    seeds: &[
        b"key: ann\nregion: us\ncontent-type: application/json\ntraceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\n\n{\"a\":[1,2]}",
        b"content-type: text/plain; charset=utf-8\n\nw\xc3\xb6rd",
        b"content-type: image/png\n\n\x89PNG",
    ],
};

/// The template of a place at a broker, and a key that fills it.
pub(super) const ROUTE_TEMPLATE: Target = Target {
    name: "route_template",
    run: |data| {
        let head = Head::of(data);
        let Some(Ok(template)) = text(head.body).map(RouteTemplate::new) else { return false };
        let headers = headers_of(&head);
        let filled = template.fill(facts(&headers, None));
        if let (Some(place), Ok(filled)) = (template.for_all_of("orders"), filled) {
            assert_eq!(place, filled, "a place that is the same for all is that of each");
        }
        assert_eq!(RouteTemplate::new(template.as_str()).ok(), Some(template));
        true
    },
    seeds: &[b"region: eu\n\norders.{header:region|eu}.{key|none}.{id}", b"\n{{not}} {queue}"],
};

fn headers_of(head: &Head<'_>) -> Headers {
    let mut headers = Headers::new();
    for (name, value) in head.texts() {
        let _ = headers.insert(name, value);
    }
    headers
}

fn facts<'a>(headers: &'a Headers, key: Option<&'a OrderingKey>) -> Facts<'a> {
    let id = MessageId::new(Uuid::from_u128(0x019a_c0de_0000_7000_8000_0000_0000_0001));
    Facts { queue: "orders", key: key.map(OrderingKey::as_str), id, headers }
}
