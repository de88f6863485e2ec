use super::signed_text::TextKeys;
use crate::Invalid;

/// Lets its holder, such as the user's browser, read one user's inbox for a while.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InboxPass {
    /// The user's id, as the directory has it.
    pub user: String,
    /// The end, in seconds since 1970.
    pub until: u64,
}

/// Signs passes and checks them, by HMAC-SHA-256. No table knows them.
#[derive(Clone, Debug)]
pub struct InboxKeys(TextKeys);

/// What the text of a pass begins with, so that no other token is taken for one.
const VERSION: &str = "inbox-1";

impl InboxKeys {
    /// Keys, the newest first: it signs, and all of them check. Refuses no key at all and a key that is shorter than 32 bytes.
    pub fn new<'a>(keys: impl IntoIterator<Item = &'a [u8]>) -> Result<Self, Invalid> {
        TextKeys::new("inbox key", keys).map(Self)
    }

    /// The token of a pass: letters, digits, `-`, `_` and one `.`.
    pub fn sign(&self, pass: &InboxPass) -> String {
        // The user stands last, because it may hold any character.
        self.0.sign(&format!("{VERSION}\n{}\n{}", pass.until, pass.user))
    }

    /// The pass of a token that one of the keys has signed, if it has not ended at `now`, in seconds since 1970.
    pub fn verify(&self, token: &str, now: u64) -> Option<InboxPass> {
        let text = self.0.read(token)?;
        let mut parts = text.splitn(3, '\n');
        let (version, until) = (parts.next()?, parts.next()?.parse().ok()?);
        let pass = InboxPass { user: parts.next()?.to_owned(), until };
        (version == VERSION && now < pass.until).then_some(pass)
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
    fn a_pass_ends_and_an_old_key_checks_while_it_is_listed() {
        let pass = InboxPass { user: "ann".into(), until: 100 };
        let token = keys(&[&[7; 32]]).sign(&pass);
        assert_eq!(keys(&[&[8; 32], &[7; 32]]).verify(&token, 99), Some(pass));
        assert_eq!(keys(&[&[7; 32]]).verify(&token, 100), None);
        assert_eq!(keys(&[&[8; 32]]).verify(&token, 1), None);
        assert!(InboxKeys::new([&[7; 31][..]]).is_err() && InboxKeys::new([]).is_err());
    }

    proptest! {
        #[test]
        fn a_token_that_was_touched_is_nobodys(
            user in "\\PC{1,20}(\n\\PC{0,3})?", place in any::<prop::sample::Index>(), bit in 0..6_u8,
        ) {
            let pass = InboxPass { user, until: 100 };
            let token = keys(&[&[7; 32]]).sign(&pass);
            prop_assert_eq!(keys(&[&[7; 32]]).verify(&token, 1), Some(pass));
            let mut touched = token.into_bytes();
            let place = place.index(touched.len());
            touched[place] ^= 1 << bit;
            prop_assert_eq!(keys(&[&[7; 32]]).verify(&String::from_utf8_lossy(&touched), 1), None);
        }
    }
}
