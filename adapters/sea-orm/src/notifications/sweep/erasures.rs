use std::sync::Arc;

use claimstream_domain::Retention;
use claimstream_ports::StoreError;

use crate::{
    database::{clock::micros, unit::rows},
    sweep::{round::Round, sweeper::Sweeper, swept::SWEEP},
};

impl Round {
    /// Erasures before the bound that no request is left from before, and no message that is live or may be revived, the oldest first: the
    /// record of such a message may be lost, and its request may be gone.
    pub(super) async fn erasures(&mut self, bound: i64) -> Result<(), StoreError> {
        if !self.unit(move |sweeper| async move { sweeper.has_old_erasures(bound).await }).await? {
            return Ok(());
        }
        let alive = self.unit(|sweeper| async move { sweeper.oldest_alive().await }).await?;
        let bound =
            alive.any.map_or(bound, |alive| bound.min(alive.saturating_sub(micros(Retention::SHORTEST))));
        let chunk =
            move |sweeper: Arc<Sweeper>, most| async move { sweeper.sweep_erasures(bound, most).await };
        while self.chunk(chunk).await? > 0 {}
        Ok(())
    }
}

impl Sweeper {
    async fn has_old_erasures(&self, bound: i64) -> Result<bool, StoreError> {
        let args = self.db.args().with("bound", bound);
        let look = || rows(self.db.relay(), SWEEP, self.db.sql.erasures.oldest.bind(&args));
        Ok(!self.db.restarting(look).await?.is_empty())
    }

    /// Forgets some of the oldest erasures, and says how many.
    async fn sweep_erasures(&self, bound: i64, most: u32) -> Result<u64, StoreError> {
        let args = self.db.args().with("bound", bound).with("limit", i64::from(most));
        self.delete(self.db.sql.erasures.forget_older.bind(&args)).await
    }
}
