use claimstream::Verdict;

/// What a handler said, without its words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Said {
    Ack,
    Nack,
    Postpone,
    Bury,
    Release,
}

impl Said {
    pub(crate) fn of(verdict: &Verdict) -> Self {
        match verdict {
            Verdict::Ack { .. } => Self::Ack,
            Verdict::Nack { .. } => Self::Nack,
            Verdict::Postpone { .. } => Self::Postpone,
            Verdict::Bury { .. } => Self::Bury,
            Verdict::Release => Self::Release,
        }
    }
}
