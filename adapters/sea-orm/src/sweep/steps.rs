use std::sync::Arc;

use async_trait::async_trait;
use claimstream_ports::{StoreError, step::PurgeSteps};
use sea_orm::{ConnectionTrait, Value};

use super::{SWEEP, round::Round};
use crate::{
    database::typed_row::row,
    database::{
        clock::micros,
        transaction::Transaction,
        unit::{Row, rows, run},
    },
    outbox::handle::SeaOrmOutbox,
    store::Store,
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
    /// Whether there is a run that might go by its age.
    pub(super) async fn has_old_steps(&self, bound: i64) -> Result<bool, StoreError> {
        let args = self.args().with("from", 0).with("bound", bound).with("limit", 1);
        let page = self.restarting(|| rows(self.relay(), SWEEP, self.sql.steps.page.bind(&args))).await?;
        Ok(!page.is_empty())
    }

    /// When the oldest message that is live or may be revived came into being.
    pub(super) async fn oldest_alive(&self) -> Result<Option<i64>, StoreError> {
        self.restarting(|| async {
            let snapshot = self.snapshot().await?;
            let oldest = self.oldest_in(&snapshot).await;
            self.roll_back(SWEEP, Transaction::of_pool(snapshot)).await?;
            oldest
        })
        .await
    }

    async fn oldest_in(&self, snapshot: &impl ConnectionTrait) -> Result<Option<i64>, StoreError> {
        let dead = rows(snapshot, SWEEP, self.sql.steps.dead.bind(&self.args())).await?;
        let mut oldest = dead.first().map(|row| row.maybe_int("created_at")).transpose()?.flatten();
        let look = |row: &Row| {
            oldest = [oldest, row.maybe_int("first_at")?].into_iter().flatten().min();
            Ok(())
        };
        self.each_live(snapshot, &self.sql.steps.live, look).await?;
        Ok(oldest)
    }

    /// Forgets the runs of some of the oldest steps; `None` if there is none.
    pub(super) async fn sweep_steps(
        &self,
        from: i64,
        bound: i64,
        most: u32,
    ) -> Result<Option<(i64, u64)>, StoreError> {
        let args = self.args().with("from", from).with("bound", bound).with("limit", i64::from(most));
        let page = self.restarting(|| rows(self.relay(), SWEEP, self.sql.steps.page.bind(&args))).await?;
        let page = page.iter().map(RunRow::read).collect::<Result<Vec<_>, _>>()?;
        let Some(last) = page.last().map(|row| row.changed) else { return Ok(None) };
        let mut runs: Vec<_> = page.into_iter().map(|RunRow { scope, run, .. }| (scope, run)).collect();
        runs.sort_unstable();
        runs.dedup();
        let mut swept = 0;
        for of_scope in runs.chunk_by(|(scope, _), (next, _)| scope == next) {
            let names = of_scope.iter().map(|(_, run)| Value::from(run.as_str()));
            let args = self.args().with("scope", of_scope[0].0.as_str()).with("bound", bound);
            let args = args.with_list("runs", names);
            swept += self.restarting(|| run(self.relay(), SWEEP, self.sql.steps.forget.bind(&args))).await?;
        }
        Ok(Some((last, swept)))
    }
}

row! {
    /// A run that has an old step, and when that was changed.
    struct RunRow of "steps/page" { scope: String, run: String, changed: i64 }
}
