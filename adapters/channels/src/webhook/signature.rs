use base64::{
    Engine, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig, general_purpose::STANDARD},
};
use claimstream_domain::Invalid;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::Secret;

/// Signs the body of a request, with one secret or, while receivers change to a new one, with several.
#[derive(Clone)]
pub(super) struct Signer(Vec<SigningKeys>);

/// The keys that one secret gives.
#[derive(Clone)]
struct SigningKeys {
    /// The secret as it is written.
    plain: Hmac<Sha256>,
    /// The key of Standard Webhooks: what `whsec_` stands before, decoded; else the secret as it is written.
    standard: Hmac<Sha256>,
}

/// Base64 with or without padding.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

impl Signer {
    /// Signs with each line of a secret, of any length but nothing; refuses one that begins with `whsec_` and does not go on in base64.
    pub(super) fn new(secret: &Secret) -> Result<Self, Invalid> {
        let keys: Vec<SigningKeys> =
            secret.reveal().lines().map(SigningKeys::of).collect::<Result<_, _>>()?;
        if keys.is_empty() { Err(Invalid::Empty { what: "webhook secret" }) } else { Ok(Self(keys)) }
    }

    /// `v1=` and the HMAC-SHA256 of `<timestamp>.<body>` in lower-case hex, for each secret with a comma between.
    ///
    /// The timestamp is signed with the body, so that an old body cannot be posted as a new one.
    pub(super) fn sign(&self, timestamp: u64, body: &[u8]) -> String {
        let signatures = self.0.iter().map(|keys| {
            let mac =
                keys.plain.clone().chain_update(timestamp.to_string()).chain_update(b".").chain_update(body);
            format!("v1={}", hex::encode(mac.finalize().into_bytes()))
        });
        signatures.collect::<Vec<_>>().join(",")
    }

    /// `v1,` and the HMAC-SHA256 of `<id>.<timestamp>.<body>` in base64, for each secret with a blank between.
    ///
    /// Source: Standard Webhooks 1.0.0, "Signature scheme".
    pub(super) fn standard(&self, id: &str, timestamp: u64, body: &[u8]) -> String {
        let signatures = self.0.iter().map(|keys| {
            let mac = keys.standard.clone().chain_update(id).chain_update(b".");
            let mac = mac.chain_update(timestamp.to_string()).chain_update(b".").chain_update(body);
            format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
        });
        signatures.collect::<Vec<_>>().join(" ")
    }
}

impl SigningKeys {
    /// What secrets of Standard Webhooks begin with; base64 follows.
    const PREFIX: &'static str = "whsec_";

    fn of(written: &str) -> Result<Self, Invalid> {
        let plain = keyed(written.as_bytes())?;
        let standard = match written.strip_prefix(Self::PREFIX) {
            None => plain.clone(),
            Some(encoded) => keyed(&LENIENT.decode(encoded).map_err(|_| Invalid::Malformed {
                what: "webhook secret",
                why: "base64 must follow whsec_; a secret of another kind must not begin with whsec_".into(),
            })?)?,
        };
        Ok(Self { plain, standard })
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

    fn keyed_by(secret: &str) -> Result<Signer, Invalid> {
        Signer::new(&Secret::new(secret))
    }

    // printf '%s' '1700000000.{"id":1}' | openssl dgst -sha256 -hmac 'whsec-test'
    #[test]
    fn signs_as_openssl_does() {
        let signer = keyed_by("whsec-test").unwrap();
        let expected = "v1=5c7c76af77af443a710729c69dbfac6394ac5b78aa21a360d1cd2a71077fc9cf";
        assert_eq!(signer.sign(1_700_000_000, br#"{"id":1}"#), expected);
    }

    // printf '%s' 'msg_1.1700000000.{"id":1}' | openssl dgst -sha256 -binary -mac HMAC -macopt hexkey:KEY | base64
    #[test]
    fn standard_webhooks_are_signed_with_the_decoded_key() {
        let signer = keyed_by("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        assert_eq!(
            signer.standard("msg_1", 1_700_000_000, br#"{"id":1}"#),
            "v1,bcpS2rEVnyEsxZRoFMsRYE3pSYQoT4oqwXmzNew0A60="
        );
        let plain = keyed_by("whsec-test").unwrap();
        assert_eq!(
            plain.standard("msg_1", 1_700_000_000, br#"{"id":1}"#),
            "v1,KDWo7ssWcXb6BZgHWjVVpO9MRaISK3V3fU/Fh7zdkDY="
        );
    }

    #[test]
    fn refuses_an_empty_secret_and_one_that_only_looks_like_base64() {
        for secret in ["", "whsec_", "whsec_***"] {
            assert!(keyed_by(secret).is_err(), "{secret}");
        }
    }

    #[test]
    fn a_key_without_padding_is_the_same_key() {
        for (padded, bare) in [("whsec_MTIzNA==", "whsec_MTIzNA"), ("whsec_MTIzNDU=", "whsec_MTIzNDU")] {
            let standard = |text| keyed_by(text).unwrap().standard("msg_1", 1, b"{}");
            assert_eq!(standard(padded), standard(bare));
        }
    }

    #[test]
    fn while_a_secret_is_changed_both_sign() {
        let one = |text| keyed_by(text).unwrap();
        let both = one("whsec_MTIzNDU=\nold");
        let joined = |by: &str, sign: &dyn Fn(&Signer) -> String| {
            [sign(&one("whsec_MTIzNDU=")), sign(&one("old"))].join(by)
        };
        assert_eq!(both.standard("id", 1, b"{}"), joined(" ", &|one| one.standard("id", 1, b"{}")));
        assert_eq!(both.sign(1, b"{}"), joined(",", &|one| one.sign(1, b"{}")));
    }
}
