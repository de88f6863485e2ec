use std::{collections::BTreeSet, sync::Arc, time::Duration};

#[cfg(feature = "notifications")]
use claimstream_domain::notification::InAppEntry;
#[cfg(feature = "steps")]
use claimstream_domain::step::StepRetention;
use claimstream_domain::{LoadLimit, Retention, ShardCount};
use claimstream_ports::Telemetry;

use crate::{
    database::{
        capability::Capability,
        clock::FrozenClock,
        pool::{HardenedPool, LockWaits},
        pools::PoolSettings,
        store_timer::StoreTimer,
    },
    strategy::{
        choice::{Strategy, StrategyChoice},
        order::Order,
    },
    sweep::lag::LagGauge,
};

/// How an outbox is opened.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// How messages are claimed; `auto` by default.
    pub strategy: StrategyChoice,
    /// Whether messages of one ordering key follow each other; no order by default.
    pub order: Order,
    /// What the database is used for by this process, besides the outbox and what the strategy needs: all that this build has by default.
    ///
    /// Their tables have to be there, or are made.
    pub capabilities: BTreeSet<Capability>,
    /// Makes the tables if they are not there. Switch it off where the service may not create tables, and apply what
    /// [`schema`](crate::schema()) prints by other means.
    pub create_schema: bool,
    /// Into how many shards queues are cut when the tables are made; a database keeps that number until it is resharded.
    pub shards: ShardCount,
    /// The largest payload to take, in bytes, where that is less than what the server takes.
    pub max_payload: Option<usize>,
    /// The most connections that callers have at a time, in transactions begun here and by [`SeaOrmOutbox::connection`](crate::SeaOrmOutbox::connection), and
    /// for what they have the outbox enqueue or record; 10 by default, on a server at least 2.
    ///
    /// A handler that finds all of them in use waits for one, and its lease is renewed meanwhile. More handlers at once than
    /// this wait for each other, if each keeps a transaction open.
    pub max_connections: u32,
    /// The most connections besides that claims, renewals, settlements, locks, sweeps and the doctor have for themselves, so that
    /// no handler can take them; 6 by default, on a server at least 2.
    pub relay_connections: u32,
    /// How long to wait for a free connection, a day at most.
    pub acquire_timeout: Duration,
    /// How long a server may be silent when the outbox is opened before it is named as one that does not answer; as long as
    /// `acquire_timeout` by default. For programs that a person waits for.
    pub answer_within: Option<Duration>,
    /// How long what finished messages leave behind is kept; a day by default.
    pub retention: Retention,
    /// How long the steps of a run are kept after its last change; 30 days by default, and at least an hour.
    #[cfg(feature = "steps")]
    pub step_retention: Duration,
    /// How long entries of inboxes inside the application are kept, read or not; a year by default, and at least a day. `None` keeps them
    /// until they are erased.
    #[cfg(feature = "notifications")]
    pub in_app_retention: Option<Duration>,
    /// Under how much strain a sweep still goes on.
    pub strain_limit: LoadLimit,
    /// Where a sweep learns how far the replicas are behind, if anywhere.
    pub lag: Option<LagGauge>,
    /// What counts and times enqueueing, sweeps, waits for connections and restarted transactions; nothing by default. A relay has
    /// its own setting for what it does.
    pub telemetry: Option<Arc<dyn Telemetry>>,
    /// What the outbox and all its handles wait and measure by; tokio's clock by default. It is not the time of the database:
    /// that is its server's own, or `frozen_clock`.
    pub timer: StoreTimer,
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
            capabilities: Capability::ALL
                .iter()
                .copied()
                .filter(|one| *one != Capability::ShardLease)
                .collect(),
            create_schema: true,
            shards: ShardCount::default(),
            max_payload: None,
            max_connections: pool.max_connections,
            relay_connections: 6,
            acquire_timeout: pool.acquire_timeout,
            answer_within: None,
            retention: Retention::default(),
            #[cfg(feature = "steps")]
            step_retention: StepRetention::DEFAULT,
            #[cfg(feature = "notifications")]
            in_app_retention: Some(InAppEntry::RETENTION),
            strain_limit: LoadLimit::default(),
            lag: None,
            telemetry: None,
            timer: StoreTimer::default(),
            frozen_clock: None,
            runtime: None,
        }
    }
}

impl OpenOptions {
    /// The capabilities that an opening asks for.
    pub(super) fn needed(&self) -> BTreeSet<Capability> {
        let mut needed = self.capabilities.clone();
        needed.insert(Capability::Outbox);
        if self.strategy == StrategyChoice::Exactly(Strategy::ShardLease) {
            needed.insert(Capability::ShardLease);
        }
        needed
    }

    pub(super) fn pools(&self) -> PoolSettings {
        let leases_shards = self.strategy == StrategyChoice::Exactly(Strategy::ShardLease);
        PoolSettings {
            relay_connections: self.relay_connections,
            max_connections: self.max_connections,
            acquire_timeout: self.acquire_timeout,
            answer_within: self.answer_within,
            frozen_clock: self.frozen_clock.clone(),
            lock_waits: if leases_shards { LockWaits::Short } else { LockWaits::OfSession },
        }
    }
}
