use claimstream_domain::{Headers, OrderingKey, Payload, Received};
use uuid::Uuid;

/// The parts of a received message, as they come out of the headers of a protocol.
#[derive(Default)]
pub(crate) struct ReceivedParts {
    pub(crate) id: String,
    pub(crate) key: Option<String>,
    pub(crate) content_type: Option<String>,
    pub(crate) attributes: Vec<(String, String)>,
    pub(crate) headers: Headers,
}

impl ReceivedParts {
    /// Takes one header in. Another sender's header with a name or a value that a header of ours cannot have is left out.
    pub(crate) fn take(&mut self, names: &Names, name: &str, value: String) {
        match name {
            // Some protocols carry a part elsewhere than in a header, and have no name for it here.
            "" => {}
            _ if name == names.id => self.id = value,
            _ if name == names.key => self.key = Some(value),
            _ if name == names.content_type => self.content_type = Some(value),
            _ => match names.prefixes.iter().find_map(|prefix| name.strip_prefix(prefix)) {
                Some(attribute) => self.attributes.push((attribute.to_owned(), value)),
                None => {
                    let name = name.strip_prefix(names.header).unwrap_or(name);
                    let _ = self.headers.insert(name, &value);
                }
            },
        }
    }

    /// The message. The id of its CloudEvent, as [`unique`] makes it, and its key stand in for those that it does not have.
    pub(crate) fn received(self, place: &str, body: Vec<u8>) -> Received {
        let attribute = |wanted: &str| {
            let found = self.attributes.iter().find(|(name, _)| name == wanted);
            found.map(|(_, value)| value.clone())
        };
        let of_event = || unique(attribute("id").unwrap_or_default(), attribute("source"));
        let id = if self.id.is_empty() { of_event() } else { self.id };
        let key = self.key.or_else(|| attribute("partitionkey")).and_then(|key| OrderingKey::new(&key).ok());
        let content_type = self.content_type.or_else(|| attribute("datacontenttype"));
        // A content type that ours cannot be says nothing.
        let content_type = content_type.filter(|it| Payload::new(it, Vec::new()).is_ok());
        let content_type = content_type.as_deref().unwrap_or(UNKNOWN);
        let body = Payload::new(content_type, body).unwrap_or_else(|_| Payload::json(Vec::new()));
        Received {
            id,
            place: place.to_owned(),
            key,
            attributes: self.attributes,
            headers: self.headers,
            body,
        }
    }
}

/// By which names a protocol carries the parts.
pub(crate) struct Names {
    pub(crate) id: &'static str,
    pub(crate) key: &'static str,
    pub(crate) content_type: &'static str,
    /// Before the names of attributes of a CloudEvent.
    pub(crate) prefixes: &'static [&'static str],
    /// Before the names of all other headers; nothing for most protocols.
    pub(crate) header: &'static str,
}

/// How a body is to be read whose sender did not say.
const UNKNOWN: &str = "application/octet-stream";

/// The id of an event among those of all sources: CloudEvents has it unique within its source alone, and two sources that count their events
/// would have the same ids. One that is a UUID stays as it is, and one that is too long for an inbox with its source becomes the UUID of both.
fn unique(id: String, source: Option<String>) -> String {
    match source {
        Some(source) if !id.is_empty() && Uuid::parse_str(&id).is_err() => {
            let both = format!("{source} {id}");
            match both.len() <= LONGEST_ID {
                true => both,
                false => Uuid::new_v5(&Uuid::NAMESPACE_URL, both.as_bytes()).to_string(),
            }
        }
        _ => id,
    }
}

/// The longest id that an inbox takes, in bytes.
const LONGEST_ID: usize = 255;

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: Names =
        Names { id: "id", key: "key", content_type: "content-type", prefixes: &["ce-"], header: "" };

    fn id_of(headers: &[(&str, &str)]) -> String {
        let mut parts = ReceivedParts::default();
        headers.iter().for_each(|(name, value)| parts.take(&NAMES, name, (*value).to_owned()));
        parts.received("here", Vec::new()).id
    }

    /// Guard: an event's identity includes its source | `unique`: the id alone
    #[test]
    fn events_of_two_sources_with_one_id_are_two_messages() {
        assert_eq!(id_of(&[("ce-id", "1"), ("ce-source", "/shop/eu")]), "/shop/eu 1");
        assert_eq!(id_of(&[("ce-id", "1"), ("ce-source", "/shop/us")]), "/shop/us 1");
        let uuid = "019ac0de-0000-7000-8000-000000000001";
        assert_eq!(id_of(&[("ce-id", uuid), ("ce-source", "/shop/eu")]), uuid);
        assert_eq!(id_of(&[("ce-id", "1"), ("ce-source", "/shop/eu"), ("id", "7")]), "7");
        assert_eq!(id_of(&[("ce-source", "/shop/eu")]), "", "it has none");
        let far = "/".repeat(LONGEST_ID - 2);
        assert_eq!(id_of(&[("ce-id", "1"), ("ce-source", &far)]), format!("{far} 1"));
        let [one, other] = ["11", "12"].map(|id| id_of(&[("ce-id", id), ("ce-source", &far)]));
        assert!(Uuid::parse_str(&one).is_ok() && one != other, "{one} {other}");
    }
}
