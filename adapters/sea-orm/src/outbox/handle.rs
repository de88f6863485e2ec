use std::{sync::Arc, time::Duration};

use claimstream_domain::{PayloadLimit, Retention, ShardCount, StrainLimit, step::StepRetention};
use claimstream_ports::{StoreError, StoreErrorKind};
use sea_orm::{DatabaseConnection, DatabaseTransaction};

use super::schema;
use crate::{
    claim::known_shards::Lanes,
    database::{
        Database, Limits,
        clock::{FrozenClock, ServerClock},
        connecting,
        dialect::Dialect,
        given_pool::GivenPool,
        health::Health,
        identity::Identity,
        pool::{HardenedPool, LockWaits},
        pools::{PoolSettings, Pools},
        probe::SkipLocked,
        server,
    },
    failover::Failover,
    statements::Statements,
    store::Store,
    strategy::{
        choice::{Strategy, StrategyChoice},
        order::Order,
    },
    sweep::{LagGauge, Upkeep},
};

/// An outbox in a MySQL, MariaDB or SQLite database; implements every port of Claimstream.
///
/// Clones share one pool.
#[derive(Clone)]
pub struct SeaOrmOutbox {
    pub(crate) store: Arc<Store>,
}

/// How an outbox is opened.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// How messages are claimed; `auto` unless told otherwise.
    pub strategy: StrategyChoice,
    /// Whether messages of one ordering key follow each other; no order unless told otherwise.
    pub order: Order,
    /// Makes the tables if they are not there. Switch it off where the service may not create tables, and apply what
    /// [`schema`](crate::schema()) prints by other means.
    pub create_schema: bool,
    /// Into how many shards queues are cut when the tables are made; a database keeps the number it was made with.
    pub shards: ShardCount,
    /// The largest payload to take, in bytes, where that is less than what the server takes.
    pub max_payload: Option<usize>,
    /// The most connections that callers have at a time, in transactions begun here and by [`SeaOrmOutbox::connection`], and
    /// for what they have the outbox enqueue or record; 10 unless told otherwise, on a server at least 2.
    ///
    /// A handler that finds all of them in use waits for one, and its lease is renewed meanwhile. More handlers at once than
    /// this wait for each other, if each keeps a transaction open.
    pub max_connections: u32,
    /// The most connections besides that claims, renewals, settlements, locks, sweeps and the doctor have for themselves, so that
    /// no handler can take them; 6 unless told otherwise, on a server at least 2.
    pub relay_connections: u32,
    /// How long to wait for a free connection.
    pub acquire_timeout: Duration,
    /// How long what finished messages leave behind is kept; a day unless told otherwise.
    pub retention: Retention,
    /// How long the steps of a run are kept after its last change; 30 days unless told otherwise, and at least an hour.
    pub step_retention: Duration,
    /// Under how much strain a sweep still goes on.
    pub strain_limit: StrainLimit,
    /// Where a sweep learns how far the replicas are behind, if anywhere.
    pub lag: Option<LagGauge>,
    /// For tests: a clock that stands still, instead of the database's.
    pub frozen_clock: Option<FrozenClock>,
    /// Where units of work run. Without one, the tokio runtime that is current at `open`, or else one of the outbox's
    /// own.
    pub runtime: Option<tokio::runtime::Handle>,
}

impl Default for OpenOptions {
    fn default() -> Self {
        let pool = HardenedPool::default();
        Self {
            strategy: StrategyChoice::Auto,
            order: Order::None,
            create_schema: true,
            shards: ShardCount::default(),
            max_payload: None,
            max_connections: pool.max_connections,
            relay_connections: 6,
            acquire_timeout: pool.acquire_timeout,
            retention: Retention::default(),
            step_retention: StepRetention::DEFAULT,
            strain_limit: StrainLimit::default(),
            lag: None,
            frozen_clock: None,
            runtime: None,
        }
    }
}

impl OpenOptions {
    fn pools(&self) -> PoolSettings {
        let leases_shards = self.strategy == StrategyChoice::Exactly(Strategy::ShardLease);
        PoolSettings {
            relay_connections: self.relay_connections,
            max_connections: self.max_connections,
            acquire_timeout: self.acquire_timeout,
            frozen_clock: self.frozen_clock.clone(),
            lock_waits: if leases_shards { LockWaits::Short } else { LockWaits::OfSession },
        }
    }
}

impl SeaOrmOutbox {
    const OPEN_TRIES: u32 = 40;
    const OPEN_WAIT: Duration = Duration::from_millis(50);

