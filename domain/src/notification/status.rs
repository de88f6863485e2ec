use std::{fmt, str::FromStr};

use crate::Invalid;

/// Where a notification request stands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RequestStatus {
    /// Taken in, not begun.
    Pending,
    /// Being fanned out.
    Processing,
    /// Fanned out into messages.
    Dispatched,
    /// Fanned out, everything settled, and some messages failed.
    PartiallyFailed,
    /// It could not be fanned out, or every message failed.
    Failed,
    /// Called off before it began.
    Cancelled,
}

/// Where one notification message stands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DeliveryStatus {
    /// On its way.
    Pending,
    /// Taken by the provider.
    Delivered,
    /// Never sent, for a recorded reason such as a missing address.
    Skipped,
    /// Given up.
    Failed,
}

impl RequestStatus {
    /// Every status.
    pub const ALL: [Self; 6] = [
        Self::Pending,
        Self::Processing,
        Self::Dispatched,
        Self::PartiallyFailed,
        Self::Failed,
        Self::Cancelled,
    ];

    /// The status's name in tables and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Processing => "PROCESSING",
            Self::Dispatched => "DISPATCHED",
            Self::PartiallyFailed => "PARTIALLY_FAILED",
            Self::Failed => "FAILED",
            Self::Cancelled => "CANCELLED",
        }
    }

    /// Whether a request that stands here has messages: its fan-out has begun and was neither given up nor called off.
    pub fn has_messages(self) -> bool {
        matches!(self, Self::Processing | Self::Dispatched | Self::PartiallyFailed)
    }
}

impl DeliveryStatus {
    /// Every status.
    pub const ALL: [Self; 4] = [Self::Pending, Self::Delivered, Self::Skipped, Self::Failed];

    /// The status's name in tables and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Delivered => "DELIVERED",
            Self::Skipped => "SKIPPED",
            Self::Failed => "FAILED",
        }
    }
}

impl fmt::Display for RequestStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for DeliveryStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for RequestStatus {
    type Err = Invalid;

    fn from_str(name: &str) -> Result<Self, Invalid> {
        let unknown = || Invalid::Malformed { what: "request status", why: name.into() };
        Self::ALL.into_iter().find(|status| status.name() == name).ok_or_else(unknown)
    }
}

impl FromStr for DeliveryStatus {
    type Err = Invalid;

    fn from_str(name: &str) -> Result<Self, Invalid> {
        let unknown = || Invalid::Malformed { what: "delivery status", why: name.into() };
        Self::ALL.into_iter().find(|status| status.name() == name).ok_or_else(unknown)
    }
}

/// How far a request has come, counted from its messages.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Progress {
    /// What the request itself says.
    pub recorded: RequestStatus,
    /// Why it failed, if it did.
    pub reason: Option<String>,
    /// Messages on their way.
    pub pending: u64,
    /// Messages that a provider took.
    pub delivered: u64,
    /// Combinations of recipient and channel that were left out for a recorded reason.
    pub skipped: u64,
    /// Messages that were given up.
    pub failed: u64,
}

impl Progress {
    /// All combinations of recipient and channel.
    pub fn total(&self) -> u64 {
        self.pending + self.delivered + self.skipped + self.failed
    }

    /// The status to show: what the request says, corrected by what became of its messages.
    pub fn status(&self) -> RequestStatus {
        match self.recorded {
            RequestStatus::Dispatched if self.pending == 0 && self.failed > 0 => match self.delivered {
                0 => RequestStatus::Failed,
                _ => RequestStatus::PartiallyFailed,
            },
            recorded => recorded,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_judged_by_its_messages() {
        let progress = |pending, delivered, failed| Progress {
            recorded: RequestStatus::Dispatched,
            reason: None,
            pending,
            delivered,
            skipped: 1,
            failed,
        };
        assert_eq!(progress(0, 3, 0).status(), RequestStatus::Dispatched);
        assert_eq!(progress(0, 3, 1).status(), RequestStatus::PartiallyFailed);
        assert_eq!(progress(0, 0, 1).status(), RequestStatus::Failed);
        assert_eq!(progress(1, 0, 1).status(), RequestStatus::Dispatched);
        assert_eq!(progress(1, 2, 3).total(), 7);
    }

    #[test]
    fn names_read_back() {
        assert!(RequestStatus::ALL.iter().all(|s| s.name().parse() == Ok(*s)));
        assert!(DeliveryStatus::ALL.iter().all(|s| s.name().parse() == Ok(*s)));
    }
}
