use std::{fmt, time::Duration};

use base64::{Engine, prelude::BASE64_STANDARD};
use claimstream_domain::Invalid;
use hmac::{Hmac, KeyInit, Mac};
use http::{HeaderMap, HeaderName};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// How a provider proves that a receipt is its own. All comparisons take the same time, however much is right.
#[derive(Clone, Debug)]
pub enum ReceiptCheck {
    /// By [Standard Webhooks](https://www.standardwebhooks.com/): the headers `webhook-id`, `webhook-timestamp` and
    /// `webhook-signature`. A secret that begins with `whsec_` is the key in base64.
    Standard {
        /// What the provider signs with.
        secret: SharedSecret,
        /// How far its clock and ours may differ, and how long a receipt may be on its way.
        max_age: Duration,
    },
    /// By HMAC-SHA-256 in a header, in hex or base64, with or without a prefix such as `sha256=`.
    Hmac {
        /// What the provider signs with.
        secret: SharedSecret,
        /// The header of the signature.
        header: HeaderName,
        /// The header of the moment in seconds since 1970, if there is one; then `MOMENT.BODY` is signed, else the body alone.
        timestamp: Option<HeaderName>,
        /// How old a receipt with a moment may be.
        max_age: Duration,
    },
    /// By a token in a header that both sides know, as it is or after `Bearer `.
    Token {
        /// The token.
        secret: SharedSecret,
        /// The header of the token.
        header: HeaderName,
    },
}

/// What a provider and we know; several while it is being changed.
#[derive(Clone)]
pub struct SharedSecret(Vec<Box<str>>);

impl SharedSecret {
    /// The shortest secret, in bytes.
    pub const SHORTEST: usize = 8;

    /// Secrets, a line each; refuses none at all and one that is short enough to be guessed.
    pub fn new(lines: &str) -> Result<Self, Invalid> {
        let secrets: Vec<Box<str>> =
            lines.lines().map(str::trim).filter(|line| !line.is_empty()).map(Box::from).collect();
        if secrets.is_empty() {
            return Err(Invalid::Empty { what: "receipts secret" });
        }
        match secrets.iter().find(|secret| secret.len() < Self::SHORTEST) {
            Some(short) => Err(Invalid::OutOfRange {
                what: "receipts secret",
                given: format!("{} bytes", short.len()),
                allowed: format!("at least {} bytes", Self::SHORTEST),
            }),
            None => Ok(Self(secrets)),
        }
    }

    /// Whether one of the keys has signed `parts` so.
    fn has_signed(&self, parts: &[&[u8]], signature: &[u8]) -> bool {
        let fits = |secret: &str| {
            let key = key(secret)?;
            let mac = parts
                .iter()
                .fold(Hmac::<Sha256>::new_from_slice(&key).ok()?, |mac, part| mac.chain_update(part));
            Some(mac.verify_slice(signature).is_ok())
        };
        self.0.iter().any(|secret| fits(secret) == Some(true))
    }

    fn is(&self, given: &str) -> bool {
        let given = Sha256::digest(given);
        self.0.iter().any(|secret| Sha256::digest(secret.as_bytes()).ct_eq(&given).into())
    }
}

/// The key of a secret; `None` for one that says that it is base64 and is not.
fn key(secret: &str) -> Option<Vec<u8>> {
    match secret.strip_prefix("whsec_") {
        Some(encoded) => BASE64_STANDARD.decode(encoded).ok(),
        None => Some(secret.as_bytes().to_vec()),
    }
}

impl ReceiptCheck {
    /// The default age.
    pub const MAX_AGE: Duration = Duration::from_secs(300);

    /// Checks a receipt that has come `now`, in seconds since 1970; or says what is wrong with it, without anything secret.
    pub(crate) fn check(&self, headers: &HeaderMap, body: &[u8], now: u64) -> Result<(), &'static str> {
        match self {
            Self::Standard { secret, max_age } => {
                let id = text(headers, "webhook-id").ok_or("there is no header webhook-id")?;
                let at = text(headers, "webhook-timestamp").ok_or("there is no header webhook-timestamp")?;
                let given =
                    text(headers, "webhook-signature").ok_or("there is no header webhook-signature")?;
                let versions = given.split_whitespace().filter_map(|one| one.strip_prefix("v1,"));
                let mut signatures = versions.filter_map(|one| BASE64_STANDARD.decode(one).ok());
                let parts: [&[u8]; 5] = [id.as_bytes(), b".", at.as_bytes(), b".", body];
                match signatures.any(|signature| secret.has_signed(&parts, &signature)) {
                    true => young(at, now, *max_age),
                    false => Err("no signature fits"),
                }
            }
            Self::Hmac { secret, header, timestamp, max_age } => {
                let given = text(headers, header.as_str()).ok_or("the header of the signature is missing")?;
                let signature = decoded(given).ok_or("the signature is neither hex nor base64")?;
                let at = timestamp.as_ref().map(|name| text(headers, name.as_str()));
                let at = at.map(|at| at.ok_or("the header of the moment is missing")).transpose()?;
                let fits = match at {
                    Some(at) => secret.has_signed(&[at.as_bytes(), b".", body], &signature),
                    None => secret.has_signed(&[body], &signature),
                };
                match fits {
                    true => at.map_or(Ok(()), |at| young(at, now, *max_age)),
                    false => Err("the signature does not fit"),
                }
            }
            Self::Token { secret, header } => {
                let given = text(headers, header.as_str()).ok_or("the header of the token is missing")?;
                let bare = given.strip_prefix("Bearer ").unwrap_or(given);
                match secret.is(given) | secret.is(bare) {
                    true => Ok(()),
                    false => Err("the token does not fit"),
                }
            }
        }
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

/// A signature in hex or base64; what stands before a `=` that is not padding says how it was made.
fn decoded(given: &str) -> Option<Vec<u8>> {
    let bare = match given.split_once('=') {
        Some((name, rest)) if !rest.is_empty() && rest.chars().any(|c| c != '=') && name.len() < 16 => rest,
        _ => given,
    };
    hex::decode(bare).ok().or_else(|| BASE64_STANDARD.decode(bare).ok())
}

fn young(at: &str, now: u64, max_age: Duration) -> Result<(), &'static str> {
    let at: u64 = at.parse().map_err(|_| "the moment is no number of seconds")?;
    match at.abs_diff(now) <= max_age.as_secs() {
        true => Ok(()),
        false => Err("the moment is too far from now"),
    }
}

