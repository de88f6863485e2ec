use super::{DeliveryStatus, ReceiptCounts, RequestStatus};

/// How far a request has come, counted from its messages.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Progress {
    /// What the request itself says.
    pub recorded: RequestStatus,
    /// Why it failed, or which part of it could not be carried out.
    pub reason: Option<String>,
    /// Messages on their way.
    pub pending: u64,
    /// Messages that a provider took.
    pub delivered: u64,
    /// Combinations of recipient and channel that were left out for a recorded reason.
    pub skipped: u64,
    /// Messages that were given up.
    pub failed: u64,
    /// Messages that were taken back.
    pub cancelled: u64,
    /// What providers said of the messages after they had taken them. It decides nothing: a message that bounced was delivered to its provider.
    pub receipts: ReceiptCounts,
}

impl Progress {
    /// A request without messages.
    pub fn of(recorded: RequestStatus, reason: Option<String>) -> Self {
        Self {
            recorded,
            reason,
            pending: 0,
            delivered: 0,
            skipped: 0,
            failed: 0,
            cancelled: 0,
            receipts: ReceiptCounts::default(),
        }
    }

    /// Counts more messages that stand at `status`.
    pub fn count(&mut self, status: DeliveryStatus, messages: u64) {
        *match status {
            DeliveryStatus::Pending => &mut self.pending,
            DeliveryStatus::Delivered => &mut self.delivered,
            DeliveryStatus::Skipped => &mut self.skipped,
            DeliveryStatus::Failed => &mut self.failed,
            DeliveryStatus::Cancelled => &mut self.cancelled,
        } += messages;
    }

    /// All combinations of recipient and channel.
    pub fn total(&self) -> u64 {
        self.pending + self.delivered + self.skipped + self.failed + self.cancelled
    }

    /// The status to show: what the request says, corrected by what became of its messages. Nothing else decides it.
    pub fn status(&self) -> RequestStatus {
        use RequestStatus::{Dispatched, Failed, PartiallyFailed, Undeliverable};
        match self.recorded {
            Dispatched | PartiallyFailed | Failed if self.pending > 0 => Dispatched,
            Dispatched | PartiallyFailed => match (self.delivered, self.failed) {
                (0, 0) if self.cancelled == 0 => Undeliverable,
                (_, 0) => Dispatched,
                (0, _) => Failed,
                (_, _) => PartiallyFailed,
            },
            Failed if self.delivered > 0 => PartiallyFailed,
            recorded => recorded,
        }
    }

    /// Whether nothing more will come of it.
    pub fn is_settled(&self) -> bool {
        self.pending == 0 && !matches!(self.recorded, RequestStatus::Pending | RequestStatus::Processing)
    }
}

#[cfg(test)]
mod tests {
    //! Promise: a request is `DISPATCHED` only if a message of it is delivered or under way
    use proptest::prelude::*;

    use super::*;

    fn progress(recorded: RequestStatus, [pending, delivered, skipped, failed]: [u64; 4]) -> Progress {
        Progress { pending, delivered, skipped, failed, ..Progress::of(recorded, None) }
    }

    #[test]
    fn a_request_is_judged_by_its_messages() {
        use RequestStatus::{Cancelled, Dispatched, Failed, PartiallyFailed, Undeliverable};
        let status = |counts| progress(Dispatched, counts).status();
        assert_eq!(status([0, 3, 1, 0]), Dispatched);
        assert_eq!(status([0, 3, 1, 1]), PartiallyFailed);
        assert_eq!(status([0, 0, 1, 1]), Failed);
        assert_eq!(status([1, 0, 1, 1]), Dispatched);
        assert_eq!(status([0, 0, 2, 0]), Undeliverable);
        assert_eq!(progress(Failed, [0, 3, 0, 0]).status(), PartiallyFailed);
        assert_eq!(progress(Failed, [0, 0, 3, 0]).status(), Failed);
        assert_eq!(progress(Failed, [1, 0, 3, 0]).status(), Dispatched, "its first steps are on their way");
        assert_eq!(progress(Cancelled, [0, 3, 0, 1]).status(), Cancelled);
        assert_eq!(progress(Dispatched, [1, 2, 1, 3]).total(), 7);
    }

    proptest! {
        #[test]
        fn a_dispatched_request_has_something_to_deliver_or_has_delivered_it(
            counts in prop::array::uniform4(0..3_u64), cancelled in 0..3_u64, recorded in 0..7_usize,
        ) {
            let request = Progress { cancelled, ..progress(RequestStatus::ALL[recorded], counts) };
            if request.status() == RequestStatus::Dispatched {
                prop_assert!(request.pending + request.delivered + request.cancelled > 0);
            }
            if request.status() == RequestStatus::PartiallyFailed {
                prop_assert!(request.delivered > 0);
            }
            let mut counted = Progress::of(request.recorded, None);
            for (status, n) in DeliveryStatus::ALL.into_iter().zip(counts.into_iter().chain([cancelled])) {
                counted.count(status, n);
            }
            prop_assert_eq!(counted, request);
        }
    }
}
