/// What is cut short.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Operation {
    Claim,
    Settle,
    Renew,
    EnqueueNow,
    /// A caller's own, from its beginning to its end.
    Transaction,
    /// The same of the outbox's own type.
    OwnTransaction,
    /// Only the end of one.
    Commit,
}

impl Operation {
    pub(super) const ALL: [Self; 7] = [
        Self::Claim,
        Self::Settle,
        Self::Renew,
        Self::EnqueueNow,
        Self::Transaction,
        Self::OwnTransaction,
        Self::Commit,
    ];

    /// As many polls as it has awaits, or a few more.
    pub(super) fn polls(self) -> usize {
        match self {
            Self::Transaction | Self::OwnTransaction => 15,
            _ => 2,
        }
    }
}
