use std::{net::SocketAddr, path::PathBuf, time::Duration};

use claimstream_channels::{Endpoint, SmtpServer};
use claimstream_domain::{
    ByteBudget, Jitter, Lease, QueueName, Retention, ShardCount,
    notification::{
        AddressRule, AnswerTable,
        provider::{AfterUnknown, Rate, Selection},
    },
};
use claimstream_sea_orm::{Order, StrategyChoice};

use super::keys::nearest;

/// One value of the configuration, as people write it.
pub(crate) trait Setting {
    /// Takes the value as it was written, or answers a sentence with the right form. The sentence never repeats a secret.
    fn assign(&mut self, text: &str) -> Result<(), String>;

    /// How a file would have it, secrets redacted; `None` while it is not set.
    fn written(&self) -> Option<String>;
}

/// A type that a value can have.
pub(super) trait ConfigValue: Sized {
    fn read(text: &str) -> Result<Self, String>;
    fn write(&self) -> String;
}

impl<T: ConfigValue> Setting for T {
    fn assign(&mut self, text: &str) -> Result<(), String> {
        *self = T::read(text)?;
        Ok(())
    }

    fn written(&self) -> Option<String> {
        Some(self.write())
    }
}

/// Not set unless something is written; nothing at all takes a weaker source's value away.
impl<T: ConfigValue> Setting for Option<T> {
    fn assign(&mut self, text: &str) -> Result<(), String> {
        *self = if text.is_empty() { None } else { Some(T::read(text)?) };
        Ok(())
    }

    fn written(&self) -> Option<String> {
        self.as_ref().map(T::write)
    }
}

macro_rules! number {
    ($($type:ty),*) => {
        $(impl ConfigValue for $type {
            fn read(text: &str) -> Result<Self, String> {
                text.trim().parse().map_err(|_| format!("{text:?} is not a whole number from 0 to {}", Self::MAX))
            }

            fn write(&self) -> String {
                self.to_string()
            }
        })*
    };
}

number!(u16, u32, usize);

impl ConfigValue for bool {
    fn read(text: &str) -> Result<Self, String> {
        word(text, &[("true", true), ("false", false)])
    }

    fn write(&self) -> String {
        self.to_string()
    }
}

impl ConfigValue for AnswerTable {
    fn read(text: &str) -> Result<Self, String> {
        text.parse().map_err(|e: claimstream_domain::Invalid| e.to_string())
    }

    fn write(&self) -> String {
        quoted(&self.to_string())
    }
}

impl ConfigValue for String {
    fn read(text: &str) -> Result<Self, String> {
        Ok(text.to_owned())
    }

    fn write(&self) -> String {
        quoted(self)
    }
}

impl ConfigValue for QueueName {
    fn read(text: &str) -> Result<Self, String> {
        QueueName::new(text).map_err(|e| e.to_string())
    }

    fn write(&self) -> String {
        quoted(self.as_str())
    }
}

impl ConfigValue for SocketAddr {
    fn read(text: &str) -> Result<Self, String> {
        text.trim()
            .parse()
            .map_err(|_| format!("{text:?} is not an address such as 127.0.0.1:8080 or [::]:8080"))
    }

    fn write(&self) -> String {
        quoted(&self.to_string())
    }
}

impl ConfigValue for PathBuf {
    fn read(text: &str) -> Result<Self, String> {
        Ok(text.into())
    }

    fn write(&self) -> String {
        quoted(&self.to_string_lossy())
    }
}

impl ConfigValue for AddressRule {
    fn read(text: &str) -> Result<Self, String> {
        text.parse()
            .map_err(|e| format!("use true, false, or networks such as \"10.0.0.0/8, fd00::/8\": {e}"))
    }

    fn write(&self) -> String {
        match self {
            Self::Networks(_) => quoted(&self.to_string()),
            Self::Public | Self::Private => self.to_string(),
        }
    }
}

impl ConfigValue for Duration {
    fn read(text: &str) -> Result<Self, String> {
        humantime::parse_duration(text.trim())
            .map_err(|e| format!("{text:?} is not a duration such as 500ms, 30s or 1d: {e}"))
    }

    fn write(&self) -> String {
        quoted(&humantime::format_duration(*self).to_string())
    }
}

impl ConfigValue for Lease {
    fn read(text: &str) -> Result<Self, String> {
        Lease::new(Duration::read(text)?).map_err(|e| e.to_string())
    }

    fn write(&self) -> String {
        self.duration().write()
    }
}

impl ConfigValue for ByteBudget {
    fn read(text: &str) -> Result<Self, String> {
        ByteBudget::new(usize::read(text)?).map_err(|e| e.to_string())
    }

    fn write(&self) -> String {
        self.bytes().to_string()
    }
}

impl ConfigValue for ShardCount {
    fn read(text: &str) -> Result<Self, String> {
        ShardCount::new(u16::read(text)?).map_err(|e| e.to_string())
    }

