use std::fmt;

use super::setting::{ConfigValue, quoted};

/// Where a broker is, as it was written; what stands before an `@` in it is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct BrokerUrl(Box<str>);

impl BrokerUrl {
    /// What it begins with.
    pub fn scheme(&self) -> &str {
        self.0.split_once("://").map_or("", |(scheme, _)| scheme)
    }

    /// The whole URL, password included.
    #[cfg_attr(
        not(any(feature = "kafka", feature = "nats", feature = "rabbitmq", feature = "redis-streams")),
        allow(dead_code, reason = "there is no broker")
    )]
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl ConfigValue for BrokerUrl {
    fn read(text: &str) -> Result<Self, String> {
        match text.trim().split_once("://") {
            Some((scheme, host)) if !scheme.is_empty() && !host.is_empty() => Ok(Self(text.trim().into())),
            _ => Err("the broker's URL has no scheme or no host; write one like nats://host:4222".into()),
        }
    }

    fn write(&self) -> String {
        quoted(&self.to_string())
    }
}

impl fmt::Display for BrokerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, rest) = self.0.split_once("://").unwrap_or_default();
        let rest = rest.split_once(['?', '#']).map_or(rest, |(rest, _)| rest);
        match rest.rsplit_once('@') {
            Some((_, host)) => write!(f, "{scheme}://***@{host}"),
            None => write!(f, "{scheme}://{rest}"),
        }
    }
}

impl fmt::Debug for BrokerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    //! Promise: passwords of brokers are not shown
    use super::*;

    #[test]
    fn is_shown_without_its_user_and_password() {
        let url = BrokerUrl::read(" nats://app:hunter2@a:4222,b:4222 ").unwrap();
        assert_eq!((url.scheme(), url.to_string().as_str()), ("nats", "nats://***@a:4222,b:4222"));
        let url = BrokerUrl::read("redis://cache:6379/0?password=hunter2").unwrap();
        assert_eq!(format!("{url:?} {}", url.write()), "redis://cache:6379/0 \"redis://cache:6379/0\"");
        for bad in ["", "hunter2", "nats://", "://host"] {
            assert!(!BrokerUrl::read(bad).unwrap_err().contains("hunter2"));
        }
    }
}
