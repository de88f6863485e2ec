use std::{fmt, sync::Arc};

use claimstream_domain::{
    Invalid,
    notification::{
        Channel,
        consent::{Category, Preferences, Unsubscribe, UnsubscribeKeys},
    },
};
use claimstream_ports::{StoreError, notification::PreferenceRepository};

/// Makes the links by which recipients opt out of a category.
#[derive(Clone, Debug)]
pub struct UnsubscribeLinks {
    keys: UnsubscribeKeys,
    base: String,
}

impl UnsubscribeLinks {
    /// The longest base URL, in bytes.
    pub const MAX_BASE_BYTES: usize = 512;

    /// Links that begin with `base`, such as `https://shop.example/unsubscribe/`, and end with a token that these keys sign. A page
    /// that is to be called by one click of a mail program (RFC 8058) needs https.
    ///
    /// Refuses a base that does not begin with `https://` or `http://`, or has a blank or a character outside ASCII.
    pub fn new(base: &str, keys: UnsubscribeKeys) -> Result<Self, Invalid> {
        let malformed = |why: &str| Invalid::Malformed { what: "unsubscribe URL", why: why.to_owned() };
        if base.len() > Self::MAX_BASE_BYTES {
            return Err(malformed("use at most 512 bytes"));
        }
        if !base.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'<' | b'>' | b'"')) {
            return Err(malformed("use visible ASCII characters without blanks and <>\""));
        }
        match ["https://", "http://"]
            .iter()
            .any(|scheme| base.len() > scheme.len() && base.starts_with(scheme))
        {
            true => Ok(Self { keys, base: base.to_owned() }),
            false => Err(malformed("write it like https://shop.example/unsubscribe/")),
        }
    }

    /// The link of one recipient, by the key of its preferences.
    pub(super) fn url(&self, recipient: String, channel: Channel, category: Category) -> String {
        format!("{}{}", self.base, self.keys.sign(&Unsubscribe { recipient, channel, category }))
    }
}

/// Records what recipients opt out of by a link. A page that answers `GET` asks first and changes nothing, because programs that
/// look at mails open links; a `POST` opts out.
#[derive(Clone)]
pub struct Unsubscribing {
    keys: UnsubscribeKeys,
    preferences: Arc<dyn PreferenceRepository>,
}

/// Why no recipient was opted out.
#[derive(Debug, thiserror::Error)]
pub enum UnsubscribeError {
    /// The token is none of ours.
    #[error(transparent)]
    Refused(#[from] Invalid),
    /// The store could not record it; the same call may work later.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Unsubscribing {
    /// Checks tokens by these keys.
    pub fn new(keys: UnsubscribeKeys, preferences: Arc<dyn PreferenceRepository>) -> Self {
        Self { keys, preferences }
    }

    /// What a token takes back, for a page that asks first; refuses one that is none of ours.
    pub fn read(&self, token: &str) -> Result<Unsubscribe, Invalid> {
        self.keys.verify(token)
    }

    /// Records the opt-out, and answers what the recipient wants then; doing it again changes nothing.
    pub async fn opt_out(&self, token: &str) -> Result<Preferences, UnsubscribeError> {
        let unsubscribe = self.read(token)?;
        let after = self.preferences.change(&unsubscribe.recipient, &[unsubscribe.change()]).await?;
        let Unsubscribe { channel, category, .. } = unsubscribe;
        tracing::info!(%channel, %category, "notification.recipient.opted_out");
        Ok(after)
    }
}

impl fmt::Debug for Unsubscribing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unsubscribing").field("keys", &self.keys).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use claimstream_ports::mock::MockPreferenceRepository;

    use super::*;
    use crate::tests::finish;

    fn keys() -> UnsubscribeKeys {
        UnsubscribeKeys::new([&[7; 32][..]]).unwrap()
    }

    #[test]
    fn a_link_opts_out_of_what_it_was_made_for_and_another_token_of_nothing() {
        let links = UnsubscribeLinks::new("https://shop.example/u/", keys()).unwrap();
        let url = links.url("user:a".into(), Channel::Email, Category::new("marketing").unwrap());
        let token = url.strip_prefix("https://shop.example/u/").unwrap();
        let mut preferences = MockPreferenceRepository::new();
        preferences
            .expect_change()
            .withf(|recipient, changes| recipient == "user:a" && changes.len() == 1)
            .times(1)
            .returning(|_, changes| Ok(changes[0].apply(Preferences::default()).unwrap()));
        let unsubscribing = Unsubscribing::new(keys(), Arc::new(preferences));
        let after = finish(unsubscribing.opt_out(token)).unwrap();
        assert_eq!(after.rules[0].about(), "email/marketing");
        assert!(!after.rules[0].allowed);
        let other = format!("x{token}");
        assert!(matches!(finish(unsubscribing.opt_out(&other)), Err(UnsubscribeError::Refused(_))));
    }

    #[test]
    fn refuses_a_base_that_no_header_can_hold() {
        for base in
            ["", "https://", "ftp://shop.example/", "https://shop.example/a b", "https://shop.example/>\r\n"]
        {
            assert!(UnsubscribeLinks::new(base, keys()).is_err(), "{base:?}");
        }
    }
}