impl fmt::Debug for SharedSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedSecret(***)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_700_000_000;

    fn headers(all: &[(&'static str, &str)]) -> HeaderMap {
        all.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap())).collect()
    }

    fn secret(lines: &str) -> SharedSecret {
        SharedSecret::new(lines).unwrap()
    }

    // The signature of adapters/channels/src/webhook/signature.rs, which openssl made.
    const SIGNED: &str = "v1,bcpS2rEVnyEsxZRoFMsRYE3pSYQoT4oqwXmzNew0A60=";
    const BODY: &[u8] = br#"{"id":1}"#;

    fn standard(lines: &str, signature: &str, now: u64) -> Result<(), &'static str> {
        let check = ReceiptCheck::Standard { secret: secret(lines), max_age: ReceiptCheck::MAX_AGE };
        let given =
            [("webhook-id", "msg_1"), ("webhook-timestamp", "1700000000"), ("webhook-signature", signature)];
        check.check(&headers(&given), BODY, now)
    }

    #[test]
    fn a_standard_webhook_is_signed_and_young() {
        let key = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        assert_eq!(standard(key, SIGNED, NOW), Ok(()));
        assert_eq!(standard(&format!("another-one\n{key}"), &format!("v1a,x v1,AAAA {SIGNED}"), NOW), Ok(()));
        assert_eq!(standard("whsec_AAAAAAAAAAAA", SIGNED, NOW), Err("no signature fits"));
        assert_eq!(standard(key, "v1,AAAA", NOW), Err("no signature fits"));
        assert_eq!(standard(key, &SIGNED[3..], NOW), Err("no signature fits"));
        for now in [NOW - 301, NOW + 301] {
            assert_eq!(standard(key, SIGNED, now), Err("the moment is too far from now"));
        }
        assert_eq!(standard(key, SIGNED, NOW + 300), Ok(()));
    }

    fn hmac(timestamp: bool, given: &[(&'static str, &str)]) -> Result<(), &'static str> {
        let check = ReceiptCheck::Hmac {
            secret: secret("whsec-test"),
            header: HeaderName::from_static("x-signature"),
            timestamp: timestamp.then(|| HeaderName::from_static("x-timestamp")),
            max_age: ReceiptCheck::MAX_AGE,
        };
        check.check(&headers(given), BODY, NOW)
    }

    // printf '%s' '1700000000.{"id":1}' | openssl dgst -sha256 -hmac 'whsec-test'; the same without the moment
    #[test]
    fn a_header_bears_the_hmac_of_the_body_or_of_a_moment_and_the_body() {
        let signed = "5c7c76af77af443a710729c69dbfac6394ac5b78aa21a360d1cd2a71077fc9cf";
        let base64 = BASE64_STANDARD.encode(hex::decode(signed).unwrap());
        for given in [signed.to_owned(), format!("v1={signed}"), base64.clone(), format!("sha256={base64}")] {
            assert_eq!(
                hmac(true, &[("x-signature", &given), ("x-timestamp", "1700000000")]),
                Ok(()),
                "{given}"
            );
        }
        let moved = [("x-signature", signed), ("x-timestamp", "1700000001")];
        assert_eq!(hmac(true, &moved), Err("the signature does not fit"), "the moment is signed");
        assert!(hmac(true, &[("x-signature", signed)]).is_err() && hmac(true, &[]).is_err());
        assert!(hmac(false, &[("x-signature", signed)]).is_err(), "a moment is part of what was signed");
        assert_eq!(hmac(false, &[("x-signature", "no hex")]), Err("the signature is neither hex nor base64"));
        let mac = Hmac::<Sha256>::new_from_slice(b"whsec-test").unwrap().chain_update(BODY);
        let alone = hex::encode(mac.finalize().into_bytes());
        assert_eq!(hmac(false, &[("x-signature", &alone)]), Ok(()));
    }

    #[test]
    fn a_token_is_the_one_that_both_know() {
        let check = ReceiptCheck::Token {
            secret: secret("Basic cG9zdG1hcms6aHVudGVyMg==\ntoken-of-old"),
            header: HeaderName::from_static("authorization"),
        };
        let with = |value: &str| check.check(&headers(&[("authorization", value)]), b"", NOW);
        assert_eq!(with("Basic cG9zdG1hcms6aHVudGVyMg=="), Ok(()));
        assert_eq!((with("token-of-old"), with("Bearer token-of-old")), (Ok(()), Ok(())));
        assert_eq!(with("token-of-ol"), Err("the token does not fit"));
        assert!(check.check(&HeaderMap::new(), b"", NOW).is_err());
    }

    #[test]
    fn a_secret_is_long_enough_and_never_shown() {
        assert!(SharedSecret::new(" \n").is_err() && SharedSecret::new("hunter2").is_err());
        assert_eq!(format!("{:?}", secret("hunter2-hunter2")), "SharedSecret(***)");
    }
}
