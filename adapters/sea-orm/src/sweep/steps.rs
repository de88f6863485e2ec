use claimstream_ports::StoreError;
use sea_orm::{ConnectionTrait, Value};

use crate::{
    database::{
        transaction::Transaction,
        typed_row::row,
        unit::{Row, rows},
    },
    sweep::{sweeper::Sweeper, swept::SWEEP},
};

impl Sweeper {
    /// Whether there is a run that might go by its age.
    pub(super) async fn has_old_steps(&self, bound: i64) -> Result<bool, StoreError> {
        let args = self.db.args().with("from", 0).with("bound", bound).with("limit", 1);
        let page =
            self.db.restarting(|| rows(self.db.relay(), SWEEP, self.db.sql.steps.page.bind(&args))).await?;
        Ok(!page.is_empty())
    }

    /// When the oldest message that is live or may be revived came into being.
    pub(super) async fn oldest_alive(&self) -> Result<Option<i64>, StoreError> {
        self.db
            .restarting(|| async {
                let snapshot = self.snapshot().await?;
                let oldest = self.oldest_in(&snapshot).await;
                self.db.roll_back(SWEEP, Transaction::of_pool(snapshot)).await?;
                oldest
            })
            .await
    }

    async fn oldest_in(&self, snapshot: &impl ConnectionTrait) -> Result<Option<i64>, StoreError> {
        let dead = rows(snapshot, SWEEP, self.db.sql.steps.dead.bind(&self.db.args())).await?;
        let mut oldest = dead.first().map(|row| row.maybe_int("created_at")).transpose()?.flatten();
        let look = |row: &Row| {
            oldest = [oldest, row.maybe_int("first_at")?].into_iter().flatten().min();
            Ok(())
        };
        self.each_live(snapshot, &self.db.sql.steps.live, look).await?;
        Ok(oldest)
    }

    /// Forgets the runs of some of the oldest steps: where to look next, and how many went; `None` if there is none.
    pub(super) async fn sweep_steps(
        &self,
        from: i64,
        bound: i64,
        most: u32,
    ) -> Result<Option<(i64, u64)>, StoreError> {
        let args = self.db.args().with("from", from).with("bound", bound).with("limit", i64::from(most));
        let page =
            self.db.restarting(|| rows(self.db.relay(), SWEEP, self.db.sql.steps.page.bind(&args))).await?;
        let page = page.iter().map(RunRow::read).collect::<Result<Vec<_>, _>>()?;
        let Some(last) = page.last().map(|row| row.changed) else { return Ok(None) };
        let mut runs: Vec<_> = page.into_iter().filter_map(|row| texts(row.scope, row.run)).collect();
        runs.sort_unstable();
        runs.dedup();
        let mut swept = 0;
        for of_scope in runs.chunk_by(|(scope, _), (next, _)| scope == next) {
            let names = of_scope.iter().map(|(_, run)| Value::from(run.as_str()));
            let args = self.db.args().with("scope", of_scope[0].0.as_str()).with("bound", bound);
            let args = args.with_list("runs", names);
            swept += self.delete(self.db.sql.steps.forget.bind(&args)).await?;
        }
        // More steps of the same moment may follow, unless none of these could go.
        Ok(Some((if swept > 0 { last } else { last + 1 }, swept)))
    }
}

/// A scope and a run as text; a program of another kind has written what is none, and it stays.
fn texts(scope: Vec<u8>, run: Vec<u8>) -> Option<(String, String)> {
    String::from_utf8(scope).ok().zip(String::from_utf8(run).ok())
}

/// The notes of sagas whose steps are gone.
impl Sweeper {
    /// Whether there is a saga that might go.
    pub(super) async fn has_old_sagas(&self, bound: i64) -> Result<bool, StoreError> {
        Ok(!self.old_sagas(&[], &[], bound, 1).await?.is_empty())
    }

    async fn old_sagas(
        &self,
        scope: &[u8],
        run: &[u8],
        bound: i64,
        most: u32,
    ) -> Result<Vec<SagaRow>, StoreError> {
        let args = self.db.args().with("scope", scope).with("run", run);
        let args = args.with("bound", bound).with("limit", i64::from(most));
        let sql = &self.db.sql.sweep.sagas;
        let page = self.db.restarting(|| rows(self.db.relay(), SWEEP, sql.bind(&args))).await?;
        page.iter().map(SagaRow::read).collect()
    }

    /// Forgets some notes that follow one of them: the last one and how many; `None` if there is none.
    pub(super) async fn sweep_sagas(
        &self,
        after: &(Vec<u8>, Vec<u8>),
        bound: i64,
        most: u32,
    ) -> Result<Option<((Vec<u8>, Vec<u8>), u64)>, StoreError> {
        let page = self.old_sagas(&after.0, &after.1, bound, most).await?;
        let Some(last) = page.last().map(|row| (row.scope.clone(), row.run.clone())) else { return Ok(None) };
        let sagas: Vec<_> = page.into_iter().filter_map(|row| texts(row.scope, row.run)).collect();
        let mut swept = 0;
        for of_scope in sagas.chunk_by(|(scope, _), (next, _)| scope == next) {
            let args = self.db.args().with("scope", of_scope[0].0.as_str()).with("bound", bound);
            let args = args.with_list("runs", of_scope.iter().map(|(_, run)| Value::from(run.as_str())));
            swept += self.delete(self.db.sql.sweep.sagas_delete.bind(&args)).await?;
        }
        Ok(Some((last, swept)))
    }
}

row! {
    struct SagaRow of "sweep/sagas" { scope: Vec<u8>, run: Vec<u8> }
}

row! {
    /// A run that has an old step, and when that was changed.
    struct RunRow of "steps/page" { scope: Vec<u8>, run: Vec<u8>, changed: i64 }
}
