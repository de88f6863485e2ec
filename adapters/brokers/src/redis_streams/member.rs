use std::time::Duration;

use redis::RedisResult;

use super::{RedisStreamsConfig, connection::RedisConnection};

/// A member of a consumer group of a stream.
#[derive(Clone)]
pub(super) struct Member {
    pub(super) config: RedisStreamsConfig,
    pub(super) stream: String,
    pub(super) group: String,
    pub(super) name: String,
    /// How long an entry may be held before another member takes it over.
    pub(super) idle: Duration,
}

impl Member {
    pub(super) async fn connect(&self) -> RedisResult<RedisConnection> {
        RedisConnection::to(&self.config).await
    }

    pub(super) fn idle_millis(&self) -> u64 {
        millis(self.idle)
    }
}

pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
