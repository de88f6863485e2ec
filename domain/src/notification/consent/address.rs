use super::{
    mail_address::{MailAddress, mailbox, respelled},
    phone_number::{self, phone_number},
};
use crate::{Fingerprint, Invalid, notification::Channel};

/// An address on a channel, spelled in one way, so that two spellings of one address are equal: a mail address as [`MailAddress`] is, in lower case; a
/// phone number as E.164 has it where its country's code is given.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Address {
    channel: Channel,
    text: String,
}

impl Address {
    /// The address as it is compared. Any text is taken: a strange one is compared as it is.
    pub fn new(channel: Channel, text: &str) -> Self {
        let trimmed = text.trim();
        let text = match channel {
            Channel::Email => match MailAddress::of(trimmed) {
                Some(address) => address.sent().to_lowercase(),
                None => mailbox(trimmed).to_lowercase(),
            },
            Channel::Sms => phone_number(trimmed),
            _ => trimmed.to_owned(),
        };
        Self { channel, text }
    }

    /// The address as it was spelled before spellings were joined, if that is another one: rows kept under it still hold for callers that write
    /// the address as before.
    pub fn former(channel: Channel, text: &str) -> Option<Self> {
        let trimmed = text.trim();
        let former = match channel {
            Channel::Email => mailbox(trimmed).to_lowercase(),
            Channel::Sms if trimmed.contains(|c: char| c.is_ascii_digit()) => {
                trimmed.chars().filter(|c| !was_layout(*c)).collect()
            }
            Channel::Sms => trimmed.to_owned(),
            _ => return None,
        };
        let former = Self { channel, text: former };
        (former != Self::new(channel, text)).then_some(former)
    }

    /// The address as it is compared, and its former spelling where that is another one: rows may be kept under either.
    pub fn spellings(channel: Channel, text: &str) -> Vec<Self> {
        [Some(Self::new(channel, text)), Self::former(channel, text)].into_iter().flatten().collect()
    }

    /// The address as a row keeps it, in today's spelling or a former one.
    pub fn stored(channel: Channel, text: &str) -> Self {
        Self { channel, text: text.to_owned() }
    }

    /// The address as a provider is given it: a mail address as [`respelled`] writes it, a phone number as it is compared.
    pub fn sent(channel: Channel, text: &str) -> String {
        match channel {
            Channel::Email => respelled(text),
            Channel::Sms => phone_number(text.trim()),
            _ => text.to_owned(),
        }
    }

    /// Refuses an address that the channel can never reach, with a reason that leaves the address out.
    pub fn check(channel: Channel, text: &str) -> Result<(), Invalid> {
        match channel {
            Channel::Email => MailAddress::check(text),
            Channel::Sms => phone_number::check(text),
            _ => Ok(()),
        }
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

/// Characters that were left out of a phone number formerly.
fn was_layout(c: char) -> bool {
    let is_unseen =
        matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}');
    let is_dash = matches!(c, '-' | '\u{2010}'..='\u{2015}' | '\u{2212}');
    is_unseen || is_dash || c.is_whitespace() || c.is_control() || "()./".contains(c)
}

#[cfg(test)]
mod tests {
    //! Promise: whatever way an address is spelled, what is kept of it holds
    use proptest::prelude::*;

    use super::*;

    fn mail(text: &str) -> Address {
        Address::new(Channel::Email, text)
    }

    #[test]
    fn one_address_is_spelled_in_one_way() {
        for text in [
            " Ann <Ann@Example.com> ",
            "\"ann\"@example.com",
            "ann\u{200b}@example.com",
            "\u{feff}ann@example.com",
            "an\u{ad}n@example.com",
            "ann\u{ff20}example.com",
            "ann@example.com.",
        ] {
            assert_eq!(mail(text), mail("ann@example.com"), "{text:?}");
        }
        assert_eq!(mail("ann@bücher.example"), mail("ann@xn--bcher-kva.example"));
        assert_eq!(Address::new(Channel::Sms, "tel:+49 (0)171 55-66.7").as_str(), "+4917155667");
        assert_eq!(Address::new(Channel::Push, "AbC").as_str(), "AbC");
        assert_ne!(mail("a").fingerprint(), Address::new(Channel::Chat, "a").fingerprint());
    }

    #[test]
    fn a_provider_is_given_an_address_that_it_takes() {
        for (channel, text, sent) in [
            (Channel::Email, "Ann <Ann@b\u{fc}cher.example>", "Ann <Ann@xn--bcher-kva.example>"),
            (Channel::Sms, " tel:+49 (0)171 55 ", "+4917155"),
            (Channel::Push, " d:1", " d:1"),
        ] {
            assert_eq!(Address::sent(channel, text), sent);
        }
    }

    #[test]
    fn a_former_spelling_is_known_where_it_was_another() {
        let former = |channel, text| Address::former(channel, text).map(|address| address.text);
        assert_eq!(former(Channel::Email, "\"Ann\"@example.com").as_deref(), Some("\"ann\"@example.com"));
        assert_eq!(former(Channel::Sms, "+49 (0)170 1").as_deref(), Some("+4901701"));
        assert_eq!(former(Channel::Sms, " \u{ff14}\u{ff19} ").as_deref(), Some("\u{ff14}\u{ff19}"));
        let stored = Address::stored(Channel::Email, "\"ann\"@example.com");
        assert_eq!(Address::former(Channel::Email, stored.as_str()), Some(stored));
        assert_eq!(former(Channel::Email, "Ann <Ann@example.com>"), None);
        assert_eq!(former(Channel::Push, "AbC"), None);
    }

    proptest! {
        #[test]
        fn a_spelling_is_final(at in 0_usize..6, text in ".{0,24}") {
            let channel = Channel::ALL[at];
            let once = Address::new(channel, &text);
            prop_assert_eq!(Address::new(channel, once.as_str()), once);
        }
    }
}
