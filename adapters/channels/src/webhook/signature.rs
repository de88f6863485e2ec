use base64::{Engine, engine::general_purpose::STANDARD};
use claimstream_domain::Invalid;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::Secret;

/// Signs the body of a request.
#[derive(Clone)]
pub(super) struct Signer {
    /// With the secret as it is written.
    plain: Hmac<Sha256>,
    /// With the key of Standard Webhooks: what `whsec_` stands before, decoded; else the secret as it is written.
    standard: Hmac<Sha256>,
}

impl Signer {
    /// What secrets of Standard Webhooks begin with; base64 follows.
    const PREFIX: &'static str = "whsec_";

    /// Signs with a secret of any length but nothing; refuses one that begins with `whsec_` and does not go on in base64.
    pub(super) fn new(secret: &Secret) -> Result<Self, Invalid> {
        let written = secret.reveal();
        let plain = keyed(written.as_bytes())?;
        let standard = match written.strip_prefix(Self::PREFIX) {
            None => plain.clone(),
            Some(encoded) => keyed(&STANDARD.decode(encoded).map_err(|_| Invalid::Malformed {
                what: "webhook secret",
                why: "base64 must follow whsec_; a secret of another kind must not begin with whsec_".into(),
            })?)?,
        };
        Ok(Self { plain, standard })
    }

    /// `v1=` and the HMAC-SHA256 of `<timestamp>.<body>` in lower-case hex.
    ///
    /// The timestamp is signed with the body, so that nobody can post an old body as new.
    pub(super) fn sign(&self, timestamp: u64, body: &[u8]) -> String {
        let mac =
            self.plain.clone().chain_update(timestamp.to_string()).chain_update(b".").chain_update(body);
        format!("v1={}", hex::encode(mac.finalize().into_bytes()))
    }

    /// `v1,` and the HMAC-SHA256 of `<id>.<timestamp>.<body>` in base64.
    ///
    /// Source: Standard Webhooks 1.0.0, "Signature scheme".
    pub(super) fn standard(&self, id: &str, timestamp: u64, body: &[u8]) -> String {
        let mac = self.standard.clone().chain_update(id).chain_update(b".");
        let mac = mac.chain_update(timestamp.to_string()).chain_update(b".").chain_update(body);
        format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
    }
}

fn keyed(key: &[u8]) -> Result<Hmac<Sha256>, Invalid> {
    match Hmac::new_from_slice(key) {
        Ok(mac) if !key.is_empty() => Ok(mac),
        _ => Err(Invalid::Empty { what: "webhook secret" }),
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

    // printf '%s' 'msg_1.1700000000.{"id":1}' | openssl dgst -sha256 -binary -mac HMAC -macopt hexkey:KEY | base64
    #[test]
    fn standard_webhooks_are_signed_with_the_decoded_key() {
        let signer = Signer::new(&Secret::new("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")).unwrap();
        assert_eq!(
            signer.standard("msg_1", 1_700_000_000, br#"{"id":1}"#),
            "v1,bcpS2rEVnyEsxZRoFMsRYE3pSYQoT4oqwXmzNew0A60="
        );
        let plain = Signer::new(&Secret::new("whsec-test")).unwrap();
        assert_eq!(
            plain.standard("msg_1", 1_700_000_000, br#"{"id":1}"#),
            "v1,KDWo7ssWcXb6BZgHWjVVpO9MRaISK3V3fU/Fh7zdkDY="
        );
    }

    #[test]
    fn refuses_an_empty_secret_and_one_that_only_looks_like_base64() {
        for secret in ["", "whsec_", "whsec_***"] {
            assert!(Signer::new(&Secret::new(secret)).is_err(), "{secret}");
        }
    }
}
