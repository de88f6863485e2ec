use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use claimstream::LockGuarded;
use claimstream_domain::{ClaimRequest, Claimed, Lease, Settled};
use claimstream_memory::{MemoryClock, MemoryOptions, MemoryStore};
use claimstream_ports::{DistributedLock, LockingStrategy, StoreError};
use claimstream_redis::{RedisLock, RedisPlace};
use claimstream_sea_orm::FrozenClock;
use claimstream_testbed::eventually;
use tokio::sync::Notify;

use crate::{
    Clock, Fixture, Instance, LEASE, Ports, PrivateRedis, Server, Suite,
    backend::{RedisBackend, SeaOrmBackend},
    ids,
    servers::redis_url,
};

pub(super) fn add_to(suite: &mut Suite, environment: &impl Fn(&str) -> Option<String>) {
    let name = |store: &str, lock: &str| format!("{store}::{lock}::guarded::{SHARES_NOTHING}");
    suite.add_async_test(&name("memory", "lock:memory"), async { shares_nothing(Setup::in_memory()).await });
    suite.add_async_test(&name("sqlite", "lock:db"), async {
        let backend = SeaOrmBackend::sqlite("preemptive_update");
        shares_nothing(Setup::on(&backend, None).await).await;
    });
    let redis = redis_url(environment);
    for server in Server::ALL {
        let Some(url) = server.url(environment) else { continue };
        let (own_redis, other) = (redis.clone(), url.clone());
        suite.add_async_test(&name(server.name, "lock:db"), async move {
            let backend = SeaOrmBackend::server(server.name, &url, "preemptive_update");
            shares_nothing(Setup::on(&backend, None).await).await;
        });
        let Some(redis) = own_redis else { continue };
        suite.add_async_test(&name(server.name, "lock:redis"), async move {
            let backend = SeaOrmBackend::server(server.name, &other, "preemptive_update");
            let place = RedisBackend::fresh_place(&redis).0;
            shares_nothing(Setup::on(&backend, Some(place)).await).await;
        });
    }
    if redis.is_some() {
        let what = "sqlite::lock:redis::guarded::claims_go_on_while_redis_is_away";
        suite.add_async_test(what, async { goes_on_without_redis().await });
    }
}

const SHARES_NOTHING: &str = "a_claim_that_is_paused_past_its_lock_and_its_lease_shares_no_message";
const LOCK_LEASE: Duration = Duration::from_millis(150);

/// Two instances on one store, with a lock of their own each.
struct Setup {
    a: Instance,
    b: Instance,
    locks: [Arc<dyn DistributedLock>; 2],
    clock: Arc<dyn Clock>,
    /// Whether a lock lapses by itself, and not when the clock says so.
    lapses: bool,
}

impl Setup {
    fn in_memory() -> Self {
        let clock = MemoryClock::manual(Fixture::start());
        let options = MemoryOptions { clock: clock.clone(), ..MemoryOptions::default() };
        let store = MemoryStore::open(options);
        let rival = store.rival();
        let locks: [Arc<dyn DistributedLock>; 2] = [Arc::new(store.clone()), Arc::new(rival.clone())];
        Self::of(Ports::of(store), Ports::of(rival), locks, Arc::new(clock))
    }

    async fn on(backend: &SeaOrmBackend, redis: Option<RedisPlace>) -> Self {
        let url = backend.database().await.expect("a database");
        let clock = FrozenClock::at(Fixture::start().as_micros());
        let store = backend.open(&url, Some(clock.clone())).await.expect("open");
        let rival = backend.open(&url, Some(clock.clone())).await.expect("open");
        let lapses = redis.is_some();
        let locks: [Arc<dyn DistributedLock>; 2] = match redis {
            None => [Arc::new(store.clone()), Arc::new(rival.clone())],
            Some(place) => [Arc::new(RedisLock::new(place.clone())), Arc::new(RedisLock::new(place))],
        };
        Self { lapses, ..Self::of(Ports::of(store), Ports::of(rival), locks, Arc::new(clock)) }
    }

    fn of(a: Ports, b: Ports, locks: [Arc<dyn DistributedLock>; 2], clock: Arc<dyn Clock>) -> Self {
        let queue = Fixture::fresh_queue();
        let (a, b) = (Instance::new(1, a, queue.clone(), 10), Instance::new(2, b, queue, 10));
        Self { a, b, locks, clock, lapses: false }
    }

