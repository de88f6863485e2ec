use claimstream_domain::{Publication, Received};
use redis::Cmd;

use crate::parts::{Names, ReceivedParts};

/// The field that holds the message's id.
pub(super) const ID: &str = "id";
/// The field that holds the ordering key.
pub(super) const KEY: &str = "key";
/// The field that says how to read the body.
pub(super) const CONTENT_TYPE: &str = "content-type";
/// The field that holds the body.
pub(super) const DATA: &str = "data";
/// What the field of an attribute of a CloudEvent begins with.
pub(super) const ATTRIBUTE: &str = "ce-";
/// What the field of a header begins with.
pub(super) const HEADER: &str = "header-";

/// The command that adds a publication to its stream, which keeps about `kept` entries, or all.
pub(super) fn command(publication: &Publication, kept: Option<u64>) -> Cmd {
    let mut add = redis::cmd("XADD");
    add.arg(&publication.place);
    if let Some(kept) = kept {
        add.arg("MAXLEN").arg("~").arg(kept);
    }
    add.arg("*");
    add.arg(ID).arg(publication.id.to_string());
    if let Some(key) = &publication.key {
        add.arg(KEY).arg(key.as_str());
    }
    add.arg(CONTENT_TYPE).arg(publication.body.content_type());
    for (name, value) in &publication.attributes {
        add.arg(format!("{ATTRIBUTE}{name}")).arg(value);
    }
    for (name, value) in publication.headers.iter() {
        add.arg(format!("{HEADER}{name}")).arg(value);
    }
    add.arg(DATA).arg(publication.body.bytes());
    add
}

/// The fields of an entry; another sender's names may be no text.
pub(super) type Fields = Vec<(Vec<u8>, Vec<u8>)>;

/// An entry of a stream, from its fields.
///
/// Without a body it is another sender's, and its field `id` may be anything, such as that of a customer: two entries would look like one.
pub(super) fn received(stream: &str, fields: Fields) -> Received {
    let (mut parts, mut body) = (ReceivedParts::default(), None);
    for (name, value) in fields {
        match &*String::from_utf8_lossy(&name) {
            DATA => body = Some(value),
            name => parts.take(&NAMES, name, String::from_utf8_lossy(&value).into_owned()),
        }
    }
    if body.is_none() {
        parts.id.clear();
    }
    parts.received(stream, body.unwrap_or_default())
}

const NAMES: Names =
    Names { id: ID, key: KEY, content_type: CONTENT_TYPE, prefixes: &[ATTRIBUTE], header: HEADER };
