use std::sync::Arc;

use async_trait::async_trait;
use claimstream_ports::{PurgeSteps, StoreError};
use sea_orm::Value;

use super::{SWEEP, round::Round};
use crate::{
    clock::micros,
    outbox::SeaOrmOutbox,
    unit::{Store, rows, run},
};

/// A [sweep](SeaOrmOutbox::sweep) does this as well.
#[async_trait]
impl PurgeSteps for SeaOrmOutbox {
    fn step_retention(&self) -> std::time::Duration {
        self.store.upkeep.step_retention
    }

    async fn purge_steps(&self) -> Result<u64, StoreError> {
        let store = Arc::clone(&self.store);
        let now = self.store.detached(SWEEP, async move { store.fresh_now().await }).await?;
        let bound = now.saturating_sub(micros(self.step_retention())).max(0);
        Round::of(&self.store).steps(bound).await
    }
}

impl Store {
    /// When the oldest message that is live or may be revived came into being.
    pub(super) async fn oldest_alive(&self) -> Result<Option<i64>, StoreError> {
        let found =
            self.restarting(|| rows(&self.db, SWEEP, self.sql.step_oldest.bind(&self.args()))).await?;
        let Some(row) = found.first() else { return Ok(None) };
        let told = row.maybe_bytes(1)?.and_then(|id| time_of(&id));
        Ok([row.maybe_int(0)?, told].into_iter().flatten().min())
    }

    /// Forgets the runs of some of the oldest steps; `None` if there is none.
    pub(super) async fn sweep_steps(
        &self,
        from: i64,
        bound: i64,
        most: u32,
    ) -> Result<Option<(i64, u64)>, StoreError> {
        let args = self.args().with("from", from).with("bound", bound).with("limit", i64::from(most));
        let page = self.restarting(|| rows(&self.db, SWEEP, self.sql.step_page.bind(&args))).await?;
        let Some(last) = page.last() else { return Ok(None) };
        let mut runs =
            page.iter().map(|row| Ok((row.text(0)?, row.text(1)?))).collect::<Result<Vec<_>, _>>()?;
        runs.sort_unstable();
        runs.dedup();
        let mut swept = 0;
        for of_scope in runs.chunk_by(|(scope, _), (next, _)| scope == next) {
            let names = of_scope.iter().map(|(_, run)| Value::from(run.as_str()));
            let args = self.args().with("scope", of_scope[0].0.as_str()).with("bound", bound);
            let args = args.with_list("runs", names);
            swept += self.restarting(|| run(&self.db, SWEEP, self.sql.step_forget.bind(&args))).await?;
        }
        Ok(Some((last.int(2)?, swept)))
    }
}

/// The moment that an id of version 7 begins with, in microseconds.
fn time_of(id: &[u8]) -> Option<i64> {
    let millis = id.get(..6)?.iter().fold(0_i64, |millis, byte| millis << 8 | i64::from(*byte));
    Some(millis * 1000)
}