    async fn enqueue(&self, count: usize) {
        let messages: Vec<_> = (0..count)
            .map(|n| {
                let message = claimstream::NewMessage::new(
                    claimstream::MessageId::new(uuid::Uuid::now_v7()),
                    self.a.queue().clone(),
                    claimstream::Payload::json(format!("{n}")),
                );
                message.ordered_by(claimstream::OrderingKey::new("one shard").expect("a key"))
            })
            .collect();
        self.a.enqueue(&messages).await;
        self.clock.advance(Duration::from_millis(1)).await;
    }
}

/// A holds the lock and is paused before it asks the store; the lock lapses and B claims; then A goes on. What A has taken
/// is taken over by B when A is paused again, for longer than its lease.
async fn shares_nothing(setup: Setup) {
    setup.enqueue(6).await;
    let [lock_a, lock_b] = setup.locks.clone();
    let (begun, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let slow = Slow { strategy: setup.a.ports.claiming.clone(), begun: begun.clone(), go_on: go_on.clone() };
    let lease = Lease::new(LOCK_LEASE).expect("a lease");
    let a = LockGuarded::new(Arc::new(slow), lock_a).with_lease(lease);
    let b = LockGuarded::new(setup.b.ports.claiming.clone(), lock_b).with_lease(lease);
    let request = setup.a.request(3, LEASE);
    let since = Instant::now();
    let claiming = tokio::spawn(async move { a.claim(&request).await.expect("claim") });
    begun.notified().await;
    let mut of_b = b.claim(&setup.b.request(3, LEASE)).await.expect("claim");
    // On a machine that stood still the lock may be gone already.
    assert!(of_b.is_empty() || setup.lapses && since.elapsed() > LOCK_LEASE, "A has the lock");
    setup.clock.advance(2 * LOCK_LEASE).await;
    if of_b.is_empty() {
        of_b = claims_in_the_end(&b, &setup.b).await;
    }
    go_on.notify_one();
    let of_a = claiming.await.expect("A");
    assert_eq!((of_a.len(), of_b.len()), (3, 3));
    assert!(ids(&of_a).iter().all(|id| !ids(&of_b).contains(id)), "both hold a message");
    setup.clock.advance(LEASE + Duration::from_secs(1)).await;
    for claimed in &of_b {
        assert_eq!(setup.b.ack(claimed).await, Settled::Accepted);
    }
    let taken_over = claims_in_the_end(&b, &setup.b).await;
    assert_eq!(ids(&taken_over), ids(&of_a));
    for (late, claimed) in of_a.iter().zip(&taken_over) {
        assert_eq!(setup.a.ack(late).await, Settled::Superseded);
        assert_eq!(setup.b.ack(claimed).await, Settled::Accepted);
    }
}

/// A lock in a Redis lapses by itself, in a moment; what is due is then claimed.
async fn claims_in_the_end(strategy: &LockGuarded, instance: &Instance) -> Vec<Claimed> {
    let found = Mutex::new(Vec::new());
    eventually("the lock has lapsed", || async {
        let claimed = strategy.claim(&instance.request(3, LEASE)).await.expect("claim");
        *found.lock().expect("no panic") = claimed;
        !found.lock().expect("no panic").is_empty()
    })
    .await;
    found.into_inner().expect("no panic")
}

/// A strategy that waits before it asks the store.
struct Slow {
    strategy: Arc<dyn LockingStrategy>,
    begun: Arc<Notify>,
    go_on: Arc<Notify>,
}

#[async_trait]
impl LockingStrategy for Slow {
    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<Claimed>, StoreError> {
        self.begun.notify_one();
        self.go_on.notified().await;
        self.strategy.claim(request).await
    }
}

async fn goes_on_without_redis() {
    let redis = PrivateRedis::start();
    let backend = SeaOrmBackend::sqlite("preemptive_update");
    let setup = Setup::on(&backend, Some(redis.url().parse().expect("a place"))).await;
    let a = LockGuarded::new(setup.a.ports.claiming.clone(), setup.locks[0].clone());
    setup.enqueue(9).await;
    for round in 0..3 {
        let claimed = a.claim(&setup.a.request(3, LEASE)).await.expect("claim");
        assert_eq!(claimed.len(), 3, "round {round}");
        match round {
            0 => redis.kill(),
            _ => redis.start_again(),
        }
    }
}
