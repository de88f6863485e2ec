//! Fences of locks in a Redis that has lost its memory, or whose clock was set back.

use claimstream_domain::Lease;
use claimstream_ports::DistributedLock;
use claimstream_redis::RedisLock;
use redis::{Client, Script};

use crate::{
    LEASE, Suite,
    backend::{RedisBackend, lock_in},
    redis_connection,
};

/// Adds the fences on the Redis at this URL.
pub fn add_to(suite: &mut Suite, url: &str) {
    let [flushed, behind] = [(); 2].map(|()| Setup::at(url));
    // Guard: a fence is at least the time, so it grows although its row was swept |
    // adapters/redis/src/lua/take.lua: `last + 1` alone
    suite.add_async_test("redis::fences::a_fence_grows_through_a_flush", async move {
        grows_through_a_flush(flushed).await;
    });
    suite.add_async_test(
        "redis::fences::a_fence_goes_on_from_the_last_when_the_clock_is_behind",
        async move {
            goes_on_from_the_last(behind).await;
        },
    );
}

/// Locks in a namespace of their own, and a hand in their Redis.
struct Setup {
    locks: RedisLock,
    client: Client,
    namespace: String,
}

impl Setup {
    fn at(url: &str) -> Self {
        let (place, namespace) = RedisBackend::fresh_place(url);
        Self { locks: lock_in(place), client: Client::open(url).expect("a URL"), namespace }
    }

    /// Takes the lock, gives it back and answers its fence.
    async fn fence(&self) -> u64 {
        let lease = Lease::new(LEASE).expect("a lease");
        let guard = self.locks.try_acquire("a", lease).await.expect("try to acquire").expect("it is free");
        let fence = guard.fence;
        assert!(self.locks.release(guard).await.expect("release"));
        fence
    }

    /// Calls Redis for each key of the namespace, and answers how many there are.
    async fn for_each_key(&self, call: &str) -> usize {
        let mut on = redis_connection(&self.client).await;
        let each = format!(
            "local keys = redis.call('KEYS', ARGV[1]) for _, key in ipairs(keys) do {call} end return #keys"
        );
        let script = Script::new(&each);
        let found = script.arg(format!("{{{}/*", self.namespace)).invoke_async(&mut on).await;
        found.expect("a call of Redis")
    }
}

async fn grows_through_a_flush(setup: Setup) {
    let before = setup.fence().await;
    assert!(setup.for_each_key("redis.call('DEL', key)").await > 0, "nothing to forget");
    assert!(setup.fence().await > before);
}

async fn goes_on_from_the_last(setup: Setup) {
    let ahead = setup.fence().await + 3_600_000_000;
    let keys = setup.for_each_key(&format!("redis.call('SET', key, '{ahead}')")).await;
    assert_eq!(keys, 1, "a lock that was given back leaves its fence");
    assert!(setup.fence().await > ahead);
}
