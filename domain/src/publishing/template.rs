use std::{borrow::Cow, fmt, str::FromStr};

use crate::{Headers, Invalid, MessageId, Reason};

/// Text with places that each message fills, such as `orders.{header:region}`.
///
/// | place | is filled with |
/// |---|---|
/// | `{queue}` | the queue that the message was written to |
/// | `{key}` | its ordering key |
/// | `{id}` | its id |
/// | `{header:NAME}` | a header |
///
/// What stands behind a `|` is taken where a message has no such thing: `{header:region|eu}`. `{{` and `}}` are braces.
#[derive(Clone, PartialEq, Eq)]
pub struct RouteTemplate {
    text: Box<str>,
    parts: Vec<Part>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Part {
    Text(String),
    Place { what: What, otherwise: Option<String> },
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum What {
    Queue,
    Key,
    Id,
    Header(String),
}

/// What a message fills a template with.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The queue that it was written to.
    pub queue: &'a str,
    /// Its ordering key.
    pub key: Option<&'a str>,
    /// Its id.
    pub id: MessageId,
    /// Its headers.
    pub headers: &'a Headers,
}

impl RouteTemplate {
    /// Reads a template, or says what is wrong with it.
    pub fn new(text: &str) -> Result<Self, Invalid> {
        if text.is_empty() {
            return Err(Invalid::Empty { what: "template" });
        }
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            let (before, from) = rest.split_at(at);
            push_text(&mut parts, before);
            rest = if let Some(after) = from.strip_prefix("{{") {
                push_text(&mut parts, "{");
                after
            } else if let Some(after) = from.strip_prefix("}}") {
                push_text(&mut parts, "}");
                after
            } else {
                let inside = from.strip_prefix('{').and_then(|inside| inside.split_once('}'));
                let (place, after) =
                    inside.ok_or_else(|| malformed("a brace has no other; write {{ or }} for a brace"))?;
                parts.push(Part::place(place)?);
                after
            };
        }
        push_text(&mut parts, rest);
        Ok(Self { text: text.into(), parts })
    }

    /// The text for a message; the reason names what the message lacks.
    pub fn fill(&self, facts: Facts<'_>) -> Result<String, Reason> {
        let filled = self.parts.iter().map(|part| part.fill(facts));
        filled.collect::<Result<String, _>>()
    }

    /// The text for every message of this queue, if nothing in it depends on the message.
    pub fn for_all_of(&self, queue: &str) -> Option<String> {
        let same = self.parts.iter().map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            Part::Place { what: What::Queue, .. } => Some(queue),
            Part::Place { .. } => None,
        });
        same.collect()
    }

    /// The template as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl Part {
    fn place(inside: &str) -> Result<Self, Invalid> {
        let (name, otherwise) = match inside.split_once('|') {
            Some((name, otherwise)) => (name, Some(otherwise.to_owned())),
            None => (inside, None),
        };
        let what = match name {
            "queue" => What::Queue,
            "key" => What::Key,
            "id" => What::Id,
            _ => match name.strip_prefix("header:") {
                Some(header) => What::Header(known_header(header)?),
                None => return Err(malformed("a place is {queue}, {key}, {id} or {header:NAME}")),
            },
        };
        Ok(Self::Place { what, otherwise })
    }

    fn fill<'a>(&'a self, facts: Facts<'a>) -> Result<Cow<'a, str>, Reason> {
        match self {
            Self::Text(text) => Ok(text.as_str().into()),
            Self::Place { what, otherwise } => match (what.of(facts), otherwise) {
                (Some(value), _) => Ok(value),
                (None, Some(otherwise)) => Ok(otherwise.as_str().into()),
                (None, None) => {
                    Err(Reason::new(format_args!("the message has no {what}, which its route needs")))
                }
            },
        }
    }
}

impl What {
    fn of<'a>(&self, facts: Facts<'a>) -> Option<Cow<'a, str>> {
        match self {
            Self::Queue => Some(facts.queue.into()),
            Self::Key => facts.key.map(Cow::from),
            Self::Id => Some(facts.id.to_string().into()),
            Self::Header(name) => facts.headers.get(name).map(Cow::from),
        }
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Queue => f.write_str("queue"),
            Self::Key => f.write_str("ordering key"),
            Self::Id => f.write_str("id"),
            Self::Header(name) => write!(f, "header {name:?}"),
        }
    }
}

fn push_text(parts: &mut Vec<Part>, text: &str) {
    match parts.last_mut() {
        _ if text.is_empty() => {}
        Some(Part::Text(before)) => before.push_str(text),
        _ => parts.push(Part::Text(text.to_owned())),
    }
}

/// The name of a header that a message could have.
fn known_header(name: &str) -> Result<String, Invalid> {
    Headers::new().insert(name, "").map(|()| name.to_ascii_lowercase())
}

fn malformed(why: &str) -> Invalid {
    Invalid::Malformed { what: "template", why: why.into() }
}

impl FromStr for RouteTemplate {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::new(text)
    }
}

impl fmt::Display for RouteTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for RouteTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.text)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;

    fn filled(template: &str, key: Option<&str>) -> Result<String, String> {
        let mut headers = Headers::new();
        headers.insert("Region", "eu").unwrap();
        let facts = Facts { queue: "orders", key, id: MessageId::new(Uuid::nil()), headers: &headers };
        let template = RouteTemplate::new(template).map_err(|e| e.to_string())?;
        template.fill(facts).map_err(|e| e.to_string())
    }

    #[test]
    fn places_are_filled_from_the_message() {
        let text = |template| filled(template, Some("account-7")).unwrap();
        assert_eq!(text("{queue}.{header:region}.{key}"), "orders.eu.account-7");
        assert_eq!(text("{header:REGION|us}-{header:tenant|none}-{header:tenant|}"), "eu-none-");
        assert_eq!(text("{{{id}}}"), "{00000000-0000-0000-0000-000000000000}");
        assert_eq!(text("plain"), "plain");
        assert_eq!(filled("{key|none}", None).unwrap(), "none");
    }

    #[test]
    fn what_a_message_lacks_is_named() {
        assert_eq!(
            filled("a.{header:tenant}", None).unwrap_err(),
            "the message has no header \"tenant\", which its route needs"
        );
        assert!(filled("{key}", None).unwrap_err().contains("no ordering key"));
    }

    #[test]
    fn what_is_no_template_is_refused() {
        for bad in ["", "{", "}", "{}", "a{queue", "a}b", "{region}", "{header:}", "{header:a b}", "{Queue}"]
        {
            assert!(RouteTemplate::new(bad).is_err(), "{bad}");
        }
        assert!(filled("{region}", None).unwrap_err().contains("{header:NAME}"));
    }

    proptest! {
        #[test]
        fn any_text_with_doubled_braces_is_itself(text in "\\PC{1,40}") {
            let doubled = text.replace('{', "{{").replace('}', "}}");
            prop_assert_eq!(filled(&doubled, None).unwrap(), text);
        }

        #[test]
        fn no_text_panics(text in "[{}|:a-z]{0,20}") {
            let _ = filled(&text, None);
        }
    }
}
