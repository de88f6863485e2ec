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
                text.chars().filter(|c| !matches!(c, ' ' | '-' | '(' | ')' | '.' | '/')).collect()
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
        assert_eq!(Address::new(Channel::Push, "AbC").as_str(), "AbC");
        assert_ne!(mail("a").fingerprint(), Address::new(Channel::Chat, "a").fingerprint());
    }
}
