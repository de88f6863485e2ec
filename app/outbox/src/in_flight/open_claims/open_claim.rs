use std::time::Duration;

use claimstream_domain::{Claimed, Receipt};

use crate::in_flight::{lease_times::LeaseTimes, renewal::Renewal};

/// One claim that is leased and not ended.
pub(super) struct OpenClaim {
    pub(super) stage: Stage,
    /// Of its payload.
    pub(super) bytes: usize,
    /// The newest one.
    pub(super) receipt: Receipt,
    pub(super) times: LeaseTimes,
    pub(super) renewal: Option<Renewal>,
    /// Whether the store has been asked for more time without an answer so far.
    pub(super) asked: bool,
    /// Whether it is ended without having been handed out.
    pub(super) unbegun: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// The stream has not yielded it yet.
    Buffered,
    /// The consumer has it.
    Out,
    /// A settlement of it is under way.
    Settling,
    /// Another instance has the message, or may have it.
    Lost,
}

impl OpenClaim {
    pub(super) fn new(claimed: &Claimed, times: LeaseTimes) -> Self {
        Self {
            stage: Stage::Buffered,
            bytes: claimed.message.payload.bytes().len(),
            receipt: claimed.receipt.clone(),
            times,
            renewal: None,
            asked: false,
            unbegun: false,
        }
    }

    pub(super) fn may_be_renewed(&self) -> bool {
        matches!(self.stage, Stage::Buffered | Stage::Out)
    }

    pub(super) fn is_due(&self, by: Duration, now: Duration) -> bool {
        self.times.renew_at <= by && self.times.deadline > now
    }
}
