use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use claimstream_domain::notification::{DeliveryStatus, SegmentPlace};
use claimstream_memory::MemoryDirectory;
use claimstream_ports::{
    StoreError,
    notification::{
        AttemptLog, Cancelled, DeliveryAttempt, DeliveryState, FanOutStep, FoundUsers, MessageOutcome,
        MessageRepository, MissingRecord, RecipientDirectory, RequestRead, RequestRepository, SegmentPage,
        StepNoted,
    },
};
use uuid::Uuid;

use super::asked::directory;
use crate::{
    sabotage::Sabotage,
    sim::Sim,
    store::{FaultyStore, call},
};

/// Requests, the records of their messages and the log of attempts over a network that fails.
pub(super) struct FaultyRecords(pub(super) FaultyStore);

/// Makes a call of a port with what it borrows.
macro_rules! over_the_network {
    ($this:ident, $port:ident :: $method:ident, $name:literal, $argument:expr) => {{
        let (store, argument) = ($this.0.store.clone(), $argument);
        call(&$this.0.sim, $name, async move { $port::$method(&store, &argument).await })
    }};
}

#[async_trait]
impl RequestRepository for FaultyRecords {
    async fn read(&self, ids: &[Uuid]) -> Result<Vec<Option<RequestRead>>, StoreError> {
        over_the_network!(self, RequestRepository::read, "read requests", ids.to_vec()).await
    }

    async fn note_steps(&self, steps: &[FanOutStep]) -> Result<Vec<StepNoted>, StoreError> {
        let noted =
            over_the_network!(self, RequestRepository::note_steps, "note steps", steps.to_vec()).await;
        self.0.sim.trace(|| {
            let ends: Vec<_> = steps.iter().map(|step| (step.request.as_u64_pair().1, &step.end)).collect();
            format!("steps of requests {ends:?}: {noted:?}")
        });
        noted
    }

    async fn cancel(&self, id: Uuid) -> Result<Cancelled, StoreError> {
        self.0.store.cancel(id).await
    }
}

#[async_trait]
impl MessageRepository for FaultyRecords {
    async fn status(&self, ids: &[Uuid]) -> Result<Vec<Option<DeliveryStatus>>, StoreError> {
        over_the_network!(self, MessageRepository::status, "status", ids.to_vec()).await
    }

    async fn delivery_states(&self, ids: &[Uuid]) -> Result<Vec<DeliveryState>, StoreError> {
        let read = over_the_network!(self, MessageRepository::delivery_states, "states", ids.to_vec());
        let mut all = read.await?;
        for state in &mut all {
            if self.0.sim.has(Sabotage::ForgetsCancellations) {
                state.status = state.status.map(|status| match status {
                    DeliveryStatus::Cancelled => DeliveryStatus::Pending,
                    status => status,
                });
            }
            if self.0.sim.has(Sabotage::ForgetsDoubts) {
                state.in_doubt.clear();
            }
        }
        Ok(all)
    }

    async fn since_1970(&self) -> Result<Duration, StoreError> {
        let store = self.0.store.clone();
        call(&self.0.sim, "since 1970", async move { store.since_1970().await }).await
    }

    async fn conclude(&self, outcomes: &[MessageOutcome]) -> Result<(), StoreError> {
        self.0.sim.trace(|| {
            let all: Vec<_> = outcomes.iter().map(|one| (one.id, one.status, &one.reason)).collect();
            format!("outcomes {all:?}")
        });
        if self.0.sim.has(Sabotage::ForgetsOutcomes) {
            return Ok(());
        }
        over_the_network!(self, MessageRepository::conclude, "conclude", outcomes.to_vec()).await
    }

    async fn restore(&self, missing: &[MissingRecord]) -> Result<Vec<Option<DeliveryStatus>>, StoreError> {
        self.0.sim.fail("a record is missing");
        self.0.store.restore(missing).await
    }

    async fn reopen(&self, id: Uuid) -> Result<Option<DeliveryStatus>, StoreError> {
        let store = self.0.store.clone();
        call(&self.0.sim, "reopen", async move { store.reopen(id).await }).await
    }
}

#[async_trait]
impl AttemptLog for FaultyRecords {
    async fn note(&self, attempts: &[DeliveryAttempt]) -> Result<(), StoreError> {
        over_the_network!(self, AttemptLog::note, "note attempts", attempts.to_vec()).await
    }

    async fn attempts(&self, messages: &[Uuid]) -> Result<Vec<DeliveryAttempt>, StoreError> {
        self.0.store.attempts(messages).await
    }
}

/// A directory over a network that fails.
pub(super) struct FaultyDirectory {
    sim: Sim,
    directory: Arc<MemoryDirectory>,
}

impl FaultyDirectory {
    pub(super) fn new(sim: &Sim) -> Self {
        Self { sim: sim.clone(), directory: Arc::new(directory()) }
    }
}

#[async_trait]
impl RecipientDirectory for FaultyDirectory {
    async fn users(&self, ids: &[String]) -> Result<FoundUsers, StoreError> {
        let (directory, ids) = (Arc::clone(&self.directory), ids.to_vec());
        call(&self.sim, "users", async move { directory.users(&ids).await }).await
    }

    async fn members(
        &self,
        segment: &str,
        from: &SegmentPlace,
        limit: u32,
    ) -> Result<Option<SegmentPage>, StoreError> {
        let (directory, segment, from) = (Arc::clone(&self.directory), segment.to_owned(), from.clone());
        call(&self.sim, "members", async move { directory.members(&segment, &from, limit).await }).await
    }
}
