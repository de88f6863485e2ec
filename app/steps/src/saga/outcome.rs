use claimstream_domain::{Reason, saga::SagaState};

/// How far a saga has come when a call returns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SagaOutcome {
    /// Every step was taken.
    Finish,
    /// It was called off, and nothing of it is left.
    Fail {
        /// Why.
        reason: Reason,
    },
    /// Something was in the way; the outbox continues it.
    Underway {
        /// What was in the way.
        reason: Reason,
    },
    /// It was to be called off, and it is too late for that.
    TooLate {
        /// Where it stands.
        state: SagaState,
    },
}
