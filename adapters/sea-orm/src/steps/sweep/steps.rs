use std::sync::Arc;

use claimstream_domain::Retention;
use claimstream_ports::StoreError;
use sea_orm::Value;

use crate::{
    database::{clock::micros, typed_row::row, unit::rows},
    sweep::{round::Round, sweeper::Sweeper, swept::SWEEP},
};

impl Round {
    /// Steps that were last changed before the bound, and before the oldest message that may still come for one of them;
    /// runs go whole. A dead tick of a timer comes for steps of timers alone.
    ///
    /// The notes of sagas are shortened when no step of theirs is left.
    pub(crate) async fn steps(&mut self, bound: i64) -> Result<(u64, u64), StoreError> {
        let have_old = self.unit(move |sweeper| async move {
            Ok(sweeper.has_old_steps(bound).await? || sweeper.has_old_sagas(bound).await?)
        });
        if !have_old.await? {
            return Ok((0, 0));
        }
        let alive = self.unit(|sweeper| async move { sweeper.oldest_alive().await }).await?;
        let before = |alive: Option<i64>| {
            alive.map_or(bound, |alive| bound.min(alive.saturating_sub(micros(Retention::SHORTEST))))
        };
        let (of_timers, of_others) = (before(alive.any), before(alive.but_ticks));
        let swept = self.steps_of(true, of_timers).await? + self.steps_of(false, of_others).await?;
        Ok((swept, self.sagas(of_others).await?))
    }

    async fn steps_of(&mut self, timers: bool, bound: i64) -> Result<u64, StoreError> {
        let (mut from, mut swept) = (0, 0);
        loop {
            let chunk = move |sweeper: Arc<Sweeper>, most| async move {
                sweeper.sweep_steps(timers, from, bound, most).await
            };
            let Some((next, deleted)) = self.chunk(chunk).await? else { return Ok(swept) };
            (from, swept) = (next, swept + deleted);
        }
    }
}

impl Sweeper {
    /// Whether there is a run that might go by its age.
    pub(super) async fn has_old_steps(&self, bound: i64) -> Result<bool, StoreError> {
        for of_timers in [false, true] {
            if !self.old_steps(of_timers, 0, bound, 1).await?.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn old_steps(
        &self,
        of_timers: bool,
        from: i64,
        bound: i64,
        most: u32,
    ) -> Result<Vec<RunRow>, StoreError> {
        let args = self.db.args().with("from", from).with("bound", bound).with("limit", i64::from(most));
        let args = args.with("of_timers", i64::from(of_timers));
        let page =
            self.db.restarting(|| rows(self.db.relay(), SWEEP, self.db.sql.steps.page.bind(&args))).await?;
        page.iter().map(RunRow::read).collect()
    }

    /// Forgets the runs of some of the oldest steps: where to look next, and how many went; `None` if there is none.
    pub(super) async fn sweep_steps(
        &self,
        of_timers: bool,
        from: i64,
        bound: i64,
        most: u32,
    ) -> Result<Option<(i64, u64)>, StoreError> {
        let page = self.old_steps(of_timers, from, bound, most).await?;
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
pub(super) fn texts(scope: Vec<u8>, run: Vec<u8>) -> Option<(String, String)> {
    String::from_utf8(scope).ok().zip(String::from_utf8(run).ok())
}

row! {
    /// A run that has an old step, and when that was changed.
    struct RunRow of "steps/page" { scope: Vec<u8>, run: Vec<u8>, changed: i64 }
}
