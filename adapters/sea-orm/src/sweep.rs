use std::{collections::HashSet, time::Duration};

use claimstream_ports::{StoreError, StoreErrorKind};
use sea_orm::Value;
use uuid::Uuid;

use crate::{
    args::bytes,
    clock::micros,
    outbox::SeaOrmOutbox,
    unit::{Store, rows, run},
};

const SWEEP: &str = "sweep";

/// How many bodies one statement deletes.
const CHUNK: i64 = 500;

/// What a sweep has taken away.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Swept {
    /// Bodies of finished messages.
    pub bodies: u64,
    /// Dedup keys.
    pub dedup_keys: u64,
}

impl SeaOrmOutbox {
    /// The shortest time that finished messages are kept for: longer than any transaction that enqueues may last.
    pub const SHORTEST_KEEP: Duration = Duration::from_secs(3600);

    /// Deletes the bodies of messages that were finished, and forgets the dedup keys that were taken, longer than `keep`
    /// ago.
    ///
    /// Settling a message deletes its queue entry only, because deleting the body with it would cost a quarter of the
    /// throughput; the body is left for this. Bodies go by primary key in small chunks.
    pub async fn sweep(&self, keep: Duration) -> Result<Swept, StoreError> {
        if keep < Self::SHORTEST_KEEP {
            let why = format!("keep = {keep:?} is too short; use {:?} or longer", Self::SHORTEST_KEEP);
            return Err(StoreError::new(StoreErrorKind::Unsupported, SWEEP, why));
        }
        let store = self.store.clone();
        self.store.detached(SWEEP, async move { store.sweep(keep).await }).await
    }
}

impl Store {
    async fn sweep(&self, keep: Duration) -> Result<Swept, StoreError> {
        let bodies = self.sweep_bodies(keep).await?;
        let dedup_keys = self.sweep_dedup_keys(keep).await?;
        tracing::info!(bodies, dedup_keys, "swept");
        Ok(Swept { bodies, dedup_keys })
    }

    async fn sweep_bodies(&self, keep: Duration) -> Result<u64, StoreError> {
        let horizon = Uuid::max();
        let args = self.args().with("horizon", bytes(horizon));
        let live = rows(&self.db, SWEEP, self.sql.sweep_live.bind(&args)).await?;
        let live = live.iter().map(|row| row.uuid(0)).collect::<Result<HashSet<_>, _>>()?;
        let (mut after, mut swept) = (Uuid::nil(), 0);
        loop {
            let args = self
                .args()
                .with("after", bytes(after))
                .with("horizon", bytes(horizon))
                .with("keep", micros(keep))
                .with("limit", CHUNK);
            let page = rows(&self.db, SWEEP, self.sql.sweep_page.bind(&args)).await?;
            let page = page.iter().map(|row| row.uuid(0)).collect::<Result<Vec<_>, _>>()?;
            let Some(last) = page.last() else { return Ok(swept) };
            after = *last;
            let done: Vec<Value> = page.into_iter().filter(|id| !live.contains(id)).map(bytes).collect();
            if !done.is_empty() {
                let args = self.args().with_list("ids", done).with("keep", micros(keep));
                swept += self.restarting(|| run(&self.db, SWEEP, self.sql.sweep_delete.bind(&args))).await?;
            }
        }
    }

    async fn sweep_dedup_keys(&self, keep: Duration) -> Result<u64, StoreError> {
        let mut swept = 0;
        loop {
            let args = self.args().with("keep", micros(keep)).with("limit", CHUNK);
            let forgotten =
                self.restarting(|| run(&self.db, SWEEP, self.sql.sweep_dedup.bind(&args))).await?;
            swept += forgotten;
            if forgotten < CHUNK as u64 {
                return Ok(swept);
            }
        }
    }
}