    /// Connects, makes or checks the tables, and proves the locking strategy; refuses here what would fail at night.
    pub async fn open(url: &str, options: OpenOptions) -> Result<Self, StoreError> {
        Self::open_with(url.to_owned(), None, options).await
    }

    pub(crate) async fn open_with(
        url: String,
        given: Option<GivenPool>,
        options: OpenOptions,
    ) -> Result<Self, StoreError> {
        let runtime = match &options.runtime {
            Some(handle) => handle.clone(),
            None => own_or_current_runtime()?,
        };
        let opened =
            runtime.clone().spawn(async move { Self::open_patiently(&url, given, options, runtime).await });
        match opened.await {
            Ok(opened) => opened,
            Err(lost) => Err(StoreError::new(StoreErrorKind::Unavailable, "open", lost)),
        }
    }

    /// Several instances may start at once: whoever meets the other's lock on the tables tries again.
    async fn open_patiently(
        url: &str,
        given: Option<GivenPool>,
        options: OpenOptions,
        runtime: tokio::runtime::Handle,
    ) -> Result<Self, StoreError> {
        for _ in 0..Self::OPEN_TRIES {
            match Self::open_here(url, given.clone(), options.clone(), runtime.clone()).await {
                Err(error) if error.kind() == StoreErrorKind::Transient => {
                    tokio::time::sleep(Self::OPEN_WAIT).await
                }
                done => return done,
            }
        }
        Self::open_here(url, given, options, runtime).await
    }

    async fn open_here(
        url: &str,
        given: Option<GivenPool>,
        options: OpenOptions,
        runtime: tokio::runtime::Handle,
    ) -> Result<Self, StoreError> {
        let dialect = Dialect::of_url(url).map_err(misconfigured)?;
        let settings = options.pools();
        settings.check(dialect).map_err(misconfigured)?;
        StepRetention::check(options.step_retention).map_err(|e| misconfigured(e.to_string()))?;
        connecting::names_a_database(url, dialect).map_err(misconfigured)?;
        let health = Health::new();
        let Pools { relay, callers } = Pools::open(url, given.as_ref(), dialect, &settings, &health).await?;
        let db = &relay.connections;
        let sql = Statements::of(dialect);
        let clock = ServerClock::new(options.frozen_clock);
        let shards = schema::prepare(db, sql, dialect, &clock, options.create_schema, options.shards).await?;
        let identity = Identity::of_opened(db, sql).await?;
        if let Some(given) = given {
            given.check(db, dialect, sql, identity, options.relay_connections).await?;
        }
        let packet = server::packet(db, dialect, sql).await?;
        let payload = packet.payload_limit().lowered_to(options.max_payload);
        let strategy = choose(db, dialect, sql, options.strategy).await?;
        refuse_order_without_owner(options.order, strategy)?;
        let limits = Limits { packet, payload, acquire_timeout: options.acquire_timeout };
        let failover = Failover::of(health.servers.clone());
        let database = Database { relay, callers, dialect, sql, clock, health, limits, runtime };
        Ok(Self {
            store: Arc::new(Store {
                database: Arc::new(database),
                strategy,
                order: options.order,
                holder: holder(),
                holds: Default::default(),
                lone: Default::default(),
                ahead: Default::default(),
                shards,
                identity,
                failover,
                lanes: Lanes::new(shards),
                introductions: Default::default(),
                last_lease: Default::default(),
                takings: Default::default(),
                weights: Default::default(),
                outcomes: Default::default(),
                upkeep: Upkeep::new(
                    options.retention,
                    options.step_retention,
                    options.strain_limit,
                    options.lag,
                ),
            }),
        })
    }

    /// The strategy in use, after `auto` has chosen.
    pub fn strategy(&self) -> Strategy {
        self.store.strategy
    }

    /// The pool of callers, for their own statements; it is [hardened](HardenedPool), or the one that was
    /// [handed in](Self::from_pool).
    pub fn connection(&self) -> &DatabaseConnection {
        self.store.callers()
    }

    /// The pool of claims, renewals, settlements, locks and sweeps, for those who measure it. A connection that is taken out of
    /// it is missing there.
    pub fn relay_connection(&self) -> &DatabaseConnection {
        self.store.relay()
    }

    /// The family of the database.
    pub fn dialect(&self) -> Dialect {
        self.store.dialect
    }

    /// Into how many shards queues are cut.
    pub fn shards(&self) -> ShardCount {
        self.store.shards
    }

