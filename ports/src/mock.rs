//! A mockall mock of every port, and a timer that tests turn by hand: [`HandTimer`].
//!
//! Mocks answer what a test scripts and never wait. Ports with a transaction are mocked for any type of transaction, which is
//! inferred, or named as in `MockEnqueue::<MyTransaction>::new()`.
#![allow(missing_docs, reason = "generated code")]

mod brokers;
mod hand_timer;
mod notification;

use std::time::Duration;

use async_trait::async_trait;
use claimstream_domain::{
    AuditEntry, AuditListed, ClaimRequest, Claimed, DeadLetter, DeadLetterFilter, DeadLetterGroups,
    DeadLetterPage, DeadLetterPlace, DedupKey, DedupKeyTaken, Due, Enqueued, FindingGroup, InstanceId,
    InstanceListed, Lease, LeaseListed, LeaseRelease, LeaseShown, LockListed, MessageCarried, MessageId,
    MessageKept, MessageStanding, NewMessage, PauseNote, PausedQueue, QueueName, QueueStatus, Receipt,
    Renewed, Settled, Settlement, Shard, Verdict,
    saga::{NewSaga, SagaContinued, SagaId, SagaRecord},
    step::{Begun, NewStep, RunFilter, RunPage, RunPlace, Step, StepChange, StepKey, StepListed},
    tcc::BranchCall,
    timer_event::{TimerPage, TimerPlace},
};

use crate::{
    saga::{ContinueSagas, NoteSagas, SagaReports},
    step::{ListRuns, ListTimers, LockWait, Locked, PurgeSteps, StepLedger},
    tcc::{Participant, ParticipantError},
    *,
};

pub use self::{brokers::*, hand_timer::HandTimer, notification::*};

mockall::mock! {
    pub LockingStrategy {}
    #[async_trait]
    impl LockingStrategy for LockingStrategy {
        async fn claim(&self, request: &ClaimRequest) -> Result<Vec<Claimed>, StoreError>;
    }
}

mockall::mock! {
    pub Settlements {}
    #[async_trait]
    impl Settlements for Settlements {
        async fn settle(&self, settlements: &[Settlement]) -> Result<Vec<Settled>, StoreError>;
        async fn renew(&self, receipts: &[Receipt], lease: Lease) -> Result<Vec<Renewed>, StoreError>;
    }
}

mockall::mock! {
    pub Enqueue<Tx: Send + Sync + 'static> {}
    #[async_trait]
    impl<Tx: Send + Sync + 'static> Enqueue<Tx> for Enqueue<Tx> {
        async fn enqueue(&self, tx: &Tx, messages: &[NewMessage]) -> Result<Vec<Enqueued>, StoreError>;
    }
}

mockall::mock! {
    pub Participant {}
    #[async_trait]
    impl Participant for Participant {
        async fn carry_out(&self, call: &BranchCall) -> Result<(), ParticipantError>;
    }
}

mockall::mock! {
    pub DeadLetters {}
    #[async_trait]
    impl DeadLetters for DeadLetters {
        async fn list(&self, filter: &DeadLetterFilter, limit: u32) -> Result<Vec<DeadLetter>, StoreError>;
        async fn page(
            &self,
            filter: &DeadLetterFilter,
            after: Option<DeadLetterPlace>,
            limit: u32,
        ) -> Result<DeadLetterPage, StoreError>;
        async fn count(&self, filter: &DeadLetterFilter, most: u64) -> Result<u64, StoreError>;
        async fn groups(&self, filter: &DeadLetterFilter, most: u32) -> Result<DeadLetterGroups, StoreError>;
        async fn revive(&self, filter: &DeadLetterFilter) -> Result<u64, StoreError>;
        async fn purge(&self, filter: &DeadLetterFilter) -> Result<u64, StoreError>;
    }
}

mockall::mock! {
    pub FindMessages {}
    #[async_trait]
    impl FindMessages for FindMessages {
        async fn find(&self, ids: &[MessageId]) -> Result<Vec<Option<MessageStanding>>, StoreError>;
    }
}

