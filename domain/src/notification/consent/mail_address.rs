use std::borrow::Cow;

use idna::AsciiDenyList;

use crate::Invalid;

/// A mail address spelled in one way: without invisible characters and without quotes that mean nothing, its domain in A-labels (RFC 5890).
///
/// The letters of the local part stay as they are, because a server may tell them apart; addresses are compared in lower case.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MailAddress {
    local: String,
    domain: String,
    /// Why the domain is none.
    flaw: Option<&'static str>,
}

impl MailAddress {
    /// The longest local part, in bytes (RFC 5321, section 4.5.3.1.1).
    const MAX_LOCAL_BYTES: usize = 64;
    /// The longest address, in bytes (RFC 5321, erratum 1690).
    const MAX_BYTES: usize = 254;

    /// The address of `Ann <ann@example.com>` or `ann@example.com`; none where there is no `@`.
    pub fn of(text: &str) -> Option<Self> {
        let text: String = text.chars().filter(|c| !is_unseen(*c)).collect();
        let is_end = |c: char| c == '.' || c.is_whitespace();
        let (local, domain) = mailbox(text.trim_start().trim_end_matches(is_end)).rsplit_once(is_at)?;
        let domain = domain.trim_start().trim_end_matches(is_end);
        let (domain, flaw) = match ascii(domain) {
            Some(ascii) => (ascii, None),
            None => (domain.to_lowercase(), Some("its domain is none")),
        };
        Some(Self { local: unquoted(local.trim()).into_owned(), domain, flaw })
    }

    /// Refuses what no mail can be sent to, with a reason that leaves the address out.
    pub fn check(text: &str) -> Result<(), Invalid> {
        let refused = |why: &str| Invalid::Malformed {
            what: "email",
            why: format!("{why}; write it like ann@example.com"),
        };
        let Some(address) = Self::of(text) else { return Err(refused("it has no @")) };
        let is_long = address.local.len() > Self::MAX_LOCAL_BYTES
            || address.local.len() + address.domain.len() >= Self::MAX_BYTES;
        match address.flaw {
            _ if is_long => Err(refused("it is too long")),
            _ if address.local.is_empty() => Err(refused("nothing stands before its @")),
            _ if !is_local(&address.local) => Err(refused("what stands before its @ needs quotes")),
            _ if address.domain.is_empty() => Err(refused("nothing stands behind its @")),
            Some(flaw) => Err(refused(flaw)),
            None => Ok(()),
        }
    }

    /// The address as a server is given it.
    pub fn sent(&self) -> String {
        format!("{}@{}", self.local, self.domain)
    }
}

/// A text such as `Ann <ann@example.com>` with its address spelled in one way; a text without an address stays.
pub fn respelled(text: &str) -> String {
    let Some(address) = MailAddress::of(text) else { return text.trim().to_owned() };
    match text.trim().rsplit_once('<') {
        Some((name, rest)) if rest.ends_with('>') => format!("{name}<{}>", address.sent()),
        _ => address.sent(),
    }
}

/// A domain in A-labels, or an address in brackets (RFC 5321, section 4.1.3).
fn ascii(domain: &str) -> Option<String> {
    if domain.starts_with('[') && domain.ends_with(']') {
        let is_inner = |c: char| c.is_ascii_hexdigit() || ".:IPv".contains(c);
        return domain[1..domain.len() - 1].chars().all(is_inner).then(|| domain.to_lowercase());
    }
    let ascii = idna::domain_to_ascii_cow(domain.as_bytes(), AsciiDenyList::STD3).ok()?;
    let is_label =
        |label: &str| (1..=63).contains(&label.len()) && !label.starts_with('-') && !label.ends_with('-');
    ascii.split('.').all(is_label).then(|| ascii.into_owned())
}

/// The local part without quotes, if it needs none: `"ann"` is `ann` (RFC 5321, section 4.1.2).
fn unquoted(local: &str) -> Cow<'_, str> {
    let Some(inner) = local.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else {
        return local.into();
    };
    let (mut plain, mut is_escaped) = (String::with_capacity(inner.len()), false);
    for c in inner.chars() {
        if c == '\\' && !is_escaped {
            is_escaped = true;
        } else {
            plain.push(c);
            is_escaped = false;
        }
    }
    if is_dot_atom(&plain) { plain.into() } else { local.into() }
}

