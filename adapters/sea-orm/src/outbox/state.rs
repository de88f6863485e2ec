#[cfg(feature = "steps")]
use std::time::Duration;
use std::{collections::BTreeSet, sync::Arc};

#[cfg(feature = "notifications")]
use crate::notifications::repositories::Repositories;
use crate::{
    caller_transactions::begun::CallerTransactions,
    database::{Database, capability::Capability},
    enqueue::rows::Enqueueing,
    failover::Failover,
    queues::newest_count::NewestCount,
    strategy::{choice::Strategy, claim_strategy::ClaimStrategy},
    sweep::{part::Part, sweeper::Sweeper},
};

/// What all handles of one outbox share.
pub(crate) struct OutboxState {
    pub(crate) db: Arc<Database>,
    pub(crate) transactions: CallerTransactions,
    pub(crate) enqueueing: Arc<Enqueueing>,
    #[cfg(feature = "notifications")]
    pub(crate) notifications: Repositories,
    #[cfg(feature = "steps")]
    pub(crate) step_retention: Duration,
    /// The strategy by its name.
    pub(crate) strategy: Strategy,
    pub(crate) claims: Arc<dyn ClaimStrategy>,
    pub(crate) failover: Failover,
    pub(crate) sweeper: Arc<Sweeper>,
    /// What this process uses the database for.
    pub(crate) needed: BTreeSet<Capability>,
    /// What a sweep takes away besides what messages leave behind.
    pub(crate) sweeps: Vec<Part>,
    /// How the queues stood when they were last counted.
    pub(crate) counted: NewestCount,
}
