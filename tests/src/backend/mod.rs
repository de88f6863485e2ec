//! Where clauses are played: a store with a strategy.

mod memory;
mod redis;
mod sea_orm;

use std::sync::Arc;

use async_trait::async_trait;
use claimstream_ports::StoreError;
use claimstream_sea_orm::Strategy;

pub use memory::MemoryVenue;
pub use redis::RedisVenue;
pub use sea_orm::SeaOrmVenue;

use crate::{LockStage, NotificationStage, Server, ServerStage, Stage, StepStage, TimerStage};

/// A store with a strategy, on which any number of stages can be set up side by side.
#[async_trait]
pub trait Venue: Send + Sync {
    /// The store, such as `mariadb-10.5`.
    fn name(&self) -> &str;

    /// The strategy, such as `skip_locked`.
    fn strategy(&self) -> &str;

    /// Whether a shard is in the hands of one instance at a time, so that only that one claims and settles there.
    fn owns_shards(&self) -> bool {
        self.strategy().starts_with("shard_lease")
    }

    /// Sets up a stage whose time stands at [`Stage::START`].
    async fn stage(&self) -> Result<Stage, StoreError>;

    /// Sets up a stage whose store is swept; nobody keeps anything finished there. The venue makes one at a time.
    async fn swept_stage(&self) -> Result<SweptStage, StoreError>;
}

/// A stage whose store can be swept.
pub struct SweptStage {
    /// The stage.
    pub stage: Stage,
    /// What sweeps its store.
    pub sweeper: Arc<dyn Sweeper>,
}

/// Takes away what finished messages have left behind.
#[async_trait]
pub trait Sweeper: Send + Sync {
    /// Sweeps once. The store keeps things for [`Retention::default`](claimstream_domain::Retention::default).
    async fn sweep(&self);
}

/// A venue on a real server.
#[async_trait]
pub trait ServerVenue: Venue {
    /// Sets up a stage.
    async fn server_stage(&self) -> Result<ServerStage, StoreError>;
}

/// A venue whose store keeps notification requests.
#[async_trait]
pub trait NotificationVenue: Venue {
    /// Sets up a stage.
    async fn notification_stage(&self) -> Result<NotificationStage, StoreError>;
}

/// A venue whose store has a step ledger.
#[async_trait]
pub trait StepVenue: Venue {
    /// Sets up a stage.
    async fn step_stage(&self) -> Result<StepStage, StoreError>;
}

/// A venue on which timer events can run.
#[async_trait]
pub trait TimerVenue: Venue {
    /// Sets up a stage.
    async fn timer_stage(&self) -> Result<TimerStage, StoreError>;
}

/// A venue whose store has locks.
#[async_trait]
pub trait LockVenue: Venue {
    /// Sets up a stage.
    async fn lock_stage(&self) -> Result<LockStage, StoreError>;
}

/// All venues there are here and now, by what they can do.
#[derive(Default)]
pub struct Venues {
    /// Those with an outbox.
    pub outbox: Vec<Arc<dyn Venue>>,
    /// Those with an outbox whose shards are in one instance's hands at a time.
    pub owner: Vec<Arc<dyn Venue>>,
    /// Those that keep messages of one key in order, and hold a key back behind what fails.
    pub ordered: Vec<Arc<SeaOrmVenue>>,
    /// Those of them on which two transactions can write at a time.
    pub late: Vec<Arc<SeaOrmVenue>>,
    /// Those that keep messages of one key in order, and let it overtake what fails.
    pub skipping: Vec<Arc<SeaOrmVenue>>,
    /// Those with an outbox on which two transactions can write at a time.
    pub concurrent: Vec<Arc<dyn Venue>>,
    /// Those with an outbox whose greatest payload is small enough to be tried.
    pub payload: Vec<Arc<dyn Venue>>,
    /// Those on a real server.
    pub server: Vec<Arc<dyn ServerVenue>>,
    /// Those on a real server, and `auto` on each: what opens an outbox.
    pub opening: Vec<Arc<dyn ServerVenue>>,
    /// Those that choose a strategy, and which one they must choose: one that is played by its name.
    pub choosing: Vec<(Arc<SeaOrmVenue>, Strategy)>,
    /// Those on which the server's own limits are tried: one for each server.
    pub packet: Vec<Arc<dyn ServerVenue>>,
    /// Those that keep notification requests as well.
    pub notification: Vec<Arc<dyn NotificationVenue>>,
    /// Those whose requests have ten thousand recipients: one for each store that has to be waited for.
    pub fan_out: Vec<Arc<dyn NotificationVenue>>,
    /// Those with a step ledger.
    pub step: Vec<Arc<dyn StepVenue>>,
    /// Those with a step ledger on which two transactions can write at a time.
    pub concurrent_step: Vec<Arc<dyn StepVenue>>,
    /// Those on which timer events can run: one for each store.
    pub timer: Vec<Arc<dyn TimerVenue>>,
    /// Those of them on which two transactions can write at a time.
    pub concurrent_timer: Vec<Arc<dyn TimerVenue>>,
    /// Those with an outbox whose claims are behind a lock.
    pub guarded: Vec<Arc<dyn Venue>>,
    /// Those of them on a real server.
    pub guarded_server: Vec<Arc<dyn ServerVenue>>,
    /// Those with locks.
    pub lock: Vec<Arc<dyn LockVenue>>,
}

