use std::fmt;

use super::{Category, PreferenceChange};
use crate::{
    Invalid,
    notification::{Channel, signed_text::TextKeys},
};

/// What an unsubscribe link takes back: the consent of a recipient to a category on a channel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unsubscribe {
    /// The key of the recipient's preferences; see [`preference_key`](super::preference_key).
    pub recipient: String,
    /// The channel.
    pub channel: Channel,
    /// The category.
    pub category: Category,
}

/// Signs unsubscribe links and checks them, by HMAC-SHA-256. No table knows the links: a token says what it takes back, and the
/// signature says that we made it.
#[derive(Clone)]
pub struct UnsubscribeKeys(TextKeys);

impl Unsubscribe {
    /// The opt-out.
    pub fn change(&self) -> PreferenceChange {
        PreferenceChange::Rule {
            channel: Some(self.channel),
            category: Some(self.category.clone()),
            allowed: Some(false),
        }
    }

    /// What is signed. The recipient stands last, because it may hold any character.
    fn text(&self) -> String {
        format!("{VERSION}\n{}\n{}\n{}", self.channel, self.category, self.recipient)
    }

    fn read(text: &str) -> Option<Self> {
        let mut parts = text.splitn(4, '\n');
        let (version, channel, category) = (parts.next()?, parts.next()?, parts.next()?);
        let (channel, category) = (channel.parse().ok()?, category.parse().ok()?);
        (version == VERSION).then_some(Self { recipient: parts.next()?.to_owned(), channel, category })
    }
}

/// What the text of a token begins with, so that a later form can be recognised.
const VERSION: &str = "unsubscribe-1";

impl UnsubscribeKeys {
    /// The shortest key, in bytes.
    pub const MIN_BYTES: usize = TextKeys::MIN_BYTES;

    /// Keys, the newest first: it signs, and all of them check, so that links of an old key work while it is listed.
    ///
    /// Refuses no key at all and a key that is shorter than 32 bytes.
    pub fn new<'a>(keys: impl IntoIterator<Item = &'a [u8]>) -> Result<Self, Invalid> {
        TextKeys::new("unsubscribe key", keys).map(Self)
    }

    /// The token of a link: letters, digits, `-`, `_` and one `.`.
    pub fn sign(&self, unsubscribe: &Unsubscribe) -> String {
        self.0.sign(&unsubscribe.text())
    }

    /// What a token takes back; refuses one that none of the keys has signed. Signatures are compared in constant time.
    pub fn verify(&self, token: &str) -> Result<Unsubscribe, Invalid> {
        let read = self.0.read(token).and_then(|text| Unsubscribe::read(&text));
        read.ok_or_else(|| Invalid::Malformed {
            what: "unsubscribe token",
            why: "its signature does not fit; use the whole link of the message".into(),
        })
    }
}

impl fmt::Debug for UnsubscribeKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnsubscribeKeys").field("keys", &self.0.count()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    //! Promise: a link to unsubscribe opts out of what it was made for, and an altered token of nothing
    use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
    use proptest::prelude::*;

    use super::*;

    const OLD: &[u8] = &[7; 32];
    const NEW: &[u8] = &[8; 40];

    fn keys(keys: &[&'static [u8]]) -> UnsubscribeKeys {
        UnsubscribeKeys::new(keys.iter().copied()).unwrap()
    }

    fn ann() -> Unsubscribe {
        Unsubscribe {
            recipient: "user:ann".into(),
            channel: Channel::Email,
            category: Category::new("marketing").unwrap(),
        }
    }

    // printf 'unsubscribe-1\nemail\nmarketing\nuser:ann' | openssl dgst -sha256 -mac HMAC -macopt hexkey:0707..07 (32 bytes)
    #[test]
    fn signs_as_openssl_does() {
        let token = keys(&[OLD]).sign(&ann());
        let (_, mac) = token.split_once('.').unwrap();
        let mac = BASE64_URL_SAFE_NO_PAD.decode(mac).unwrap();
        let hex: String = mac.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, "b0161e8a5948feeec555ededb7c6dc1783f96e003de2bb5b3b0a28fdece751ed");
    }

    #[test]
    fn an_old_key_checks_while_it_is_listed() {
        let token = keys(&[OLD]).sign(&ann());
        assert_eq!(keys(&[NEW, OLD]).verify(&token), Ok(ann()));
        assert!(keys(&[NEW]).verify(&token).is_err());
        assert_ne!(keys(&[NEW, OLD]).sign(&ann()), token);
    }

    #[test]
    fn refuses_short_keys_and_none_and_shows_none() {
        assert!(UnsubscribeKeys::new([&[7_u8; 31][..]]).is_err());
        assert!(UnsubscribeKeys::new([]).is_err());
        assert_eq!(format!("{:?}", keys(&[OLD])), "UnsubscribeKeys { keys: 1, .. }");
    }

    proptest! {
        #[test]
        fn a_token_says_what_was_signed_and_one_that_was_touched_says_nothing(
            recipient in "\\PC{1,40}(\n\\PC{0,3})?", place in any::<prop::sample::Index>(), bit in 0..6_u8,
        ) {
            let unsubscribe = Unsubscribe { recipient, ..ann() };
            let token = keys(&[OLD]).sign(&unsubscribe);
            prop_assert!(token.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b)));
            prop_assert_eq!(keys(&[OLD]).verify(&token).unwrap(), unsubscribe);
            let mut touched = token.clone().into_bytes();
            let place = place.index(touched.len());
            touched[place] ^= 1 << bit;
            let touched = String::from_utf8_lossy(&touched);
            prop_assert!(keys(&[OLD]).verify(&touched).is_err());
        }
    }
}
