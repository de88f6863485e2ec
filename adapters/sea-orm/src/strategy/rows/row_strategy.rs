use std::sync::{Arc, Mutex};

use claimstream_domain::{ClaimId, ShardCount};

use crate::{
    database::Database,
    strategy::{
        rows::{announcements::Announcements, settle::RowSettlement, weights::Weights},
        shared::known_shards::KnownShards,
    },
};

/// Claims that are rows of the queue.
pub(crate) struct RowClaims {
    pub(crate) db: Arc<Database>,
    pub(crate) settlement: Arc<RowSettlement>,
    pub(crate) known: KnownShards,
    pub(crate) weights: Weights,
    pub(crate) announcements: Announcements,
    /// The newest claim, and the end of its lease.
    pub(crate) last_lease: Mutex<Option<(ClaimId, i64)>>,
}

impl RowClaims {
    pub(crate) fn of(db: Arc<Database>, settlement: Arc<RowSettlement>, shards: ShardCount) -> Self {
        Self {
            db,
            settlement,
            known: KnownShards::new(shards),
            weights: Weights::default(),
            announcements: Announcements::default(),
            last_lease: Mutex::default(),
        }
    }
}
