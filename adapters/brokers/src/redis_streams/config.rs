use std::{fmt, str::FromStr, sync::Arc};

use claimstream_domain::Invalid;
use claimstream_ports::Timer;
use claimstream_tokio::TokioTimer;
use redis::{ConnectionInfo, IntoConnectionInfo};

/// Which Redis has the streams, and how to log in there; its password is never shown.
///
/// `redis://user:password@host:6379/0`, or `rediss://` with TLS, if the feature `tls` is on.
#[derive(Clone)]
pub struct RedisStreamsConfig {
    pub(super) info: ConnectionInfo,
    pub(super) timer: Arc<dyn Timer>,
}

impl RedisStreamsConfig {
    const FORMS: &str = "like redis://host:6379/0";

    /// Takes a URL, or says what would have been right; the sentence does not repeat it, because it may bear a password.
    pub fn new(text: &str) -> Result<Self, Invalid> {
        match text.trim().split_once("://") {
            Some(("redis", host)) if !host.is_empty() => {}
            Some(("rediss", _)) if cfg!(feature = "tls") => {}
            Some(("rediss", _)) => {
                return Err(Self::refused("a URL with TLS, which this program is built without"));
            }
            _ => return Err(Self::refused("a URL of something else")),
        }
        let info = text.trim().into_connection_info();
        let info = info.map_err(|_| Self::refused("a URL that cannot be understood"))?;
        Ok(Self { info, timer: Arc::new(TokioTimer::new()) })
    }

    /// Logs in by this password, as this user if one is named, whatever the URL says.
    pub fn with_login(mut self, user: Option<&str>, password: &str) -> Self {
        let mut settings = self.info.redis_settings().clone().set_password(password);
        if let Some(user) = user {
            settings = settings.set_username(user);
        }
        self.info = self.info.set_redis_settings(settings);
        self
    }

    /// Waits by this timer in place of tokio's clock.
    pub fn with_timer(mut self, timer: Arc<dyn Timer>) -> Self {
        self.timer = timer;
        self
    }

    fn refused(given: &str) -> Invalid {
        Invalid::OutOfRange { what: "redis", given: given.into(), allowed: Self::FORMS.into() }
    }
}

impl FromStr for RedisStreamsConfig {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::new(text)
    }
}

impl fmt::Display for RedisStreamsConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "redis://{}/{}", self.info.addr(), self.info.redis_settings().db())
    }
}

impl fmt::Debug for RedisStreamsConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_shown_without_its_password() {
        let config = RedisStreamsConfig::new("redis://app:hunter2@cache:6380/3").unwrap();
        assert_eq!(config.to_string(), "redis://cache:6380/3");
        let other = config.clone().with_login(None, "other");
        assert_eq!(other.info.redis_settings().password(), Some("other"));
        assert_eq!(other.info.redis_settings().username(), Some("app"));
        assert!(!format!("{other:?}").contains("other"));
    }

    #[test]
    fn what_is_no_place_is_refused_and_not_repeated() {
        for bad in ["", "cache:6379", "nats://hunter2@host", "redis://", "redis-cluster://hunter2@a,b"] {
            let why = RedisStreamsConfig::new(bad).unwrap_err().to_string();
            assert!(why.contains("like redis://host:6379/0") && !why.contains("hunter2"), "{bad}: {why}");
        }
    }
}
