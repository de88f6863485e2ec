use std::{
    ops::Deref,
    sync::{Arc, Mutex},
};

use claimstream_domain::{ClaimId, ShardCount};
use claimstream_ports::notification::MessageOutcome;
use sea_orm::Value;

use crate::{
    claim::{announcements::Introductions, known_shards::Lanes, weights::Weights},
    database::{Database, coalescer::WriteCoalescer, identity::Identity},
    failover::Failover,
    settle::open_claims::Takings,
    strategy::{
        choice::Strategy,
        order::Order,
        shard_lease::{Ahead, Holds, Lone},
    },
    sweep::Upkeep,
};

/// What the rooms share until each has its own state.
pub(crate) struct Store {
    pub(crate) database: Arc<Database>,
    pub(crate) strategy: Strategy,
    pub(crate) order: Order,
    /// Who holds leases: this outbox, as long as it is open.
    pub(crate) holder: Value,
    pub(crate) holds: Holds,
    pub(crate) lone: Lone,
    pub(crate) ahead: Ahead,
    pub(crate) shards: ShardCount,
    pub(crate) identity: Identity,
    pub(crate) failover: Failover,
    pub(crate) lanes: Lanes,
    pub(crate) introductions: Introductions,
    pub(crate) last_lease: Mutex<Option<(ClaimId, i64)>>,
    pub(crate) takings: Takings,
    pub(crate) weights: Weights,
    pub(crate) outcomes: Arc<WriteCoalescer<MessageOutcome>>,
    pub(crate) upkeep: Upkeep,
}

impl Deref for Store {
    type Target = Database;

    fn deref(&self) -> &Database {
        &self.database
    }
}
