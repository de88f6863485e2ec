use axum::http::{HeaderMap, HeaderName, header};
use claimstream_domain::Fingerprint;

use crate::problem::{Fault, Problem};

/// The header that names a state of a resource, strongly, by the fingerprint of its JSON (RFC 9110, section 8.8.3).
pub(crate) fn entity_tag(state: &Fingerprint) -> [(HeaderName, String); 1] {
    [(header::ETAG, format!("\"{}\"", hex::encode(state.as_bytes())))]
}

/// The states that a call may replace, by its `If-Match` (RFC 9110, section 13.1.1); any if it has none, or `*`, because the resources here
/// are always there. Tags are compared strongly, so a weak one is the tag of no state.
pub(crate) fn if_match(headers: &HeaderMap) -> Result<Option<Vec<Fingerprint>>, Problem> {
    let lines: Vec<&[u8]> = headers.get_all(header::IF_MATCH).iter().map(|line| line.as_bytes()).collect();
    match lines.join(&b","[..]).trim_ascii() {
        _ if lines.is_empty() => Ok(None),
        b"*" => Ok(None),
        list => tags(list).map(Some).ok_or_else(|| {
            let why = "send `*`, or entity tags in quotes with commas in between";
            Problem::invalid(Fault::header("If-Match", why))
        }),
    }
}

/// The states that a list of entity tags names; none if it is no such list. Elements of a list may be empty (RFC 9110, section 5.6.1).
fn tags(list: &[u8]) -> Option<Vec<Fingerprint>> {
    let (mut states, mut rest) = (Vec::new(), list);
    loop {
        rest = rest.trim_ascii_start();
        if let Some(tagged) = rest.strip_prefix(b"\"").or_else(|| rest.strip_prefix(b"W/\"")) {
            let (tag, behind) = tagged.split_at(tagged.iter().position(|byte| *byte == b'"')?);
            if tag.iter().any(u8::is_ascii_whitespace) {
                return None;
            }
            states.extend(state(tag).filter(|_| rest.starts_with(b"\"")));
            rest = behind[1..].trim_ascii_start();
        }
        match rest.split_first() {
            None => return Some(states),
            Some((b',', behind)) => rest = behind,
            Some(_) => return None,
        }
    }
}

/// The state that a tag names, if it can be one of ours.
fn state(tag: &[u8]) -> Option<Fingerprint> {
    let is_ours = !tag.iter().any(u8::is_ascii_uppercase);
    let bytes = hex::decode(tag).ok().filter(|_| is_ours)?;
    Fingerprint::from_slice(&bytes).ok()
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn of(lines: &[&[u8]]) -> Result<Option<Vec<Fingerprint>>, Problem> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(header::IF_MATCH, HeaderValue::from_bytes(line).unwrap());
        }
        if_match(&headers)
    }

    #[test]
    fn a_condition_names_states_by_their_strong_tags() {
        let [one, two] = [b"1", b"2"].map(|text| Fingerprint::of(&[text]));
        let [[(_, first)], [(_, second)]] = [entity_tag(&one), entity_tag(&two)];
        assert_eq!((of(&[]), of(&[b"*"]), of(&[b" * "])), (Ok(None), Ok(None), Ok(None)));
        assert_eq!(of(&[first.as_bytes()]), Ok(Some(vec![one])));
        let both = format!(" , {first}\t,,\"a,b\", W/{second} ,{second},");
        assert_eq!(of(&[both.as_bytes()]), Ok(Some(vec![one, two])));
        assert_eq!(of(&[first.as_bytes(), second.as_bytes()]), Ok(Some(vec![one, two])));
        let weak = format!("W/{first}");
        let upper = first.to_uppercase();
        for others in [weak.as_bytes(), upper.as_bytes(), b"", b",", b"\"\"", b"\"*\"", b"\"\xe9!#~\""] {
            assert_eq!(of(&[others]), Ok(Some(vec![])), "{others:?}");
        }
    }

    #[test]
    fn what_is_no_condition_is_refused() {
        for wrong in [
            &b"abc"[..],
            b"\"abc",
            b"\"a b\"",
            b"\"a\" \"b\"",
            b"\"a\"b",
            b"w/\"a\"",
            b"W/ \"a\"",
            b"*, \"a\"",
            b"**",
        ] {
            assert!(of(&[wrong]).is_err(), "{wrong:?}");
        }
        assert!(of(&[b"*", b"*"]).is_err());
    }
}
