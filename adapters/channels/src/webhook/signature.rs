use claimstream_domain::Invalid;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::Secret;

/// Signs the body of a request.
#[derive(Clone)]
pub(super) struct Signer(Hmac<Sha256>);

impl Signer {
    /// Signs with a secret of any length but nothing.
    pub(super) fn new(secret: &Secret) -> Result<Self, Invalid> {
        match Hmac::new_from_slice(secret.reveal().as_bytes()) {
            Ok(mac) if !secret.reveal().is_empty() => Ok(Self(mac)),
            _ => Err(Invalid::Empty { what: "webhook secret" }),
        }
    }

    /// `v1=` and the HMAC-SHA256 of `<timestamp>.<body>` in lower-case hex.
    ///
    /// The timestamp is signed with the body, so that nobody can post an old body as new.
    pub(super) fn sign(&self, timestamp: u64, body: &[u8]) -> String {
        let mac = self.0.clone().chain_update(timestamp.to_string()).chain_update(b".").chain_update(body);
        format!("v1={}", hex::encode(mac.finalize().into_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // printf '%s' '1700000000.{"id":1}' | openssl dgst -sha256 -hmac 'whsec-test'
    #[test]
    fn signs_as_openssl_does() {
        let signer = Signer::new(&Secret::new("whsec-test")).unwrap();
        let expected = "v1=5c7c76af77af443a710729c69dbfac6394ac5b78aa21a360d1cd2a71077fc9cf";
        assert_eq!(signer.sign(1_700_000_000, br#"{"id":1}"#), expected);
    }

    #[test]
    fn refuses_an_empty_secret() {
        assert!(Signer::new(&Secret::new("")).is_err());
    }
}
