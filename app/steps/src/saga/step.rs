use async_trait::async_trait;
use claimstream_domain::{
    saga::{SagaState, SagaStepState},
    step::{Step as Row, StepKey},
};
use claimstream_ports::Timer;

use super::{SagaRun, StepFailure};
use crate::effect::whole;

/// One step of a saga, whatever it is made of; it answers how its row stands afterwards.
#[async_trait]
pub(super) trait Step<I>: Send + Sync {
    fn name(&self) -> &str;

    /// Takes the step unless its row is there.
    async fn forward(&self, run: &SagaRun<I>, timer: &dyn Timer) -> Result<SagaStepState, StepFailure>;

    /// Undoes the step, or leaves a tombstone. One that cannot be undone and was taken is left as it is.
    async fn undo(&self, run: &SagaRun<I>, timer: &dyn Timer) -> Result<SagaStepState, StepFailure>;

    /// How its row stands.
    async fn look(&self, run: &SagaRun<I>, timer: &dyn Timer) -> Result<Option<SagaStepState>, StepFailure>;

    /// Notes with its row that nothing can keep the saga from ending so: from then on the row may be forgotten.
    async fn close(&self, run: &SagaRun<I>, end: SagaState, timer: &dyn Timer) -> Result<(), StepFailure>;
}

pub(super) fn state_of(key: &StepKey, row: &Row) -> Result<SagaStepState, StepFailure> {
    whole(key, row)?;
    SagaStepState::of_code(row.state).ok_or_else(|| {
        StepFailure::invariant(format_args!(
            "the row of step {} is in state {}, which is none",
            key.step(),
            row.state
        ))
    })
}
