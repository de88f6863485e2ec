use std::{fmt, str::FromStr};

use crate::{Invalid, Reason};

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
    /// Called off: what had not been handed to a provider by then is not delivered.
    Cancelled,
    /// Fanned out, and every combination of recipient and channel was skipped. It is never recorded, but found by
    /// [`Progress::status`](super::Progress::status).
    Undeliverable,
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
    /// Taken back, because its request was cancelled.
    Cancelled,
}

impl RequestStatus {
    /// Every status.
    pub const ALL: [Self; 7] = [
        Self::Pending,
        Self::Processing,
        Self::Dispatched,
        Self::PartiallyFailed,
        Self::Failed,
        Self::Cancelled,
        Self::Undeliverable,
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
            Self::Undeliverable => "UNDELIVERABLE",
        }
    }

    /// Whether a request that stands here has messages: its fan-out has begun and was neither given up nor called off.
    pub fn has_messages(self) -> bool {
        self == Self::Processing || self.is_fanned_out()
    }

    /// Whether a request that stands here can be cancelled while some of its messages `are_pending`: as long as there is something
    /// that will not be delivered then. One that is cancelled is cancelled again, which takes back what the first attempt left.
    pub fn is_cancellable(self, are_pending: bool) -> bool {
        are_pending || matches!(self, Self::Pending | Self::Processing | Self::Cancelled)
    }

    /// Whether a request's row may say so; the others come of counting its messages.
    pub fn is_recorded(self) -> bool {
        !matches!(self, Self::PartiallyFailed | Self::Undeliverable)
    }

    /// Whether all messages of a request that stands here have been made.
    pub fn is_fanned_out(self) -> bool {
        matches!(self, Self::Dispatched | Self::PartiallyFailed | Self::Undeliverable)
    }
}

impl DeliveryStatus {
    /// Every status.
    pub const ALL: [Self; 5] = [Self::Pending, Self::Delivered, Self::Skipped, Self::Failed, Self::Cancelled];

    /// The status's name in tables and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Delivered => "DELIVERED",
            Self::Skipped => "SKIPPED",
            Self::Failed => "FAILED",
            Self::Cancelled => "CANCELLED",
        }
    }

    /// Where a message that stands here stands after an outcome; `None` if it is left as it is.
    ///
    /// A delivery overrides every other end: its request may have been cancelled while a provider had the message, and a handler that lost
    /// its claim may have given the message up while another one delivered it. A skip overrides a failure likewise: a handler that lost its
    /// claim may have given the message up before another one found it expired.
    pub fn after(self, outcome: Self) -> Option<Self> {
        let moves = match self {
            Self::Pending => true,
            Self::Failed => matches!(outcome, Self::Delivered | Self::Skipped),
            Self::Skipped | Self::Cancelled => outcome == Self::Delivered,
            Self::Delivered => false,
        };
        moves.then_some(outcome)
    }

    /// Where a message that has failed stands once it is to be delivered again, and why: it is pending, unless its request, which stands
    /// at `request` if it is known, was cancelled.
    pub fn revived(request: Option<RequestStatus>) -> (Self, Option<Reason>) {
        match request {
            Some(RequestStatus::Cancelled) => {
                (Self::Cancelled, Some(Reason::new("revived after its request was cancelled")))
            }
            _ => (Self::Pending, None),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_cancelled_request_keeps_a_revived_message_from_being_delivered() {
        assert_eq!(DeliveryStatus::revived(None), (DeliveryStatus::Pending, None));
        for request in RequestStatus::ALL {
            let (status, reason) = DeliveryStatus::revived(Some(request));
            let is_cancelled = request == RequestStatus::Cancelled;
            assert_eq!(status == DeliveryStatus::Cancelled, is_cancelled, "{request}");
            assert_eq!((status == DeliveryStatus::Pending, reason.is_none()), (!is_cancelled, !is_cancelled));
        }
    }

    #[test]
    fn names_read_back() {
        assert!(RequestStatus::ALL.iter().all(|s| s.name().parse() == Ok(*s)));
        assert!(DeliveryStatus::ALL.iter().all(|s| s.name().parse() == Ok(*s)));
    }

    #[test]
    fn a_pending_message_moves_and_what_was_sent_or_skipped_overrides_a_failure() {
        use DeliveryStatus::{Cancelled, Delivered, Failed, Pending, Skipped};
        let overridden: [(_, &[_]); 5] = [
            (Pending, &DeliveryStatus::ALL),
            (Failed, &[Delivered, Skipped]),
            (Skipped, &[Delivered]),
            (Cancelled, &[Delivered]),
            (Delivered, &[]),
        ];
        for (before, by) in overridden {
            for outcome in DeliveryStatus::ALL {
                assert_eq!(
                    before.after(outcome),
                    by.contains(&outcome).then_some(outcome),
                    "{before} {outcome}"
                );
            }
        }
    }
}
