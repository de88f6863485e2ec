use async_trait::async_trait;
use claimstream_domain::{
    step::{RunFilter, RunPage, RunPlace, StepListed},
    timer_event::{TimerPage, TimerPlace},
};
use claimstream_ports::{
    StoreError,
    step::{ListRuns, ListTimers},
};

use crate::{
    outbox::handle::SeaOrmOutbox,
    steps::{runs, timers},
};

const RUNS: &str = "runs";
const TIMERS: &str = "timers";

#[async_trait]
impl ListRuns for SeaOrmOutbox {
    async fn runs(
        &self,
        filter: &RunFilter,
        after: Option<RunPlace>,
        limit: u32,
    ) -> Result<RunPage, StoreError> {
        let filter = filter.clone();
        self.detached(RUNS, move |state| async move { runs::runs(&state.db, &filter, after, limit).await })
            .await
    }

    async fn steps(&self, scope: &str, run: &str, limit: u32) -> Result<Vec<StepListed>, StoreError> {
        let (scope, run) = (scope.to_owned(), run.to_owned());
        self.detached(RUNS, move |state| async move { runs::steps(&state.db, &scope, &run, limit).await })
            .await
    }
}

#[async_trait]
impl ListTimers for SeaOrmOutbox {
    async fn timers(&self, after: Option<TimerPlace>, limit: u32) -> Result<TimerPage, StoreError> {
        self.detached(TIMERS, move |state| async move { timers::timers(&state.db, after, limit).await }).await
    }
}
