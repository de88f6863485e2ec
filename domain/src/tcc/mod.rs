//! TCC: a reservation in every branch first, then all of them confirmed or all of them cancelled.
//!
//! | decision | made by |
//! |---|---|
//! | what does a Try, a Confirm or a Cancel do to a branch? | [`BranchState::after`] |
//! | does it touch the resource? | [`BranchMove::has_effect`] |
//! | confirm all, or cancel all? | [`GlobalState::next`] |
//! | which action of a global transaction is next? | [`GlobalState::next_action`] |

mod branch;
mod call;
mod carried_out;
mod global;
mod name;

pub use branch::{BranchMove, BranchRefusal, BranchState, Operation};
pub use call::{Branch, BranchCall, BranchCallKey};
pub use carried_out::CarriedOut;
pub use global::{GlobalAction, GlobalEvent, GlobalState, GlobalTransaction, GlobalTrigger};
pub use name::{BranchName, GlobalId};
