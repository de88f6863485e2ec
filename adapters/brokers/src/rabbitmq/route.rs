use lapin::types::ShortString;

/// An exchange and a routing key, read from the place of a publication.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct ExchangeRoute {
    pub(super) exchange: ShortString,
    pub(super) routing_key: ShortString,
}

impl ExchangeRoute {
    /// Reads `exchange/routing-key`, `queue` or `/queue`; says in a sentence what is wrong with any other place.
    pub(super) fn of(place: &str) -> Result<Self, String> {
        let (exchange, routing_key) = place.split_once('/').unwrap_or(("", place));
        if exchange.is_empty() && routing_key.is_empty() {
            return Err(
                "its place names neither an exchange nor a queue; write exchange/routing-key".to_owned()
            );
        }
        let short = |what: &str, text: &str| {
            ShortString::try_new(text)
                .map_err(|_| format!("the {what} has {} bytes, and AMQP allows 255", text.len()))
        };
        Ok(Self { exchange: short("exchange", exchange)?, routing_key: short("routing key", routing_key)? })
    }
}

/// In the words of a sentence.
impl std::fmt::Display for ExchangeRoute {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.exchange.as_str() {
            "" => write!(f, "the queue {:?}", self.routing_key.as_str()),
            exchange => {
                write!(f, "the exchange {exchange:?} with the routing key {:?}", self.routing_key.as_str())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_an_exchange_with_a_routing_key_or_a_queue() {
        let of = |place: &str| {
            ExchangeRoute::of(place).map(|route| (route.exchange.to_string(), route.routing_key.to_string()))
        };
        let pair = |exchange: &str, key: &str| Ok((exchange.to_owned(), key.to_owned()));
        assert_eq!(of("orders/placed.eu"), pair("orders", "placed.eu"));
        assert_eq!(of("orders/a/b"), pair("orders", "a/b"));
        assert_eq!(of("orders/"), pair("orders", ""));
        assert_eq!(of("bills"), pair("", "bills"));
        assert_eq!(of("/bills"), pair("", "bills"));
        assert_eq!(of("/a/b"), pair("", "a/b"));
        assert!(of("").is_err() && of("/").is_err());
        assert!(of(&format!("orders/{}", "x".repeat(256))).unwrap_err().contains("256 bytes"));
    }
}