fn is_local(local: &str) -> bool {
    let is_quoted = local.len() > 2 && local.starts_with('"') && local.ends_with('"');
    is_dot_atom(local) || is_quoted && !local.chars().any(char::is_control)
}

fn is_dot_atom(local: &str) -> bool {
    let is_text = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(c) || !c.is_ascii();
    let is_atom = |atom: &str| !atom.is_empty() && atom.chars().all(|c| is_text(c) && !c.is_whitespace());
    local.split('.').all(is_atom)
}

/// Whether a character is invisible, and so in no address that is meant: soft hyphens, joiners, marks of direction, controls.
pub(super) fn is_unseen(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{e0000}'..='\u{e0fff}'
    ) || c.is_control()
}

fn is_at(c: char) -> bool {
    matches!(c, '@' | '\u{ff20}' | '\u{fe6b}')
}

/// The address of `Ann <ann@example.com>`.
pub(super) fn mailbox(text: &str) -> &str {
    let inner = text.rsplit_once('<').and_then(|(_, rest)| rest.strip_suffix('>'));
    inner.unwrap_or(text).trim()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sent(text: &str) -> String {
        MailAddress::of(text).unwrap().sent()
    }

    #[test]
    fn an_address_is_sent_as_a_server_takes_it() {
        for (text, expected) in [
            ("Ann <Ann@Example.COM>", "Ann@example.com"),
            ("\"ann\"@example.com", "ann@example.com"),
            ("\"a\\nn\"@example.com", "ann@example.com"),
            ("\"ann b\"@example.com", "\"ann b\"@example.com"),
            ("a\u{200b}nn@exam\u{ad}ple.com\u{feff}", "ann@example.com"),
            ("ann\u{ff20}example.com", "ann@example.com"),
            ("ann@bücher.example", "ann@xn--bcher-kva.example"),
            ("ann@BÜCHER.example.", "ann@xn--bcher-kva.example"),
            ("ann@XN--bcher-kva.example", "ann@xn--bcher-kva.example"),
            ("ann@ｅｘａｍｐｌｅ。com", "ann@example.com"),
            ("ann@example.com .", "ann@example.com"),
            ("<ann@example.com>.", "ann@example.com"),
            ("ann@[192.0.2.1]", "ann@[192.0.2.1]"),
        ] {
            assert_eq!(sent(text), expected, "{text:?}");
            assert_eq!(MailAddress::check(text), Ok(()), "{text:?}");
        }
        assert_eq!(respelled(" Ann B <ann@bücher.example>"), "Ann B <ann@xn--bcher-kva.example>");
        assert_eq!(respelled("nothing"), "nothing");
    }

    #[test]
    fn what_no_mail_can_be_sent_to_is_refused_with_the_reason_and_without_the_address() {
        let long = format!("bob{}@example.com", "b".repeat(65));
        for (text, why) in [
            ("bob", "it has no @"),
            ("@example.com", "nothing stands before its @"),
            ("bob@", "nothing stands behind its @"),
            ("bob b@example.com", "needs quotes"),
            ("bob..b@example.com", "needs quotes"),
            ("bob@example.com, b@example.com", "needs quotes"),
            ("bob@exam ple.com", "its domain is none"),
            ("bob@-example.com", "its domain is none"),
            ("bob@a..example", "its domain is none"),
            (&long, "it is too long"),
        ] {
            let refused = MailAddress::check(text).unwrap_err().to_string();
            assert!(refused.contains(why) && !refused.contains("bob"), "{text}: {refused}");
        }
    }

    proptest! {
        #[test]
        fn an_address_that_was_respelled_stays(text in "[ -~äΣİ\u{ad}\u{ff20}\u{3002}]{0,12}@[ -~ü\u{200b}\u{3002}]{0,12}") {
            let once = MailAddress::of(&text).map(|address| address.sent());
            let twice = once.as_deref().and_then(MailAddress::of).map(|address| address.sent());
            prop_assert_eq!(once, twice);
        }
    }
}
