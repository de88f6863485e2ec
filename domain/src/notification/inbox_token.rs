use super::signed_text::TextKeys;
use crate::Invalid;

/// Lets its holder, such as the user's browser, read one user's inbox for a while.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InboxToken {
    /// The user's id, as the directory has it.
    pub user: String,
    /// The end, in seconds since 1970.
    pub until: u64,
}

/// Signs tokens and verifies them, by HMAC-SHA-256. No table holds them.
#[derive(Clone, Debug)]
pub struct InboxKeys(TextKeys);

/// What the signed text of a token begins with, so that no other text is taken for one.
const VERSION: &str = "inbox-1";

impl InboxKeys {
    /// Keys, the newest first: it signs, and all of them check. Refuses no key at all and a key that is shorter than 32 bytes.
    pub fn new<'a>(keys: impl IntoIterator<Item = &'a [u8]>) -> Result<Self, Invalid> {
        TextKeys::new("inbox key", keys).map(Self)
    }

    /// The signed text of a token: letters, digits, `-`, `_` and one `.`.
    pub fn sign(&self, token: &InboxToken) -> String {
        // The user stands last, because it may hold any character.
        self.0.sign(&format!("{VERSION}\n{}\n{}", token.until, token.user))
    }

    /// The token of a text that one of the keys has signed, if it has not expired at `now`, in seconds since 1970.
    pub fn verify(&self, text: &str, now: u64) -> Option<InboxToken> {
        let text = self.0.read(text)?;
        let mut parts = text.splitn(3, '\n');
        let (version, until) = (parts.next()?, parts.next()?.parse().ok()?);
        let token = InboxToken { user: parts.next()?.to_owned(), until };
        (version == VERSION && now < token.until).then_some(token)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn keys(keys: &[&'static [u8]]) -> InboxKeys {
        InboxKeys::new(keys.iter().copied()).unwrap()
    }

    #[test]
    fn a_token_expires_and_an_old_key_verifies_while_it_is_listed() {
        let token = InboxToken { user: "ann".into(), until: 100 };
        let text = keys(&[&[7; 32]]).sign(&token);
        assert_eq!(keys(&[&[8; 32], &[7; 32]]).verify(&text, 99), Some(token));
        assert_eq!(keys(&[&[7; 32]]).verify(&text, 100), None);
        assert_eq!(keys(&[&[8; 32]]).verify(&text, 1), None);
        assert!(InboxKeys::new([&[7; 31][..]]).is_err() && InboxKeys::new([]).is_err());
    }

    proptest! {
        #[test]
        fn a_text_that_was_changed_is_refused(
            user in "\\PC{1,20}(\n\\PC{0,3})?", place in any::<prop::sample::Index>(), bit in 0..6_u8,
        ) {
            let token = InboxToken { user, until: 100 };
            let text = keys(&[&[7; 32]]).sign(&token);
            prop_assert_eq!(keys(&[&[7; 32]]).verify(&text, 1), Some(token));
            let mut touched = text.into_bytes();
            let place = place.index(touched.len());
            touched[place] ^= 1 << bit;
            prop_assert_eq!(keys(&[&[7; 32]]).verify(&String::from_utf8_lossy(&touched), 1), None);
        }
    }
}
