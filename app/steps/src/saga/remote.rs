use std::fmt;

use async_trait::async_trait;
use claimstream_domain::{
    Reason,
    saga::{SagaState, SagaStepState},
    step::{Begun, NewStep, Step as Row, StepChange, StepKey},
};
use claimstream_ports::{Timer, Transactions, step::StepLedger};
use futures::future::BoxFuture;

use super::{
    SagaRun, StepFailure,
    step::{Step, state_of},
};
use claimstream::{in_transaction, work};

/// What a remote call shows, the same each time it is made, so that the other side takes it once.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct IdempotencyKey(Box<str>);

impl IdempotencyKey {
    fn of(key: &StepKey) -> Self {
        Self(key.to_string().into())
    }

    /// The key as text: the kind of saga, its id and the step, with slashes between them.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A call to another service.
pub(super) type RemoteCall<I> = Box<
    dyn for<'a> Fn(&'a IdempotencyKey, &'a SagaRun<I>) -> BoxFuture<'a, Result<(), StepFailure>>
        + Send
        + Sync,
>;

/// A step that is a call: its row, in the saga's home, says before it that it may be made, and after it that it was.
pub(super) struct RemoteStep<I, H> {
    pub(super) name: Box<str>,
    pub(super) home: H,
    pub(super) call: RemoteCall<I>,
    pub(super) cancel: Option<RemoteCall<I>>,
}

#[async_trait]
impl<I, H> Step<I> for RemoteStep<I, H>
where
    I: Send + Sync,
    H: Transactions + StepLedger<H::Tx>,
{
    fn name(&self) -> &str {
        &self.name
    }

    async fn forward(&self, run: &SagaRun<I>, timer: &dyn Timer) -> Result<SagaStepState, StepFailure> {
        let key = self.key(run)?;
        let row = self.begin(&key, SagaStepState::Calling, timer).await?;
        match state_of(&key, &row)? {
            SagaStepState::Calling => (self.call)(&IdempotencyKey::of(&key), run).await?,
            state => return Ok(state),
        }
        self.advance(&key, &row, SagaStepState::Done, timer).await
    }

    async fn undo(&self, run: &SagaRun<I>, timer: &dyn Timer) -> Result<SagaStepState, StepFailure> {
        let key = self.key(run)?;
        let row = self.begin(&key, SagaStepState::RolledBack, timer).await?;
        match (state_of(&key, &row)?, &self.cancel) {
            (SagaStepState::Done | SagaStepState::Calling, Some(cancel)) => {
                cancel(&IdempotencyKey::of(&key), run).await?;
                self.advance(&key, &row, SagaStepState::RolledBack, timer).await
            }
            (state, _) => Ok(state),
        }
    }

    async fn look(&self, run: &SagaRun<I>, timer: &dyn Timer) -> Result<Option<SagaStepState>, StepFailure> {
        let (home, key) = (&self.home, self.key(run)?);
        let found = in_transaction(home, timer, |tx| work(async { home.find(tx, &key).await })).await;
        found?.map(|row| state_of(&key, &row)).transpose()
    }

    /// Its row is in the saga's home.
    async fn close(&self, _: &SagaRun<I>, _: SagaState, _: &dyn Timer) -> Result<(), StepFailure> {
        Ok(())
    }
}

impl<I, H> RemoteStep<I, H>
where
    I: Send + Sync,
    H: Transactions + StepLedger<H::Tx>,
{
    fn key(&self, run: &SagaRun<I>) -> Result<StepKey, StepFailure> {
        run.key(&self.name).map_err(|e| StepFailure::Invariant(Reason::new(e)))
    }

    /// The row as it stands, begun in `state` if it was not there.
    async fn begin(
        &self,
        key: &StepKey,
        state: SagaStepState,
        timer: &dyn Timer,
    ) -> Result<Row, StepFailure> {
        let (home, step) = (&self.home, NewStep::new(key.clone(), state.code()));
        in_transaction(home, timer, |tx| {
            work(async {
                let (Begun::New(row) | Begun::Found(row)) = home.begin(tx, &step).await?;
                Ok(row)
            })
        })
        .await
    }

    /// Notes what the call came to, or answers what another runner has noted meanwhile.
    async fn advance(
        &self,
        key: &StepKey,
        from: &Row,
        to: SagaStepState,
        timer: &dyn Timer,
    ) -> Result<SagaStepState, StepFailure> {
        let (home, change) = (&self.home, StepChange::to(to.code()));
        let found = in_transaction(home, timer, |tx| {
            work(async {
                match home.advance(tx, key, from, &change).await? {
                    Some(row) => Ok(Some(row)),
                    None => home.find(tx, key).await,
                }
            })
        })
        .await?;
        match found {
            Some(row) => state_of(key, &row),
            None => Err(StepFailure::invariant(format_args!("the row of step {} is gone", self.name))),
        }
    }
}
