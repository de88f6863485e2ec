use std::{
    fmt,
    sync::{Arc, LazyLock},
    time::Duration,
};

use async_trait::async_trait;
use claimstream_domain::Lease;
use claimstream_ports::{DistributedLock, LockGuard, StoreError, Timer};
use redis::Script;
use uuid::Uuid;

use crate::{RedisPlace, connection::Link};

const LOCK: &str = "lock";

static TAKE: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("lua/take.lua")));
static RENEW: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("lua/renew.lua")));
static RELEASE: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("lua/release.lua")));

/// A lock in Redis: a key with a time to live, set if it is not there, and extended or removed only by its holder.
///
/// Guards are good for the `RedisLock` that gave them. Fences grow with the server's clock, also through a flush; only a
/// clock that is set back, as after a failover, can make one smaller than before. Nothing that matters may rest on them.
pub struct RedisLock {
    link: Link,
    /// Our identity among the holders of locks.
    owner: String,
}

impl RedisLock {
    /// For how long a lock's last fence is kept when it is not held; then the next one goes on from the time.
    const FENCE_KEPT: Duration = Duration::from_secs(24 * 3600);

    /// Locks at this place; it is not looked at before the first call.
    pub fn new(place: RedisPlace) -> Self {
        Self { link: Link::to(place), owner: Uuid::new_v4().simple().to_string() }
    }

    /// Waits for Redis by this timer in place of tokio's clock.
    pub fn with_timer(mut self, timer: Arc<dyn Timer>) -> Self {
        self.link.timer = timer;
        self
    }

    /// The names of a lock and of its last fence; the braces keep both on one node of a cluster.
    fn names(&self, key: &str) -> [String; 2] {
        let name = format!("{{{}}}", self.link.place.name(LOCK, key));
        [name.clone(), name + "/fence"]
    }

    fn token(&self, guard: &LockGuard) -> String {
        format!("{}:{}", self.owner, guard.fence)
    }
}

#[async_trait]
impl DistributedLock for RedisLock {
    async fn try_acquire(&self, key: &str, lease: Lease) -> Result<Option<LockGuard>, StoreError> {
        LockGuard::check_key(key)?;
        let [name, fence] = self.names(key);
        let mut take = TAKE.key(name);
        take.key(fence).arg(&self.owner).arg(millis(lease.duration())).arg(millis(Self::FENCE_KEPT));
        let taken = self.link.call(LOCK, |mut on| async move { take.invoke_async(&mut on).await });
        let fence: Option<u64> = taken.await?;
        Ok(fence.map(|fence| LockGuard { key: key.to_owned(), fence }))
    }

    async fn renew(&self, guard: &LockGuard, lease: Lease) -> Result<bool, StoreError> {
        let [name, fence] = self.names(&guard.key);
        let mut renew = RENEW.key(name);
        renew.key(fence).arg(self.token(guard)).arg(millis(lease.duration())).arg(millis(Self::FENCE_KEPT));
        self.link.call(LOCK, |mut on| async move { renew.invoke_async(&mut on).await }).await
    }

    async fn release(&self, guard: LockGuard) -> Result<bool, StoreError> {
        let [name, _] = self.names(&guard.key);
        let mut release = RELEASE.key(name);
        release.arg(self.token(&guard));
        self.link.call(LOCK, |mut on| async move { release.invoke_async(&mut on).await }).await
    }
}

impl fmt::Debug for RedisLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisLock").field("place", &self.link.place).finish_non_exhaustive()
    }
}

/// Whole milliseconds, as Redis counts, never less than was asked for.
fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros().div_ceil(1000)).unwrap_or(u64::MAX)
}
