use claimstream_domain::{Reason, saga::SagaState};

/// How far a saga has come when a call returns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SagaOutcome {
    /// It has ended: every step was taken.
    Finish,
    /// It has ended: it was called off, and every step that was taken is undone.
    Fail {
        /// Why.
        reason: Reason,
    },
    /// It has not ended, because something was in the way; a message of the outbox continues it.
    Underway {
        /// The obstacle.
        reason: Reason,
    },
    /// It cannot be called off any more, because it is past its pivot.
    TooLate {
        /// Where it stands.
        state: SagaState,
    },
}
