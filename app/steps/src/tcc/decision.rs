use claimstream_domain::tcc::GlobalState;
use claimstream_ports::tcc::ParticipantError;

/// What [`Coordinator::run`](super::Coordinator::run) answers about a global transaction; a decision is carried out over the outbox.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Decision {
    /// Everything is reserved, and will be confirmed.
    Confirm,
    /// All of it will be cancelled; this is the Try that did not succeed, if it was this call that saw it.
    Cancel(Option<ParticipantError>),
    /// Nothing is decided yet, because a Try still failed, in this way. The outbox makes it again until the deadline cancels all;
    /// [`Coordinator::state`](super::Coordinator::state) says later what was decided.
    Undecided(ParticipantError),
}

impl Decision {
    /// What a run answers that has left a transaction in this state, and has seen a Try that did not succeed.
    pub(super) fn of(state: GlobalState, tried: Option<ParticipantError>) -> Self {
        match (state, tried) {
            (GlobalState::Confirming | GlobalState::Confirmed, _) => Self::Confirm,
            (GlobalState::Trying, Some(failed)) => Self::Undecided(failed),
            (GlobalState::Trying | GlobalState::Cancelling | GlobalState::Cancelled, tried) => {
                Self::Cancel(tried)
            }
        }
    }
}
