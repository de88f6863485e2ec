use crate::{Fingerprint, notification::Channel};

/// An address on a channel, spelled in one way: mail addresses in lower case, phone numbers without blanks and punctuation.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Address {
    channel: Channel,
    text: String,
}

impl Address {
    /// The address as it is compared. Any text is taken: a strange one is compared as it is.
    pub fn new(channel: Channel, text: &str) -> Self {
        let text = text.trim();
        let text = match channel {
            Channel::Email => mailbox(text).to_lowercase(),
            Channel::Sms if text.contains(|c: char| c.is_ascii_digit()) => {
                text.chars().filter(|c| !is_layout(*c)).collect()
            }
            _ => text.to_owned(),
        };
        Self { channel, text }
    }

    /// The channel.
    pub fn channel(&self) -> Channel {
        self.channel
    }

    /// The address as it is compared.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The key under which it is stored.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&[self.channel.name().as_bytes(), self.text.as_bytes()])
    }
}

/// Whether a character of a phone number only makes it readable, as numbers that are pasted have them: blanks and dashes of any
/// kind, and characters that nobody sees.
fn is_layout(c: char) -> bool {
    let is_unseen =
        matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}');
    let is_dash = matches!(c, '-' | '\u{2010}'..='\u{2015}' | '\u{2212}');
    is_unseen || is_dash || c.is_whitespace() || c.is_control() || "()./".contains(c)
}

/// The address of `Ann <ann@example.com>`.
fn mailbox(text: &str) -> &str {
    let inner = text.rsplit_once('<').and_then(|(_, rest)| rest.strip_suffix('>'));
    inner.unwrap_or(text).trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_address_is_spelled_in_one_way() {
        let mail = |text| Address::new(Channel::Email, text);
        assert_eq!(mail(" Ann <Ann@Example.com> "), mail("ann@example.com"));
        assert_eq!(Address::new(Channel::Sms, "+49 (171) 55-66.7").as_str(), "+491715566".to_owned() + "7");
        for pasted in ["+49\u{a0}171\t55667", "+49\u{2011}171\u{2013}55667", "\u{202a}+4917155667\u{202c}"] {
            assert_eq!(Address::new(Channel::Sms, pasted).as_str(), "+4917155667", "{pasted:?}");
        }
        assert_eq!(Address::new(Channel::Push, "AbC").as_str(), "AbC");
        assert_ne!(mail("a").fingerprint(), Address::new(Channel::Chat, "a").fingerprint());
    }
}
