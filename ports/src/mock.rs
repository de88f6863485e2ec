//! A mockall mock of every port, and a timer that tests turn by hand: [`HandTimer`].
//!
//! Mocks answer what a test scripts and never wait. Ports with a transaction are mocked for any type of transaction, which is
//! inferred, or named as in `MockEnqueue::<MyTransaction>::new()`.
//!
//! A mock is generated from its port by `automock`; those written out here say why `automock` does not fit.
#![allow(missing_docs, reason = "generated code")]

mod hand_timer;

use std::time::Duration;

use async_trait::async_trait;
use claimstream_domain::{
    ClaimRequest, Claimed, Enqueued, NewMessage,
    notification::{NotificationMessage, NotificationRequest, Submitted},
    saga::{NewSaga, SagaContinued, SagaId, SagaRecord},
    step::{Begun, NewStep, Step, StepChange, StepKey},
    tcc::BranchCall,
};

pub use self::hand_timer::HandTimer;
use crate::{
    BatchHandler, Enqueue, LockingStrategy, Sleep, StoreError, Timer, Transactions, Verdicts,
    notification::{ChannelProvider, Delivered, DeliveryError, SubmitRequests},
    saga::{ContinueSagas, NoteSagas, SagaReports},
    step::{LockWait, Locked, StepLedger},
    tcc::{Participant, ParticipantError},
};
pub use crate::{
    audit_log::MockAuditLog, batch_handler::MockVerdicts, consume::MockConsume,
    dead_letters::MockDeadLetters, distributed_lock::MockDistributedLock, find_messages::MockFindMessages,
    handler::MockHandler, list_instances::MockListInstances, list_locks::MockListLocks,
    notification::mock::*, observe::MockObserve, pause_queues::MockPauseQueues, publish::MockPublish,
    read_messages::MockReadMessages, release_leases::MockReleaseLeases, self_check::MockSelfCheck,
    server_clock::MockServerClock, settlements::MockSettlements, step::mock::*, wakeup::MockWakeup,
};

// Keeps the default of `release_read_ahead`.
mockall::mock! {
    pub LockingStrategy {}
    #[async_trait]
    impl LockingStrategy for LockingStrategy {
        async fn claim(&self, request: &ClaimRequest) -> Result<Vec<Claimed>, StoreError>;
    }
}

// Keeps the defaults of `carries` and `prepare`.
mockall::mock! {
    pub ChannelProvider {}
    #[async_trait]
    impl ChannelProvider for ChannelProvider {
        async fn deliver(&self, message: &NotificationMessage) -> Result<Delivered, DeliveryError>;
    }
}

// Keeps the default of `spawn`; a returned `Sleep` has the lifetime of `&self`, which an expectation cannot name.
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

// Mockall and `async_trait` disagree about the lifetime of the second argument.
mockall::mock! {
    pub BatchHandler {
        pub fn handle_batch(&self, batch: &[Claimed], verdicts: &dyn Verdicts);
    }
}

#[async_trait]
impl BatchHandler for MockBatchHandler {
    async fn handle_batch(&self, batch: &[Claimed], verdicts: &dyn Verdicts) {
        Self::handle_batch(self, batch, verdicts);
    }
}

// A mock holds a `PhantomData<Tx>`, so `Tx` must be `Send`, which the ports with a transaction do not require.
mockall::mock! {
    pub Enqueue<Tx: Send + Sync + 'static> {}
    #[async_trait]
    impl<Tx: Send + Sync + 'static> Enqueue<Tx> for Enqueue<Tx> {
        async fn enqueue(&self, tx: &Tx, messages: &[NewMessage]) -> Result<Vec<Enqueued>, StoreError>;
    }
}

// `Tx` must be `Send`, as in `MockEnqueue`.
mockall::mock! {
    pub SubmitRequests<Tx: Send + Sync + 'static> {}
    #[async_trait]
    impl<Tx: Send + Sync + 'static> SubmitRequests<Tx> for SubmitRequests<Tx> {
        async fn submit(&self, tx: &Tx, requests: &[NotificationRequest]) -> Result<Vec<Submitted>, StoreError>;
    }
}

// `Tx` must be `Send`, as in `MockEnqueue`.
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

// `Tx` must be `Send`, as in `MockEnqueue`.
mockall::mock! {
    pub NoteSagas<Tx: Send + Sync + 'static> {}
    #[async_trait]
    impl<Tx: Send + Sync + 'static> NoteSagas<Tx> for NoteSagas<Tx> {
        async fn note(&self, tx: &Tx, saga: &NewSaga) -> Result<(), StoreError>;
    }
}

// `automock` sets an associated type to one concrete type; this mock has any.
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

// `automock` puts a public mock next to its port, and the module `saga` is public.
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

// The module `saga` is public, as for `MockSagaReports`.
mockall::mock! {
    pub ContinueSagas {}
    #[async_trait]
    impl ContinueSagas for ContinueSagas {
        async fn continue_saga(&self, scope: &str, id: SagaId) -> Result<SagaContinued, StoreError>;
    }
}

// The module `tcc` is public, as `saga` is for `MockSagaReports`.
mockall::mock! {
    pub Participant {}
    #[async_trait]
    impl Participant for Participant {
        async fn carry_out(&self, call: &BranchCall) -> Result<(), ParticipantError>;
    }
}
