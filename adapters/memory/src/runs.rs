use async_trait::async_trait;
use claimstream_domain::{
    step::{RunFilter, RunKind, RunPage, RunPlace, StepListed},
    timer_event::{TimerPage, TimerPlace},
};
use claimstream_ports::{
    StoreError,
    step::{ListRuns, ListTimers},
};

use crate::store::MemoryStore;

#[async_trait]
impl ListRuns for MemoryStore {
    async fn runs(
        &self,
        filter: &RunFilter,
        after: Option<RunPlace>,
        limit: u32,
    ) -> Result<RunPage, StoreError> {
        let mut runs = self.database.tables().steps.runs(filter, self.database.now());
        runs.retain(|(place, _)| after.as_ref().is_none_or(|after| place > after));
        let is_last = runs.len() <= limit as usize;
        runs.truncate(limit as usize);
        let next = if is_last { None } else { runs.last().map(|(place, _)| place.clone()).or(after) };
        Ok(RunPage { runs: runs.into_iter().map(|(_, run)| run).collect(), next })
    }

    async fn steps(&self, scope: &str, run: &str, limit: u32) -> Result<Vec<StepListed>, StoreError> {
        let Some(kind) = RunKind::of_scope(scope) else { return Ok(Vec::new()) };
        let mut steps = self.database.tables().steps.of_run(kind, scope, run, self.database.now());
        steps.truncate(limit as usize);
        Ok(steps)
    }
}

#[async_trait]
impl ListTimers for MemoryStore {
    async fn timers(&self, after: Option<TimerPlace>, limit: u32) -> Result<TimerPage, StoreError> {
        let mut timers = self.database.tables().outbox.timers();
        timers.retain(|timer| after.as_ref().is_none_or(|after| TimerPlace::behind(timer) > *after));
        let is_last = timers.len() <= limit as usize;
        timers.truncate(limit as usize);
        let next = if is_last { None } else { timers.last().map(TimerPlace::behind).or(after) };
        Ok(TimerPage { timers, next })
    }
}
