use claimstream_domain::{Publication, Received};
use redis::Cmd;

use crate::parts::{Names, Parts};

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

/// An entry of a stream, from its fields.
pub(super) fn received(stream: &str, fields: Vec<(String, Vec<u8>)>) -> Received {
    let (mut parts, mut body) = (Parts::default(), Vec::new());
    for (name, value) in fields {
        match name.as_str() {
            DATA => body = value,
            name => parts.take(&NAMES, name, String::from_utf8_lossy(&value).into_owned()),
        }
    }
    parts.received(stream, body)
}

const NAMES: Names =
    Names { id: ID, key: KEY, content_type: CONTENT_TYPE, prefixes: &[ATTRIBUTE], header: HEADER };
