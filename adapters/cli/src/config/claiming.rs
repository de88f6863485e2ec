use std::fmt;

use claimstream_sea_orm::StrategyChoice;

use super::setting::{ConfigValue, quoted};
use crate::redis::RedisPlace;

/// The word that chooses how messages are claimed: a strategy of the store, or one of them behind a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClaimingChoice {
    /// The store's strategy by itself.
    Bare(StrategyChoice),
    /// The strategy that `database.guarded` names, behind the lock that `database.lock` names.
    LockGuarded,
}

/// Where the lock of `lock_guarded` is; a password is shown nowhere.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LockPlace {
    /// In the outbox's own database.
    Database,
    /// In a Redis.
    Redis(RedisPlace),
}

const LOCK_GUARDED: &str = "lock_guarded";
const DATABASE: &str = "database";

impl ConfigValue for ClaimingChoice {
    fn read(text: &str) -> Result<Self, String> {
        match text.trim() {
            LOCK_GUARDED => Ok(Self::LockGuarded),
            other => {
                StrategyChoice::read(other).map(Self::Bare).map_err(|why| format!("{why}, or {LOCK_GUARDED}"))
            }
        }
    }

    fn write(&self) -> String {
        quoted(&self.to_string())
    }
}

impl fmt::Display for ClaimingChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bare(choice) => choice.fmt(f),
            Self::LockGuarded => f.write_str(LOCK_GUARDED),
        }
    }
}

/// A password is not written.
impl ConfigValue for RedisPlace {
    fn read(text: &str) -> Result<Self, String> {
        Self::new(text.trim()).map_err(|why| why.to_string())
    }

    fn write(&self) -> String {
        quoted(&self.to_string())
    }
}

impl ConfigValue for LockPlace {
    fn read(text: &str) -> Result<Self, String> {
        match text.trim() {
            DATABASE => Ok(Self::Database),
            url => RedisPlace::new(url).map(Self::Redis).map_err(|why| format!("{why}, or \"{DATABASE}\"")),
        }
    }

    fn write(&self) -> String {
        match self {
            Self::Database => quoted(DATABASE),
            Self::Redis(place) => quoted(&place.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_is_no_strategy_is_refused_with_all_that_are() {
        assert_eq!(ClaimingChoice::read("lock_guarded"), Ok(ClaimingChoice::LockGuarded));
        let why = ClaimingChoice::read("lock_garded").unwrap_err();
        assert!(why.contains("shard_lease") && why.ends_with("lock_guarded"), "{why}");
    }

    #[test]
    fn a_lock_is_in_the_database_or_in_a_redis_whose_password_is_not_shown() {
        assert_eq!(LockPlace::read("database"), Ok(LockPlace::Database));
        let lock = LockPlace::read("redis://app:hunter2@cache:6380/1").unwrap();
        assert_eq!(lock.write(), "\"redis://cache:6380/1\"");
        let why = LockPlace::read("memcached://app:hunter2@cache").unwrap_err();
        assert!(
            why.contains("redis://") && why.contains("\"database\"") && !why.contains("hunter2"),
            "{why}"
        );
    }
}
