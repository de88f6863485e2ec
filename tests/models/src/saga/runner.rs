use claimstream_domain::saga::{SagaEntry, SagaState, SagaStepState};

use super::STEPS;

/// A process in the middle of a saga, with what it has seen of it; it may be out of date.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Runner {
    /// Why it looks at the saga.
    pub entry: SagaEntry,
    /// The saga's row as it was read last, with its version.
    pub row: Option<(SagaState, u8)>,
    /// The rows of the steps, as far as it has met them.
    pub steps: [Option<SagaStepState>; STEPS],
    /// It has seen that there is too little money, and has not called the saga off yet.
    pub short: bool,
}

impl Runner {
    pub(super) fn new(
        entry: SagaEntry,
        row: Option<(SagaState, u8)>,
        steps: [Option<SagaStepState>; STEPS],
    ) -> Self {
        Self { entry, row, steps, short: false }
    }
}