    fn write(&self) -> String {
        self.get().to_string()
    }
}

impl ConfigValue for Retention {
    fn read(text: &str) -> Result<Self, String> {
        text.parse().map_err(|e: claimstream_domain::Invalid| e.to_string())
    }

    fn write(&self) -> String {
        quoted(&self.to_string())
    }
}

impl ConfigValue for StrategyChoice {
    fn read(text: &str) -> Result<Self, String> {
        text.trim().parse().map_err(|e: claimstream_domain::Invalid| e.to_string())
    }

    fn write(&self) -> String {
        quoted(&self.to_string())
    }
}

impl ConfigValue for Order {
    fn read(text: &str) -> Result<Self, String> {
        word(text, &[Self::None, Self::PerKey, Self::PerKeySkip].map(|order| (order.name(), order)))
    }

    fn write(&self) -> String {
        quoted(self.name())
    }
}

impl ConfigValue for Jitter {
    fn read(text: &str) -> Result<Self, String> {
        word(text, &[("full", Self::Full), ("none", Self::None)])
    }

    fn write(&self) -> String {
        quoted(if *self == Self::Full { "full" } else { "none" })
    }
}

/// A gateway's path and query are often its secret, so only its host is ever shown.
impl ConfigValue for Endpoint {
    fn read(text: &str) -> Result<Self, String> {
        text.parse().map_err(|e: claimstream_domain::Invalid| e.to_string())
    }

    fn write(&self) -> String {
        quoted(&format!("{self}/***"))
    }
}

impl ConfigValue for SmtpServer {
    fn read(text: &str) -> Result<Self, String> {
        text.parse().map_err(|e: claimstream_domain::Invalid| e.to_string())
    }

    fn write(&self) -> String {
        quoted(&self.to_string())
    }
}

impl ConfigValue for Rate {
    fn read(text: &str) -> Result<Self, String> {
        text.parse().map_err(|e: claimstream_domain::Invalid| e.to_string())
    }

    fn write(&self) -> String {
        quoted(&self.to_string())
    }
}

impl ConfigValue for Selection {
    fn read(text: &str) -> Result<Self, String> {
        word(text, &[("in_order", Self::InOrder), ("by_weight", Self::ByWeight)])
    }

    fn write(&self) -> String {
        quoted(if *self == Self::InOrder { "in_order" } else { "by_weight" })
    }
}

impl ConfigValue for AfterUnknown {
    fn read(text: &str) -> Result<Self, String> {
        word(text, &[("retry_same", Self::RetrySame), ("failover", Self::Failover)])
    }

    fn write(&self) -> String {
        quoted(if *self == Self::RetrySame { "retry_same" } else { "failover" })
    }
}

/// The value of one of a few words, or a sentence that names them all.
pub(super) fn word<T: Copy>(text: &str, words: &[(&'static str, T)]) -> Result<T, String> {
    let names: Vec<&str> = words.iter().map(|(name, _)| *name).collect();
    let found = words.iter().find(|(name, _)| *name == text.trim());
    found.map(|(_, value)| *value).ok_or_else(|| {
        let hint = nearest(text, names.iter().copied()).map(|name| format!("; did you mean {name:?}?"));
        format!("{text:?} is not one of {}{}", names.join(", "), hint.unwrap_or_default())
    })
}

/// A TOML basic string.
pub(crate) fn quoted(text: &str) -> String {
    let escaped = text.chars().map(|c| match c {
        '"' | '\\' => format!("\\{c}"),
        c if c.is_control() => format!("\\u{:04X}", u32::from(c)),
        c => c.to_string(),
    });
    format!("\"{}\"", escaped.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_need_a_unit_and_come_back_as_they_were() {
        assert_eq!(Duration::read("1d"), Ok(Duration::from_secs(86_400)));
        assert_eq!(Duration::read("1h 30m").map(|d| d.write()), Ok("\"1h 30m\"".into()));
        assert!(Duration::read("30").unwrap_err().contains("not a duration such as 500ms"));
        assert!(Lease::read("0s").unwrap_err().contains("10ms to"));
    }

    #[test]
    fn words_name_their_neighbours() {
        assert_eq!(bool::read("true"), Ok(true));
        assert_eq!(
            Jitter::read("ful"),
            Err("\"ful\" is not one of full, none; did you mean \"full\"?".to_owned())
        );
        assert!(Order::read("per_kez").unwrap_err().contains("did you mean \"per_key\"?"));
        assert!(StrategyChoice::read("skip").unwrap_err().contains("skip_locked"));
    }

    #[test]
    fn nothing_written_is_nothing_set() {
        let mut label = Some("a".to_owned());
        label.assign("").unwrap();
        assert_eq!(label.written(), None);
    }

    #[test]
    fn strings_are_escaped_as_toml_wants_it() {
        assert_eq!(quoted("a\"b\\c\n"), r#""a\"b\\c\u000A""#);
    }
}
