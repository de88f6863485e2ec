//! TCC: reserve in every branch (Try), then use all that is reserved (Confirm) or give all of it back (Cancel).
//!
//! | what | who |
//! |---|---|
//! | one branch, in the transaction of its effect | [`Tcc`] |
//! | a branch of this process, by [`Resource`] | [`LocalParticipant`] |
//! | several branches, all or none, driven over the outbox | [`Coordinator`] |
//!
//! Messages are lost, doubled and late, so a branch gets its operations in any order. What it got first is remembered as
//! a step of the ledger, in the transaction of the effect; the table that decides is
//! [`BranchState::after`](claimstream_domain::tcc::BranchState::after):
//!
//! * every operation takes effect once, however often it comes;
//! * a Cancel without a Try leaves a marker, and the Try that comes late is refused with an error;
//! * a confirmed branch is not cancelled, and a cancelled one is not confirmed.
//!
//! Nothing removes a marker on sight: steps go by age alone. A Try that is later than that horizon finds nothing and
//! reserves, and a Cancel that is later finds nothing to give back. So the horizon is chosen beyond the longest time that a
//! call can be under way or a participant out of reach.

mod alarm;
mod branch_error;
mod branches;
mod coordinator;
mod coordinator_config;
mod coordinator_error;
mod decision;
mod local_participant;
mod participants;
mod resource;
mod trigger_message;

pub use alarm::{TccAlarm, TccAlarmKind};
pub use branch_error::TccError;
pub use branches::Tcc;
pub use claimstream_domain::tcc::{
    Branch, BranchCall, BranchCallKey, BranchMove, BranchName, BranchRefusal, BranchState, GlobalId,
    GlobalState, GlobalTransaction, Operation,
};
pub use claimstream_ports::tcc::{Participant, ParticipantError};
pub use coordinator::Coordinator;
pub use coordinator_config::CoordinatorConfig;
pub use coordinator_error::CoordinatorError;
pub use decision::Decision;
pub use local_participant::LocalParticipant;
pub use resource::{Resource, ResourceError};
