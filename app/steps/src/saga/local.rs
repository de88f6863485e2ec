use std::marker::PhantomData;

use async_trait::async_trait;
use claimstream_domain::{
    Reason,
    saga::{SagaState, SagaStepState},
    step::{Begun, NewStep, StepChange},
};
use claimstream_ports::{StoreError, StoreErrorKind, Timer, Transactions, step::StepLedger};
use futures::future::BoxFuture;

use super::{
    SagaRun, StepFailure,
    step::{Step, state_of},
};
use crate::effect::{StepWrite, effect};
use claimstream::{in_transaction, work};

/// What a step does in its own transaction.
pub(super) type LocalEffect<I, Tx> =
    Box<dyn for<'a> Fn(&'a Tx, &'a SagaRun<I>) -> BoxFuture<'a, Result<(), StepFailure>> + Send + Sync>;

/// A step that is one local transaction: its row and its effect together.
pub(super) struct LocalStep<I, D: Transactions, P> {
    pub(super) name: Box<str>,
    pub(super) place: P,
    pub(super) forward: LocalEffect<I, D::Tx>,
    pub(super) undo: Option<LocalEffect<I, D::Tx>>,
    pub(super) databases: PhantomData<fn() -> D>,
}

#[async_trait]
impl<I, D, P> Step<I> for LocalStep<I, D, P>
where
    I: Send + Sync,
    D: Transactions + StepLedger<D::Tx>,
    P: Fn(&I) -> D + Send + Sync,
{
    fn name(&self) -> &str {
        &self.name
    }

    async fn forward(&self, run: &SagaRun<I>, timer: &dyn Timer) -> Result<SagaStepState, StepFailure> {
        let (db, step) = ((self.place)(&run.input), self.row(run, SagaStepState::Done)?);
        let written = StepWrite::of(&step.key);
        effect(&db, timer, &written, |tx| {
            work(async {
                match written.begin(&db, tx, &step).await? {
                    Begun::New(_) => (self.forward)(tx, run).await.map(|()| SagaStepState::Done),
                    Begun::Found(found) => state_of(&step.key, &found),
                }
            })
        })
        .await
    }

    async fn undo(&self, run: &SagaRun<I>, timer: &dyn Timer) -> Result<SagaStepState, StepFailure> {
        let (db, step) = ((self.place)(&run.input), self.row(run, SagaStepState::RolledBack)?);
        let written = StepWrite::of(&step.key);
        effect(&db, timer, &written, |tx| {
            work(async {
                let found = match db.begin(tx, &step).await? {
                    Begun::New(_) => return Ok(SagaStepState::RolledBack),
                    Begun::Found(found) => found,
                };
                match (state_of(&step.key, &found)?, &self.undo) {
                    (SagaStepState::Done, Some(undo)) => {
                        let change = StepChange::to(SagaStepState::RolledBack.code());
                        let changed = db.advance(tx, &step.key, &found, &change).await?;
                        written.note(&changed.ok_or_else(changed_meanwhile)?);
                        undo(tx, run).await.map(|()| SagaStepState::RolledBack)
                    }
                    (state, _) => Ok(state),
                }
            })
        })
        .await
    }

    async fn look(&self, run: &SagaRun<I>, timer: &dyn Timer) -> Result<Option<SagaStepState>, StepFailure> {
        let (db, step) = ((self.place)(&run.input), self.row(run, SagaStepState::Done)?);
        let found = in_transaction(&db, timer, |tx| work(async { db.find(tx, &step.key).await })).await;
        found?.map(|row| state_of(&step.key, &row)).transpose()
    }

    /// In the saga's home its own row is there, and says it itself.
    async fn close(&self, run: &SagaRun<I>, end: SagaState, timer: &dyn Timer) -> Result<(), StepFailure> {
        let (db, end) = ((self.place)(&run.input), NewStep::new(run.row.clone(), end.code()));
        in_transaction(&db, timer, |tx| work(async { Ok(db.begin(tx, &end).await.map(|_| ())?) })).await
    }
}

impl<I, D: Transactions, P> LocalStep<I, D, P> {
    fn row(&self, run: &SagaRun<I>, state: SagaStepState) -> Result<NewStep, StepFailure> {
        let key = run.key(&self.name).map_err(|e| StepFailure::Invariant(Reason::new(e)))?;
        Ok(NewStep::new(key, state.code()))
    }
}

/// The transaction holds the row, so this cannot be; if it is, the transaction is begun again.
pub(super) fn changed_meanwhile() -> StoreError {
    StoreError::new(StoreErrorKind::Transient, "undo step", "the step changed meanwhile")
}
