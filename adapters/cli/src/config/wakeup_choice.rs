use super::setting::{ConfigValue, quoted};
use crate::{not_built::not_built, redis::RedisPlace};

/// What wakes a relay when another process has written; a password is shown nowhere.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WakeupChoice {
    /// The binary log of the database's server.
    pub binlog: bool,
    /// A Redis on which `serve` publishes.
    pub redis: Option<RedisPlace>,
}

const BINLOG: &str = "binlog";
const NONE: &str = "none";

impl ConfigValue for WakeupChoice {
    /// One of the words, or the URL of a Redis, or both of them with a blank between.
    fn read(text: &str) -> Result<Self, String> {
        let mut choice = Self::default();
        let words: Vec<_> = text.split_whitespace().collect();
        for word in &words {
            match *word {
                BINLOG if cfg!(feature = "binlog") => choice.binlog = true,
                BINLOG => return Err(not_built("wakeups by the binary log", "binlog")),
                NONE if words.len() == 1 => {}
                NONE => return Err(format!("\"{NONE}\" stands alone")),
                _ if choice.redis.is_some() => return Err("it names one Redis at most".into()),
                url => {
                    let place = RedisPlace::new(url);
                    choice.redis =
                        Some(place.map_err(|why| format!("{why}, or \"{BINLOG}\", or \"{NONE}\""))?);
                }
            }
        }
        Ok(choice)
    }

    fn write(&self) -> String {
        let binlog = self.binlog.then(|| BINLOG.to_owned());
        let words: Vec<_> = binlog.into_iter().chain(self.redis.as_ref().map(ToString::to_string)).collect();
        match words.is_empty() {
            true => quoted(NONE),
            false => quoted(&words.join(" ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_the_log_or_a_redis_or_both_or_nothing() {
        let written = |text: &str| WakeupChoice::read(text).map(|choice| choice.write());
        assert_eq!(written("none"), Ok("\"none\"".into()));
        assert_eq!(written(""), Ok("\"none\"".into()));
        assert_eq!(written("binlog"), Ok("\"binlog\"".into()));
        assert_eq!(written("redis://cache:6379/0"), Ok("\"redis://cache:6379/0\"".into()));
        assert_eq!(
            written(" redis://app:hunter2@cache:6379/0  binlog "),
            Ok("\"binlog redis://cache:6379/0\"".into())
        );
    }

    #[test]
    fn anything_else_is_refused_with_what_there_is() {
        let why = WakeupChoice::read("binlogs://hunter2").unwrap_err();
        assert!(why.contains("redis://") && why.contains("\"binlog\", or \"none\""), "{why}");
        assert!(!why.contains("hunter2"), "{why}");
        assert!(WakeupChoice::read("none binlog").is_err());
        assert!(WakeupChoice::read("redis://a:1/0 redis://b:1/0").is_err());
    }
}
