//! Where cases run: a store with a strategy, and what it has of what they need.

mod guard;
mod memory;
mod redis;
mod sea_orm;
mod wired;

use std::sync::Arc;

use async_trait::async_trait;
use claimstream_ports::StoreError;
use claimstream_sea_orm::{Order, Strategy};

pub use guard::Guard;
pub use memory::MemoryBackend;
pub use redis::{RedisBackend, lock_in};
pub use sea_orm::SeaOrmBackend;

use crate::{
    Fixture, LockFixture, NotificationFixture, Server, ServerFixture, StepFixture, TimerFixture,
    suite::Need::{
        self, Claims, HeldKeys, KeyOrder, LargeFanOut, Locks, Notifications, Opening, Overtaking, Ownership,
        PacketLimit, ParallelWrites, Settlements, Sharing, SmallPayload, Steps, Store, Timers, Unguarded,
    },
};

/// A store with a strategy, on which any number of fixtures can be set up side by side.
#[async_trait]
pub trait Backend: Send + Sync {
    /// The store, such as `mariadb-10.5`.
    fn name(&self) -> &str;

    /// The strategy, such as `skip_locked`.
    fn strategy(&self) -> &str;

    /// What it has of what cases need.
    fn has(&self) -> &[Need];

    /// Sets up a fixture whose time stands at [`Fixture::START`].
    async fn fixture(&self) -> Result<Fixture, StoreError>;

    /// Sets up a fixture whose store is swept; finished rows are not kept there. The backend makes one at a time.
    async fn swept_fixture(&self) -> Result<SweptFixture, StoreError>;
}

/// A fixture whose store can be swept.
pub struct SweptFixture {
    /// The fixture.
    pub fixture: Fixture,
    /// What sweeps its store.
    pub sweeper: Arc<dyn Sweeper>,
}

/// Takes away what finished messages have left behind.
#[async_trait]
pub trait Sweeper: Send + Sync {
    /// Sweeps once. The store keeps things for [`Retention::default`](claimstream_domain::Retention::default).
    async fn sweep(&self);
}

/// A backend on a real server.
#[async_trait]
pub trait ServerBackend: Backend {
    /// Sets up a fixture.
    async fn server_fixture(&self) -> Result<ServerFixture, StoreError>;
}

/// A backend whose store keeps notification requests.
#[async_trait]
pub trait NotificationBackend: Backend {
    /// Sets up a fixture, over a wire if waits for locks are counted.
    async fn notification_fixture(&self, is_wired: bool) -> Result<NotificationFixture, StoreError>;
}

/// A backend whose store has a step ledger.
#[async_trait]
pub trait StepBackend: Backend {
    /// Sets up a fixture, over a wire if waits for locks are counted.
    async fn step_fixture(&self, is_wired: bool) -> Result<StepFixture, StoreError>;
}

/// A backend on which timer events can run.
#[async_trait]
pub trait TimerBackend: Backend {
    /// Sets up a fixture, over a wire if waits for locks are counted.
    async fn timer_fixture(&self, is_wired: bool) -> Result<TimerFixture, StoreError>;
}

/// A backend whose store has locks.
#[async_trait]
pub trait LockBackend: Backend {
    /// Sets up a fixture.
    async fn lock_fixture(&self) -> Result<LockFixture, StoreError>;
}

/// All backends there are here and now.
#[derive(Default)]
pub struct Backends {
    /// In memory.
    pub memory: Option<Arc<MemoryBackend>>,
    /// In databases.
    pub sea_orm: Vec<Arc<SeaOrmBackend>>,
    /// In a Redis.
    pub redis: Option<Arc<RedisBackend>>,
    /// Those that choose a strategy, and which one they must choose: one that runs by its name.
    pub choosing: Vec<(Arc<SeaOrmBackend>, Strategy)>,
}

impl Backends {
    /// The backends that need no server; what has nothing to do with strategies runs once, on `auto`.
    pub fn without_server() -> Self {
        let has = |strategy, has| SeaOrmBackend::sqlite(strategy).having(has);
        let auto = Arc::new(has("auto", &[LargeFanOut, Steps, Timers, Locks]));
        let sea_orm = vec![
            has(
                "preemptive_update",
                &[Claims, Settlements, Store, Unguarded, Sharing, SmallPayload, Notifications],
            ),
            has("shard_lease", &[Claims, Settlements, Unguarded, Ownership, SmallPayload, Notifications]),
            has("preemptive_update", &[Claims, Settlements, Sharing]).behind(Guard::Database),
            has("shard_lease", &[KeyOrder, HeldKeys]).ordered(Order::PerKey),
            has("shard_lease", &[KeyOrder, Overtaking]).ordered(Order::PerKeySkip),
        ];
        let sea_orm = sea_orm.into_iter().map(Arc::new).chain([auto.clone()]).collect();
        let choosing = vec![(auto, Strategy::PreemptiveUpdate)];
        Self { memory: Some(Arc::new(MemoryBackend)), sea_orm, redis: None, choosing }
    }

