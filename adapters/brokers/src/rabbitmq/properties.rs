use std::collections::BTreeMap;

use claimstream_domain::{Publication, Received};
use lapin::{
    BasicProperties,
    message::Delivery,
    types::{AMQPValue, FieldTable, ShortString},
};

use crate::parts::{Names, ReceivedParts};

/// The header that holds the ordering key.
const KEY: &str = "claimstream-key";

/// Before the name of an attribute of a CloudEvent, as the AMQP binding of CloudEvents says.
const CLOUD_EVENTS: &str = "cloudEvents:";

/// The properties `message-id` and `content-type` are no headers.
const NAMES: Names =
    Names { id: "", key: KEY, content_type: "", prefixes: &[CLOUD_EVENTS, "cloudEvents_"], header: "" };

/// The attribute that travels as the property `content-type`.
const CONTENT_TYPE: &str = "datacontenttype";

/// Kept when the broker restarts, if the queue is durable.
const PERSISTENT: u8 = 2;

/// The properties and headers of a publication.
pub(super) fn properties_of(publication: &Publication) -> BasicProperties {
    BasicProperties::default()
        .with_message_id(ShortString::from(publication.id.to_string()))
        .with_content_type(ShortString::from(publication.body.content_type()))
        .with_delivery_mode(PERSISTENT)
        .with_headers(headers_of(publication))
}

fn headers_of(publication: &Publication) -> FieldTable {
    let headers = publication.headers.iter().map(|(name, value)| (name.to_owned(), value));
    let attributes = publication.attributes.iter().filter(|(name, _)| name != CONTENT_TYPE);
    let attributes = attributes.map(|(name, value)| (format!("{CLOUD_EVENTS}{name}"), value.as_str()));
    let key = publication.key.iter().map(|key| (KEY.to_owned(), key.as_str()));
    let all = headers.chain(attributes).chain(key);
    // A name that AMQP cannot carry would end the connection.
    let all = all.filter_map(|(name, value)| {
        Some((ShortString::try_new(name).ok()?, AMQPValue::LongString(value.into())))
    });
    FieldTable::from(all.collect::<BTreeMap<_, _>>())
}

/// A message that came from `queue`.
pub(super) fn received_of(given: Delivery, queue: &str) -> Received {
    let properties = &given.properties;
    let mut parts = ReceivedParts {
        id: properties.message_id().as_ref().map(ToString::to_string).unwrap_or_default(),
        content_type: properties.content_type().as_ref().map(ToString::to_string),
        ..ReceivedParts::default()
    };
    for (name, value) in properties.headers().iter().flat_map(|headers| headers.inner()) {
        if let Some(value) = text_of(value) {
            parts.take(&NAMES, name.as_str(), value);
        }
    }
    parts.received(queue, given.data)
}

fn text_of(value: &AMQPValue) -> Option<String> {
    match value {
        AMQPValue::LongString(text) => Some(String::from_utf8_lossy(text.as_bytes()).into_owned()),
        AMQPValue::ShortString(text) => Some(text.to_string()),
        _ => None,
    }
}
