/// How a claim of a message has ended, as far as the count of its attempts is concerned: one rule for every strategy.
///
/// A store counts an attempt where it learns of an end that [counts](Self::counts), or beforehand, when it claims, and then takes
/// it back if the end turns out to be one that does not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClaimEnd {
    /// Its handler failed, panicked, or took longer than it may.
    Failed,
    /// Its process lives and has dropped it, or has let its lease run out without asking for more time.
    LetGo,
    /// No handler had begun with it.
    Unbegun,
    /// Its process lives and asked for more time before its lease ran out, and the store did not answer soon enough.
    Unanswered {
        /// How often this process has excused the message for the same reason.
        excused: u32,
    },
    /// Unknown: its lease ran out, and its process may have ended.
    CutOff,
}

impl ClaimEnd {
    /// How often one process excuses a message for a slow store. A message whose handler makes the store slow each time
    /// would otherwise be tried for ever.
    pub const MOST_EXCUSES: u32 = 3;

    /// Whether the attempt counts against [`RetryPolicy::max_attempts`](crate::RetryPolicy::max_attempts).
    pub fn counts(self) -> bool {
        match self {
            Self::Failed | Self::LetGo | Self::CutOff => true,
            Self::Unbegun => false,
            Self::Unanswered { excused } => excused >= Self::MOST_EXCUSES,
        }
    }

    /// Whether the message may have ended its process, so that it has to be kept away from others when it is handed out again.
    pub fn is_suspicious(self) -> bool {
        self == Self::CutOff
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_begun_never_counts_and_everything_else_does_in_the_end() {
        assert!(!ClaimEnd::Unbegun.counts());
        for end in [ClaimEnd::Failed, ClaimEnd::LetGo, ClaimEnd::CutOff] {
            assert!(end.counts(), "{end:?}");
        }
        let counted = (0..10).map(|excused| ClaimEnd::Unanswered { excused }.counts());
        assert_eq!(counted.filter(|counts| !counts).count(), 3);
    }

    #[test]
    fn who_lives_has_no_suspicion() {
        let others = [
            ClaimEnd::Failed,
            ClaimEnd::LetGo,
            ClaimEnd::Unbegun,
            ClaimEnd::Unanswered { excused: ClaimEnd::MOST_EXCUSES },
        ];
        assert!(ClaimEnd::CutOff.is_suspicious());
        assert!(others.into_iter().all(|end| !end.is_suspicious()));
    }
}
