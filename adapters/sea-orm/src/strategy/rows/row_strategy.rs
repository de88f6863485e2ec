use std::sync::{Arc, Mutex};

use claimstream_domain::ClaimId;

use crate::{
    database::Database,
    enqueue::rows::Enqueueing,
    failover::Failover,
    strategy::{
        rows::{announcements::Announcements, marking::Marking, open_claims::OpenClaims, weights::Weights},
        shared::known_shards::KnownShards,
    },
};

/// The state of a strategy whose claims are rows of the queue.
pub(crate) struct RowStrategy {
    pub(super) db: Arc<Database>,
    pub(super) enqueueing: Arc<Enqueueing>,
    pub(super) failover: Failover,
    pub(super) marking: Marking,
    pub(super) known: KnownShards,
    pub(super) weights: Weights,
    pub(super) announcements: Announcements,
    /// The newest claim, and the end of its lease.
    pub(super) last_lease: Mutex<Option<(ClaimId, i64)>>,
    pub(super) open: OpenClaims,
}

impl RowStrategy {
    pub(crate) fn of(enqueueing: Arc<Enqueueing>, failover: Failover, marking: Marking) -> Self {
        Self {
            db: Arc::clone(&enqueueing.db),
            known: KnownShards::new(enqueueing.shards),
            enqueueing,
            failover,
            marking,
            weights: Weights::default(),
            announcements: Announcements::default(),
            last_lease: Mutex::default(),
            open: OpenClaims::default(),
        }
    }
}