    /// Locks in a Redis, and an SQLite outbox behind them.
    pub fn of_redis(url: &str) -> Self {
        let guarded = SeaOrmBackend::sqlite("preemptive_update").behind(Guard::redis(url)).having(&[
            Claims,
            Settlements,
            Sharing,
        ]);
        let redis = Some(Arc::new(RedisBackend::new(url)));
        Self { sea_orm: vec![Arc::new(guarded)], redis, ..Self::default() }
    }

    /// A node of a cluster with the strategies that share shards, the one that owns them, and both orders of keys; what has nothing to do
    /// with strategies runs once, on `auto`. A node writes at the pace of its cluster, so what single servers show is not shown again.
    pub fn of_cluster(name: &'static str, url: &str) -> Self {
        const EVERY: [Need; 4] = [Claims, Settlements, Unguarded, ParallelWrites];
        let has = |strategy, has: &[Need]| SeaOrmBackend::server(name, url, strategy).having(has);
        let sea_orm = [
            has("skip_locked", &[&EVERY[..], &[Store, Sharing, Notifications]].concat()),
            has("preemptive_update", &[Claims, Settlements, Sharing]),
            has("shard_lease", &[&EVERY[..], &[Ownership]].concat()),
            has("shard_lease", &[KeyOrder, HeldKeys, ParallelWrites]).ordered(Order::PerKey),
            has("shard_lease", &[KeyOrder, Overtaking]).ordered(Order::PerKeySkip),
            has("auto", &[Steps, Timers, Locks, ParallelWrites]),
        ];
        Self { sea_orm: sea_orm.map(Arc::new).into(), ..Self::default() }
    }

    /// A server with every strategy that it runs, and one of them with a lock in a Redis if there is one; what has nothing to do with
    /// strategies runs once, on `auto`.
    pub fn of_server(server: Server, url: &str, redis: Option<&str>) -> Self {
        const EVERY: [Need; 5] = [Claims, Unguarded, ParallelWrites, Need::Server, Opening];
        const AFTER: [Need; 2] = [Settlements, SmallPayload];
        const LEASED: &str = "mysql-9.7";
        let has = |strategy, has: &[Need]| SeaOrmBackend::server(server.name, url, strategy).having(has);
        let shares = |strategy| if strategy == Strategy::ShardLease { Ownership } else { Sharing };
        let strategies = server.strategies().iter().enumerate().map(|(n, strategy)| {
            let once: &[Need] = if n == 0 { &[Store] } else { &[] };
            // It differs from `skip_locked` in how a claim marks due rows, and in nothing else.
            let marks_otherwise = *strategy == Strategy::PreemptiveUpdate && server.skips_locked;
            let after: &[Need] = if marks_otherwise { &[] } else { &AFTER };
            // No statement of notifications knows of strategies: under a lease they run on SQLite and on one server.
            let is_leased = *strategy == Strategy::ShardLease;
            let noted: &[Need] =
                if marks_otherwise || is_leased && server.name != LEASED { &[] } else { &[Notifications] };
            has(strategy.name(), &[&EVERY[..], &[shares(*strategy)], once, after, noted].concat())
        });
        let auto = [Need::Server, Opening, PacketLimit, LargeFanOut, Steps, Timers, Locks, ParallelWrites];
        let auto = Arc::new(has("auto", &auto));
        let others = [
            has("preemptive_update", &[Claims, Sharing, Need::Server]).behind(Guard::Database),
            has("shard_lease", &[KeyOrder, HeldKeys, ParallelWrites]).ordered(Order::PerKey),
            has("shard_lease", &[KeyOrder, Overtaking]).ordered(Order::PerKeySkip),
        ];
        // A lock in a Redis is the same before each server; one of them writes in parallel with it.
        let redis = redis.filter(|_| !server.skips_locked);
        let behind_redis =
            redis.map(|redis| has("preemptive_update", &[Claims, Sharing]).behind(Guard::redis(redis)));
        let sea_orm = strategies.chain(others).chain(behind_redis).map(Arc::new);
        let sea_orm = sea_orm.chain([auto.clone()]).collect();
        Self { sea_orm, choosing: vec![(auto, server.chooses())], ..Self::default() }
    }
}
