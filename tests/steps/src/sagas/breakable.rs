use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use claimstream_domain::{
    Enqueued, NewMessage,
    saga::{NewSaga, SagaRecord, SagaStepState},
    step::{Begun, NewStep, Step, StepChange, StepKey},
};
use claimstream_ports::{
    Enqueue, StoreError, StoreErrorKind, Transactions,
    saga::{NoteSagas, SagaReports},
    step::{LockWait, Locked, StepLedger},
};
use claimstream_steps::saga::{SagaId, SagaState};

use super::{crash::Crash, database::Database};

/// A database whose user can be stopped at every point, and that can be out of reach.
#[derive(Clone)]
pub(super) struct Breakable<D> {
    inner: D,
    crash: Crash,
    down: Arc<AtomicBool>,
}

impl<D> Breakable<D> {
    pub(super) fn new(inner: D, crash: Crash, down: Arc<AtomicBool>) -> Self {
        Self { inner, crash, down }
    }

    /// Names what the transaction is about, if it is about a saga.
    fn about(&self, key: &StepKey, state: u8) {
        if key.scope().starts_with("saga:") {
            self.crash.about(Some(label(key, state)));
        }
    }
}

fn label(key: &StepKey, state: u8) -> String {
    match key.step() {
        "" => format!("saga {:?}", SagaState::of_code(state).expect("a state")),
        step => format!("{step} {:?}", SagaStepState::of_code(state).expect("a state")),
    }
}

#[async_trait]
impl<D: Database> Transactions for Breakable<D> {
    type Tx = D::Tx;

    async fn begin_tx(&self) -> Result<D::Tx, StoreError> {
        if self.down.load(Ordering::SeqCst) {
            return Err(StoreError::new(StoreErrorKind::Unavailable, "begin", "the database is down"));
        }
        self.crash.about(None);
        self.inner.begin_tx().await
    }

    async fn commit_tx(&self, tx: D::Tx) -> Result<(), StoreError> {
        self.crash.pass("before").await;
        self.inner.commit_tx(tx).await?;
        self.crash.pass("after").await;
        Ok(())
    }

    async fn roll_back_tx(&self, tx: D::Tx) -> Result<(), StoreError> {
        self.inner.roll_back_tx(tx).await?;
        self.crash.pass("undone").await;
        Ok(())
    }
}

#[async_trait]
impl<D: Database> StepLedger<D::Tx> for Breakable<D> {
    async fn begin(&self, tx: &D::Tx, step: &NewStep) -> Result<Begun, StoreError> {
        let begun = self.inner.begin(tx, step).await?;
        match begun {
            // The end of a saga, noted where its steps were taken: the points of the steps before it and of the end itself are
            // its points as well.
            Begun::New(_) if is_the_note_of_an_end(step) => self.crash.about(None),
            Begun::New(_) => {
                self.about(&step.key, step.state);
                self.crash.pass("inside").await;
            }
            // What is found is only read, unless it is advanced.
            Begun::Found(_) => self.crash.about(None),
        }
        Ok(begun)
    }

    async fn advance(
        &self,
        tx: &D::Tx,
        key: &StepKey,
        from: &Step,
        change: &StepChange,
    ) -> Result<Option<Step>, StoreError> {
        let moved = self.inner.advance(tx, key, from, change).await?;
        if moved.is_some() {
            self.about(key, change.state);
            self.crash.pass("inside").await;
        }
        Ok(moved)
    }

    async fn find(&self, tx: &D::Tx, key: &StepKey) -> Result<Option<Step>, StoreError> {
        self.inner.find(tx, key).await
    }

    async fn lock(&self, tx: &D::Tx, key: &StepKey, wait: LockWait) -> Result<Locked, StoreError> {
        self.inner.lock(tx, key, wait).await
    }
}

#[async_trait]
impl<D: Database> Enqueue<D::Tx> for Breakable<D> {
    async fn enqueue(&self, tx: &D::Tx, messages: &[NewMessage]) -> Result<Vec<Enqueued>, StoreError> {
        self.inner.enqueue(tx, messages).await
    }
}

#[async_trait]
impl<D: Database> NoteSagas<D::Tx> for Breakable<D> {
    async fn note(&self, tx: &D::Tx, saga: &NewSaga) -> Result<(), StoreError> {
        self.inner.note(tx, saga).await
    }
}

#[async_trait]
impl<D: Database> SagaReports for Breakable<D> {
    async fn saga(&self, scope: &str, id: SagaId) -> Result<Option<SagaRecord>, StoreError> {
        self.inner.saga(scope, id).await
    }

    async fn sagas_of(
        &self,
        scope: &str,
        owner: &str,
        after: Option<SagaId>,
        limit: u32,
    ) -> Result<Vec<SagaRecord>, StoreError> {
        self.inner.sagas_of(scope, owner, after, limit).await
    }
}

/// A saga's row begins as `Init` or `ToRollback`.
fn is_the_note_of_an_end(step: &NewStep) -> bool {
    step.key.scope().starts_with("saga:")
        && step.key.step().is_empty()
        && SagaState::of_code(step.state).is_some_and(SagaState::is_over)
}