mockall::mock! {
    pub ListInstances {}
    #[async_trait]
    impl ListInstances for ListInstances {
        async fn instances(
            &self,
            after: Option<InstanceId>,
            limit: u32,
        ) -> Result<Vec<InstanceListed>, StoreError>;
        async fn leases(
            &self,
            after: Option<(QueueName, Shard)>,
            limit: u32,
        ) -> Result<Vec<LeaseListed>, StoreError>;
        async fn leases_of(&self, queue: &QueueName) -> Result<Vec<LeaseListed>, StoreError>;
    }
}

mockall::mock! {
    pub ReleaseLeases {}
    #[async_trait]
    impl ReleaseLeases for ReleaseLeases {
        async fn lease(&self, queue: &QueueName, shard: Shard) -> Result<Option<LeaseShown>, StoreError>;
        async fn release_lease(
            &self,
            queue: &QueueName,
            shard: Shard,
            fence: i64,
            by: &str,
        ) -> Result<LeaseRelease, StoreError>;
    }
}

mockall::mock! {
    pub ListLocks {}
    #[async_trait]
    impl ListLocks for ListLocks {
        async fn locks(&self, after: Option<String>, limit: u32) -> Result<Vec<LockListed>, StoreError>;
    }
}

mockall::mock! {
    pub Observe {}
    #[async_trait]
    impl Observe for Observe {
        async fn observe(&self) -> Result<Vec<QueueStatus>, StoreError>;
    }
}

mockall::mock! {
    pub AuditLog {}
    #[async_trait]
    impl AuditLog for AuditLog {
        async fn note_action(&self, entry: &AuditEntry) -> Result<(), StoreError>;
        async fn entries(&self, after: Option<u64>, limit: u32) -> Result<Vec<AuditListed>, StoreError>;
    }
}

mockall::mock! {
    pub SelfCheck {}
    #[async_trait]
    impl SelfCheck for SelfCheck {
        async fn check(&self) -> Result<Vec<FindingGroup>, StoreError>;
    }
}

mockall::mock! {
    pub ReadMessages {}
    #[async_trait]
    impl ReadMessages for ReadMessages {
        async fn kept(&self, id: MessageId) -> Result<Option<MessageKept>, StoreError>;
        async fn carried(&self, id: MessageId) -> Result<Option<MessageCarried>, StoreError>;
        async fn keyed(&self, queue: &QueueName, key: &DedupKey) -> Result<Option<DedupKeyTaken>, StoreError>;
    }
}

mockall::mock! {
    pub PauseQueues {}
    #[async_trait]
    impl PauseQueues for PauseQueues {
        async fn pause(&self, queue: &QueueName, note: &PauseNote) -> Result<bool, StoreError>;
        async fn resume(&self, queue: &QueueName, by: &str) -> Result<bool, StoreError>;
        async fn paused(&self) -> Result<Vec<PausedQueue>, StoreError>;
    }
}

mockall::mock! {
    pub Timer {
        pub fn now(&self) -> Duration;
        pub fn sleep(&self, duration: Duration) -> Sleep<'static>;
    }
}

impl Timer for MockTimer {
    fn now(&self) -> Duration {
        Self::now(self)
    }

    fn sleep(&self, duration: Duration) -> Sleep<'_> {
        Self::sleep(self, duration)
    }
}

mockall::mock! {
    pub ServerClock {}
    #[async_trait]
    impl ServerClock for ServerClock {
        async fn late(&self, due: Due) -> Result<Duration, StoreError>;
    }
}

mockall::mock! {
    pub Wakeup {}
    #[async_trait]
    impl Wakeup for Wakeup {
        async fn wait(&self, queue: &QueueName);
        async fn wake(&self, queue: &QueueName) -> Result<(), StoreError>;
    }
}

mockall::mock! {
    pub Handler {}
    #[async_trait]
    impl Handler for Handler {
        async fn handle(&self, claimed: &Claimed) -> Verdict;
    }
}

mockall::mock! {
    pub BatchHandler {
        pub fn handle_batch(&self, batch: &[Claimed], verdicts: &dyn Verdicts);
    }
}

