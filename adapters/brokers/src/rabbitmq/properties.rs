use std::collections::BTreeMap;

use claimstream_domain::Publication;
use lapin::{
    BasicProperties,
    types::{AMQPValue, FieldTable, ShortString},
};

/// The header that holds the ordering key.
pub(super) const KEY: &str = "claimstream-key";

/// Before the name of an attribute of a CloudEvent, as the AMQP binding of CloudEvents says.
pub(super) const CLOUD_EVENTS: &str = "cloudEvents:";

/// The attribute that travels as the property `content-type`.
const CONTENT_TYPE: &str = "datacontenttype";

/// Kept when the broker restarts, if the queue is durable.
const PERSISTENT: u8 = 2;

/// Everything that travels beside the body of a publication.
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