impl Venues {
    /// The venues that need no server; what has nothing to do with strategies is played once, on `auto`.
    pub fn without_server() -> Self {
        let memory = Arc::new(MemoryVenue);
        let mut venues = Self {
            outbox: vec![memory.clone()],
            concurrent: vec![memory.clone()],
            payload: vec![memory.clone()],
            notification: vec![memory.clone()],
            step: vec![memory.clone()],
            concurrent_step: vec![memory.clone()],
            timer: vec![memory.clone()],
            concurrent_timer: vec![memory.clone()],
            lock: vec![memory],
            ..Self::default()
        };
        for strategy in ["preemptive_update", "shard_lease"] {
            let sqlite = Arc::new(SeaOrmVenue::sqlite(strategy));
            venues.outbox.push(sqlite.clone());
            if sqlite.owns_shards() {
                venues.owner.push(sqlite.clone());
            }
            venues.payload.push(sqlite.clone());
            venues.notification.push(sqlite);
        }
        let sqlite = Arc::new(SeaOrmVenue::sqlite("auto"));
        venues.fan_out.push(sqlite.clone());
        venues.step.push(sqlite.clone());
        venues.lock.push(sqlite.clone());
        venues.timer.push(sqlite.clone());
        venues.choosing.push((sqlite, Strategy::PreemptiveUpdate));
        venues.guarded.push(Arc::new(SeaOrmVenue::sqlite("lock:db")));
        venues.ordered.push(Arc::new(SeaOrmVenue::sqlite("shard_lease per_key")));
        venues.skipping.push(Arc::new(SeaOrmVenue::sqlite("shard_lease per_key_skip")));
        venues
    }

    /// Locks in a Redis, and an SQLite outbox behind them.
    pub fn of_redis(url: &str) -> Self {
        let guarded = Arc::new(SeaOrmVenue::sqlite("lock:redis").beside_redis(url));
        Self { lock: vec![Arc::new(RedisVenue::new(url))], guarded: vec![guarded], ..Self::default() }
    }

    /// A server with every strategy that it runs, and with a lock in a Redis if there is one; what has nothing to do with
    /// strategies is played once, on `auto`.
    pub fn of_server(server: Server, url: &str, redis: Option<&str>) -> Self {
        let mut venues = Self::default();
        for strategy in server.strategies() {
            let venue = Arc::new(SeaOrmVenue::server(server.name, url, strategy));
            venues.outbox.push(venue.clone());
            if venue.owns_shards() {
                venues.owner.push(venue.clone());
            }
            venues.concurrent.push(venue.clone());
            venues.payload.push(venue.clone());
            venues.server.push(venue.clone());
            venues.opening.push(venue.clone());
            venues.notification.push(venue);
        }
        let of_word = |word| Arc::new(SeaOrmVenue::server(server.name, url, word));
        let auto = of_word("auto");
        venues.opening.push(auto.clone());
        venues.packet.push(auto.clone());
        venues.fan_out.push(auto.clone());
        venues.step.push(auto.clone());
        venues.concurrent_step.push(auto.clone());
        venues.lock.push(auto.clone());
        venues.timer.push(auto.clone());
        venues.concurrent_timer.push(auto.clone());
        venues.choosing.push((auto, server.chooses()));
        venues.guarded.push(of_word("lock:db"));
        venues.guarded_server.push(of_word("lock:db"));
        if let Some(redis) = redis {
            let guarded = SeaOrmVenue::server(server.name, url, "lock:redis").beside_redis(redis);
            venues.guarded.push(Arc::new(guarded));
        }
        let ordered = of_word("shard_lease per_key");
        venues.ordered.push(ordered.clone());
        venues.late.push(ordered);
        venues.skipping.push(of_word("shard_lease per_key_skip"));
        venues
    }
}