// Mockall and `async_trait` disagree about the lifetime of the second argument.
#[async_trait]
impl BatchHandler for MockBatchHandler {
    async fn handle_batch(&self, batch: &[Claimed], verdicts: &dyn Verdicts) {
        Self::handle_batch(self, batch, verdicts);
    }
}

mockall::mock! {
    pub Verdicts {}
    impl Verdicts for Verdicts {
        fn give(&self, index: usize, verdict: Verdict);
    }
}

mockall::mock! {
    pub DistributedLock {}
    #[async_trait]
    impl DistributedLock for DistributedLock {
        async fn try_acquire(&self, key: &str, lease: Lease) -> Result<Option<LockGuard>, StoreError>;
        async fn renew(&self, guard: &LockGuard, lease: Lease) -> Result<bool, StoreError>;
        async fn release(&self, guard: LockGuard) -> Result<bool, StoreError>;
    }
}

mockall::mock! {
    pub StepLedger<Tx: Send + Sync + 'static> {}
    #[async_trait]
    impl<Tx: Send + Sync + 'static> StepLedger<Tx> for StepLedger<Tx> {
        async fn begin(&self, tx: &Tx, step: &NewStep) -> Result<Begun, StoreError>;
        async fn advance(
            &self,
            tx: &Tx,
            key: &StepKey,
            from: &Step,
            change: &StepChange,
        ) -> Result<Option<Step>, StoreError>;
        async fn find(&self, tx: &Tx, key: &StepKey) -> Result<Option<Step>, StoreError>;
        async fn lock(&self, tx: &Tx, key: &StepKey, wait: LockWait) -> Result<Locked, StoreError>;
    }
}

mockall::mock! {
    pub PurgeSteps {}
    #[async_trait]
    impl PurgeSteps for PurgeSteps {
        fn step_retention(&self) -> Duration;
        async fn purge_steps(&self) -> Result<u64, StoreError>;
    }
}

mockall::mock! {
    pub Transactions<Tx: Send + Sync + 'static> {}
    #[async_trait]
    impl<Tx: Send + Sync + 'static> Transactions for Transactions<Tx> {
        type Tx = Tx;
        async fn begin_tx(&self) -> Result<Tx, StoreError>;
        async fn commit_tx(&self, tx: Tx) -> Result<(), StoreError>;
        async fn roll_back_tx(&self, tx: Tx) -> Result<(), StoreError>;
    }
}

mockall::mock! {
    pub NoteSagas<Tx: Send + Sync + 'static> {}
    #[async_trait]
    impl<Tx: Send + Sync + 'static> NoteSagas<Tx> for NoteSagas<Tx> {
        async fn note(&self, tx: &Tx, saga: &NewSaga) -> Result<(), StoreError>;
    }
}

mockall::mock! {
    pub SagaReports {}
    #[async_trait]
    impl SagaReports for SagaReports {
        async fn saga(&self, scope: &str, id: SagaId) -> Result<Option<SagaRecord>, StoreError>;
        async fn sagas_of(
            &self,
            scope: &str,
            owner: &str,
            after: Option<SagaId>,
            limit: u32,
        ) -> Result<Vec<SagaRecord>, StoreError>;
    }
}

mockall::mock! {
    pub ContinueSagas {}
    #[async_trait]
    impl ContinueSagas for ContinueSagas {
        async fn continue_saga(&self, scope: &str, id: SagaId) -> Result<SagaContinued, StoreError>;
    }
}

mockall::mock! {
    pub ListRuns {}
    #[async_trait]
    impl ListRuns for ListRuns {
        async fn runs(
            &self,
            filter: &RunFilter,
            after: Option<RunPlace>,
            limit: u32,
        ) -> Result<RunPage, StoreError>;
        async fn steps(&self, scope: &str, run: &str, limit: u32) -> Result<Vec<StepListed>, StoreError>;
    }
}

mockall::mock! {
    pub ListTimers {}
    #[async_trait]
    impl ListTimers for ListTimers {
        async fn timers(&self, after: Option<TimerPlace>, limit: u32) -> Result<TimerPage, StoreError>;
    }
}
