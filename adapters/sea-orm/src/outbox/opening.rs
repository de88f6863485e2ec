use std::{sync::Arc, time::Duration};

#[cfg(feature = "notifications")]
use claimstream_domain::notification::InAppEntry;
#[cfg(feature = "steps")]
use claimstream_domain::step::StepRetention;
use claimstream_ports::{StoreError, StoreErrorKind};

use super::schema::Schema;
#[cfg(feature = "notifications")]
use crate::notifications::{self, repositories::Repositories};
use crate::{
    caller_transactions::begun::CallerTransactions,
    database::{
        Database, Limits, clock::ServerClock, dialect::Dialect, given_pool::GivenPool, identity::Identity,
        pools::Pools, reached::Reached, server, statements::Statements,
    },
    enqueue::rows::Enqueueing,
    failover::Failover,
    outbox::{handle::SeaOrmOutbox, options::OpenOptions, state::OutboxState},
    queues::newest_count::NewestCount,
    strategy::choose::{build, choose, refuse_order_without_owner},
    sweep::{part::Part, sweeper::Sweeper},
};
#[cfg(feature = "steps")]
use crate::{locks, steps};

impl SeaOrmOutbox {
    const OPEN_TRIES: u32 = 40;
    const OPEN_WAIT: Duration = Duration::from_millis(50);

    /// Connects, makes or checks the tables, and proves the locking strategy; refuses here what would fail at night.
    ///
    /// A URL may name several servers, as in `mysql://app@db1:3306,db2:3306/shop`: the outbox connects to the one that takes writes, and
    /// follows when another one does.
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
        let opened = runtime
            .clone()
            .spawn(async move { Self::open_within_timeout(&url, given, options, runtime).await });
        match opened.await {
            Ok(opened) => opened,
            Err(lost) => Err(StoreError::new(StoreErrorKind::Unavailable, "open", lost)),
        }
    }

    /// Several instances may start at once: an instance that meets another's lock on the tables tries again.
    async fn open_within_timeout(
        url: &str,
        given: Option<GivenPool>,
        options: OpenOptions,
        runtime: tokio::runtime::Handle,
    ) -> Result<Self, StoreError> {
        for _ in 0..Self::OPEN_TRIES {
            match Self::open_here(url, given.clone(), options.clone(), runtime.clone()).await {
                Err(error) if error.kind() == StoreErrorKind::Transient => {
                    options.timer.sleep(Self::OPEN_WAIT).await
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
        check_retentions(&options)?;
        let timeout = options.answer_within.unwrap_or(options.acquire_timeout);
        let reached = Reached::of(url, dialect, timeout, options.timer.clone()).await?;
        let (url, health) = (reached.url.as_str(), reached.health());
        let pools = reached.within(Pools::open(url, given.as_ref(), dialect, &settings, &health));
        let Pools { relay, callers } = pools.await?;
        let db = &relay.connections;
        let sql = Statements::of(dialect);
        let clock = ServerClock::new(options.frozen_clock.clone(), options.timer.clone());
        let (create, shards) = (options.create_schema, options.shards);
        let schema = Schema { db, sql, dialect, clock: &clock, create, shards };
        let shards = schema.prepare(&options.needed()).await?;
        let identity = Identity::of_opened(db, sql).await?;
        if let Some(given) = given {
            given.check(db, dialect, sql, identity, options.relay_connections, &options.timer).await?;
        }
        let packet = server::packet(db, dialect, sql).await?;
        let payload = packet.payload_limit().lowered_to(options.max_payload);
        let strategy = choose(db, dialect, sql, &options.timer, options.strategy).await?;
        refuse_order_without_owner(options.order, strategy)?;
        let limits = Limits { packet, payload, acquire_timeout: options.acquire_timeout };
        let failover = Failover::of(health.servers.clone());
        let telemetry = options.telemetry.clone();
        #[cfg(feature = "mysql")]
        let watch = reached.watch(&relay, &callers, &health, &runtime);
        let db = Database {
            relay,
            callers,
            dialect,
            identity,
            sql,
            clock,
            health,
            limits,
            telemetry,
            runtime,
            #[cfg(feature = "mysql")]
            _watch: watch,
        };
        let db = Arc::new(db);
        let enqueueing = Arc::new(Enqueueing { db: Arc::clone(&db), shards });
        let (needed, sweeps) = (options.needed(), sweeps(&options));
        #[cfg(feature = "steps")]
        let step_retention = options.step_retention;
        let OpenOptions { retention, strain_limit, lag, order, .. } = options;
        let sweeper = Sweeper::new(Arc::clone(&db), retention, strain_limit, lag);
        let state = OutboxState {
            transactions: CallerTransactions { db: Arc::clone(&db) },
            #[cfg(feature = "notifications")]
            notifications: Repositories::of(&enqueueing),
            #[cfg(feature = "steps")]
            step_retention,
            strategy,
            claims: build(strategy, &enqueueing, &failover, order),
            failover,
            sweeper: Arc::new(sweeper),
            needed,
            sweeps,
            counted: NewestCount::default(),
            enqueueing,
            db,
        };
        Ok(Self { state: Arc::new(state) })
    }
}

fn check_retentions(options: &OpenOptions) -> Result<(), StoreError> {
    #[cfg(feature = "steps")]
    StepRetention::check(options.step_retention).map_err(|e| misconfigured(e.to_string()))?;
    #[cfg(feature = "notifications")]
    options
        .in_app_retention
        .map_or(Ok(()), InAppEntry::check_retention)
        .map_err(|e| misconfigured(e.to_string()))?;
    Ok(())
}

/// What a sweep takes away besides what messages leave behind, in the order in which it goes: bodies before requests, requests before attempts.
fn sweeps(options: &OpenOptions) -> Vec<Part> {
    let mut parts = Vec::new();
    #[cfg(feature = "steps")]
    parts.extend([locks::sweep::part(), steps::sweep::part(options.step_retention)]);
    #[cfg(feature = "notifications")]
    parts.extend(notifications::sweep::parts(options.retention, options.in_app_retention));
    parts
}

pub(super) fn misconfigured(why: impl Into<String>) -> StoreError {
    StoreError::new(StoreErrorKind::Misconfigured, "open", why.into())
}

/// A runtime of the process's own, made once, for programs that run on another executor.
pub(super) fn own_or_current_runtime() -> Result<tokio::runtime::Handle, StoreError> {
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
