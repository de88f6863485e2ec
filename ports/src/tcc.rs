//! The port of TCC: a participant that carries out calls.

use std::time::Duration;

use async_trait::async_trait;
use claimstream_domain::{Reason, tcc::BranchCall};

/// Carries out the branches of TCC transactions that go to it.
///
/// Implementors owe, for each branch:
/// * an end in bounded time, and an effect that is durable when the answer is `Ok`;
/// * the same answer however often a call comes, with one effect;
/// * a Cancel without a Try is `Ok`, and a Try that comes after it is refused;
/// * a branch that has been tried is confirmed or cancelled in the end, whatever else has happened since.
///
/// Callers may rely on: after `Refused` nothing is reserved. After `Failed` it is not known whether anything was done.
#[async_trait]
pub trait Participant: Send + Sync {
    /// Carries out one operation of one branch.
    async fn carry_out(&self, call: &BranchCall) -> Result<(), ParticipantError>;
}

/// Why a participant did not say that it is done.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ParticipantError {
    /// It will not: the resource is short, or the call does not fit an earlier one.
    #[error("refused: {reason}")]
    Refused {
        /// Why, without secrets.
        reason: Reason,
    },
    /// It may later; whether it has been done is not known.
    #[error("failed: {reason}")]
    Failed {
        /// Why, without secrets.
        reason: Reason,
        /// How long it asked us to wait.
        retry_after: Option<Duration>,
    },
}

impl ParticipantError {
    /// A refusal for good, for a reason without secrets.
    pub fn refused(why: impl std::fmt::Display) -> Self {
        Self::Refused { reason: Reason::new(why) }
    }

    /// A failure that may pass, for a reason without secrets; the coordinator asks again after its own wait.
    pub fn failed(why: impl std::fmt::Display) -> Self {
        Self::Failed { reason: Reason::new(why), retry_after: None }
    }
}
