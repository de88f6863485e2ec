use std::fmt;

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::Invalid;

/// Signs texts and checks them, by HMAC-SHA-256: a token is the text and its signature, in letters, digits, `-`, `_` and one `.`.
#[derive(Clone)]
pub(super) struct TextKeys {
    /// The first signs, all check.
    keys: Vec<Hmac<Sha256>>,
}

impl TextKeys {
    /// The shortest key, in bytes.
    pub(super) const MIN_BYTES: usize = 32;

    /// Keys for `what`, the newest first; refuses no key at all and a key that is shorter than 32 bytes.
    pub(super) fn new<'a>(
        what: &'static str,
        keys: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<Self, Invalid> {
        let keys: Vec<_> = keys.into_iter().map(|bytes| key(what, bytes)).collect::<Result<_, _>>()?;
        match keys.is_empty() {
            true => Err(Invalid::Empty { what }),
            false => Ok(Self { keys }),
        }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.keys.len()
    }

    /// The token of a text.
    pub(super) fn sign(&self, text: &str) -> String {
        let mac =
            self.keys.first().map(|key| key.clone().chain_update(text).finalize().into_bytes().to_vec());
        let mac = mac.unwrap_or_default();
        format!("{}.{}", BASE64_URL_SAFE_NO_PAD.encode(text), BASE64_URL_SAFE_NO_PAD.encode(mac))
    }

    /// The text of a token that one of the keys has signed. Signatures are compared in constant time.
    pub(super) fn read(&self, token: &str) -> Option<String> {
        let (text, mac) = token.split_once('.')?;
        let [text, mac] = [text, mac].map(|part| BASE64_URL_SAFE_NO_PAD.decode(part).ok());
        let (text, mac) = (text?, mac?);
        let fits = |key: &Hmac<Sha256>| key.clone().chain_update(&text).verify_slice(&mac).is_ok();
        match self.keys.iter().any(fits) {
            true => String::from_utf8(text).ok(),
            false => None,
        }
    }
}

fn key(what: &'static str, bytes: &[u8]) -> Result<Hmac<Sha256>, Invalid> {
    let refused = || Invalid::OutOfRange {
        what,
        given: format!("{} bytes", bytes.len()),
        allowed: format!("at least {} bytes", TextKeys::MIN_BYTES),
    };
    match Hmac::new_from_slice(bytes) {
        Ok(mac) if bytes.len() >= TextKeys::MIN_BYTES => Ok(mac),
        _ => Err(refused()),
    }
}

impl fmt::Debug for TextKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextKeys").field("keys", &self.keys.len()).finish_non_exhaustive()
    }
}
