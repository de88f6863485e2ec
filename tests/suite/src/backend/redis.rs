use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use claimstream_domain::Timestamp;
use claimstream_ports::{StoreError, StoreErrorKind, mock::HandTimer};
use claimstream_redis::{RedisLock, RedisPlace};
use redis::{Client, Script};
use uuid::Uuid;

use super::{Backend, LockBackend, SweptFixture};
use crate::{Clock, Fixture, LockFixture, redis_connection, suite::Need};

/// Locks in a Redis; fixtures have a namespace each.
pub struct RedisBackend {
    url: String,
}

impl RedisBackend {
    /// At this URL.
    pub fn new(url: &str) -> Self {
        Self { url: url.to_owned() }
    }

    /// A place of its own in a Redis, and its namespace.
    pub fn fresh_place(url: &str) -> (RedisPlace, String) {
        let namespace = format!("test-{}", Uuid::now_v7().simple());
        (RedisPlace::new(&format!("{url}?namespace={namespace}")).expect("a place"), namespace)
    }
}

#[async_trait]
impl Backend for RedisBackend {
    fn name(&self) -> &str {
        "redis"
    }

    fn strategy(&self) -> &str {
        "lock"
    }

    fn has(&self) -> &[Need] {
        &[Need::Locks]
    }

    async fn fixture(&self) -> Result<Fixture, StoreError> {
        Err(StoreError::new(StoreErrorKind::Unsupported, "open", "Redis holds no messages"))
    }

    async fn swept_fixture(&self) -> Result<SweptFixture, StoreError> {
        Err(StoreError::new(StoreErrorKind::Unsupported, "open", "Redis holds no messages"))
    }
}

#[async_trait]
impl LockBackend for RedisBackend {
    async fn lock_fixture(&self) -> Result<LockFixture, StoreError> {
        let (place, namespace) = Self::fresh_place(&self.url);
        let (store, rival) = (lock_in(place.clone()), lock_in(place));
        let clock = RedisClock { client: Client::open(self.url.as_str()).expect("a URL"), namespace };
        let fixture = LockFixture::new(Arc::new(store), Arc::new(rival), Arc::new(clock));
        Ok(fixture.with_grain(RedisClock::GRAIN))
    }
}

/// A lock that waits for its Redis however long the machine stands still.
pub fn lock_in(place: RedisPlace) -> RedisLock {
    RedisLock::new(place).with_timer(Arc::new(HandTimer::default()))
}

/// The clock of a Redis cannot be set, so what is left of every time to live is made shorter instead.
struct RedisClock {
    client: Client,
    namespace: String,
}

impl RedisClock {
    /// Real time goes on meanwhile; no clause takes that long.
    const GRAIN: Duration = Duration::from_secs(10);

    const ADVANCE: &str = "
        for _, key in ipairs(redis.call('KEYS', ARGV[1])) do
          local left = redis.call('PTTL', key)
          if left >= 0 then redis.call('PEXPIRE', key, math.max(left - ARGV[2], 0)) end
        end";
}

#[async_trait]
impl Clock for RedisClock {
    fn now(&self) -> Timestamp {
        Fixture::start()
    }

    async fn advance(&self, by: Duration) {
        let mut on = redis_connection(&self.client).await;
        let millis = u64::try_from(by.as_millis()).expect("a short time");
        let advance = Script::new(Self::ADVANCE);
        let mut advance = advance.prepare_invoke();
        let advance = advance.arg(format!("{{{}/*", self.namespace)).arg(millis);
        advance.invoke_async::<()>(&mut on).await.expect("advance");
    }
}
