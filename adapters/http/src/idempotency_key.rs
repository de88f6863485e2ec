use axum::http::HeaderMap;
use uuid::Uuid;

use crate::problem::{Fault, Problem};

/// The name that a client gives to a call, so that it may repeat the call without repeating its effect.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct IdempotencyKey(String);

/// The namespace of the ids that are made of keys.
const NAMESPACE: Uuid = Uuid::from_u128(0x6f1d_1c6e_52c4_4f0e_9d0b_7d5f_54c2_a8e1);

impl IdempotencyKey {
    const NAME: &'static str = "Idempotency-Key";
    const LONGEST: usize = 255;

    /// The key of a call, if it has one. The quotes of a structured field may be left out.
    pub(crate) fn of(headers: &HeaderMap) -> Result<Option<Self>, Problem> {
        let refused = |why: &str| Problem::invalid(Fault::header(Self::NAME, why));
        let mut given = headers.get_all(Self::NAME).iter();
        let Some(first) = given.next() else { return Ok(None) };
        if given.next().is_some() {
            return Err(refused("send one key"));
        }
        let text = first.to_str().map_err(|_| refused("use visible characters of ASCII"))?.trim();
        let text = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
        match text.len() {
            1..=Self::LONGEST => Ok(Some(Self(text.to_owned()))),
            _ => Err(refused("a key has 1 to 255 characters")),
        }
    }

    /// The id of the request that this key of this caller stands for, always the same.
    pub(crate) fn id(&self, caller: &str) -> Uuid {
        // Neither has a line break, so no other pair reads the same.
        Uuid::new_v5(&NAMESPACE, format!("{caller}\n{}", self.0).as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn of(values: &[&[u8]]) -> Result<Option<IdempotencyKey>, Problem> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(IdempotencyKey::NAME, HeaderValue::from_bytes(value).unwrap());
        }
        IdempotencyKey::of(&headers)
    }

    #[test]
    fn a_key_may_be_quoted_and_is_refused_if_it_is_none() {
        assert_eq!(of(&[]), Ok(None));
        assert_eq!(of(&[b"order-7"]), Ok(Some(IdempotencyKey("order-7".into()))));
        assert_eq!(of(&[b"\"order-7\""]), of(&[b"order-7"]));
        for wrong in [&[&b""[..]][..], &[b"\"\""], &[&[b'x'; 256]], &[b"caf\xe9"], &[b"a", b"b"]] {
            assert!(of(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn the_id_is_that_of_the_caller_and_the_key() {
        let key = |text: &str| IdempotencyKey(text.into());
        assert_eq!(key("7").id("shop"), key("7").id("shop"));
        assert_ne!(key("7").id("shop"), key("7").id("bank"));
        assert_ne!(key("7").id("shop"), key("8").id("shop"));
        assert_eq!(key("7").id("shop").get_version_num(), 5);
        // Clients may rely on it: a key that was used stays used with the next version of this server.
        assert_eq!(key("order-7").id("shop").to_string(), "064dd803-7180-55ef-8709-fabc64182e34");
    }
}