    /// The largest payload that is taken.
    pub fn payload_limit(&self) -> PayloadLimit {
        self.store.limits.payload
    }

    /// Begins a transaction to write business data and messages in.
    ///
    /// It runs as a task of its own, so that a cancelled caller leaves no open transaction behind; on SQLite it takes the
    /// write lock at once, because a transaction that reads first and writes later may be refused there.
    ///
    /// Only for tokio: the driver commits, rolls back and drops a transaction by means of the current tokio runtime, and
    /// panics without one, so without one this is refused as `Unsupported`. On other executors use
    /// [`transaction`](Self::transaction), or [`enqueue_now`](Self::enqueue_now).
    ///
    /// If others have all connections in use for [`acquire_timeout`](OpenOptions::acquire_timeout), the error is `Transient`, and
    /// whoever can wait may ask again.
    pub async fn begin(&self) -> Result<DatabaseTransaction, StoreError> {
        if tokio::runtime::Handle::try_current().is_err() {
            let why = "a transaction that is given away needs a tokio runtime around it, and there is none; do the work in \
                       SeaOrmOutbox::transaction, which runs on the outbox's own";
            return Err(StoreError::new(StoreErrorKind::Unsupported, "begin", why));
        }
        let store = self.store.clone();
        self.store.detached("begin", async move { store.begin_for_caller("begin").await }).await
    }
}

impl std::fmt::Debug for SeaOrmOutbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SeaOrmOutbox")
            .field("dialect", &self.store.dialect)
            .field("strategy", &self.store.strategy)
            .finish_non_exhaustive()
    }
}

fn misconfigured(why: impl Into<String>) -> StoreError {
    StoreError::new(StoreErrorKind::Misconfigured, "open", why.into())
}

fn unsupported(why: impl Into<String>) -> StoreError {
    StoreError::new(StoreErrorKind::Unsupported, "open", why.into())
}

/// A runtime of the process's own, made once, for programs that run on another executor.
fn own_or_current_runtime() -> Result<tokio::runtime::Handle, StoreError> {
    static OWN: std::sync::OnceLock<std::io::Result<tokio::runtime::Runtime>> = std::sync::OnceLock::new();
    if let Ok(current) = tokio::runtime::Handle::try_current() {
        return Ok(current);
    }
    let own = OWN.get_or_init(|| {
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("claimstream-store")
            .enable_all()
            .build()
    });
    match own {
        Ok(runtime) => Ok(runtime.handle().clone()),
        Err(e) => Err(StoreError::new(StoreErrorKind::Unavailable, "open", e.to_string())),
    }
}

fn refuse_order_without_owner(order: Order, strategy: Strategy) -> Result<(), StoreError> {
    match order.is_per_key() && strategy != Strategy::ShardLease {
        true => Err(unsupported(format!(
            "strategy {strategy} keeps no order; use strategy shard_lease with order {order}, or order none"
        ))),
        false => Ok(()),
    }
}

/// Eight random bytes: an outbox is never taken for one that was open before it.
fn holder() -> sea_orm::Value {
    let random = uuid::Uuid::now_v7().as_u64_pair().1;
    sea_orm::Value::Bytes(Some(random.to_be_bytes().to_vec()))
}

async fn choose(
    db: &DatabaseConnection,
    dialect: Dialect,
    sql: &Statements,
    choice: StrategyChoice,
) -> Result<Strategy, StoreError> {
    if let StrategyChoice::Exactly(anywhere @ (Strategy::PreemptiveUpdate | Strategy::ShardLease)) = choice {
        return Ok(anywhere);
    }
    let proof = match dialect {
        Dialect::MySql => SkipLocked::probe(db, sql).await?,
        Dialect::Sqlite => SkipLocked::Refused("SQLite has one lock for all rows".into()),
    };
    match (choice, proof) {
        (StrategyChoice::Auto, proof) => {
            let strategy = match proof {
                SkipLocked::Proven => Strategy::SkipLocked,
                _ => Strategy::PreemptiveUpdate,
            };
            tracing::info!(%strategy, why = %proof, "strategy auto");
            Ok(strategy)
        }
        (StrategyChoice::Exactly(strategy), SkipLocked::Proven) => Ok(strategy),
        (StrategyChoice::Exactly(strategy), proof) => Err(unsupported(format!(
            "strategy {strategy} cannot work here: {proof}; use strategy preemptive_update or auto"
        ))),
    }
}
