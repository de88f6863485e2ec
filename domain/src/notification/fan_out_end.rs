use super::RequestStatus;
use crate::Reason;

/// How a step of a fan-out ends, and so where its request stands afterwards.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FanOutEnd {
    /// More recipients are left: the request is being processed.
    More,
    /// These were the last: the request is dispatched.
    Done,
    /// The request can never be fanned out, or is given up.
    Failed(Reason),
}

impl FanOutEnd {
    /// Where a request that stands at `before` stands after this end; `None` if it is left as it is, its reason as well.
    ///
    /// A request that has failed moves only if the step `takes_up` failed ones: an attempt that began before the failure
    /// and ends after it must not undo it.
    pub fn moves(&self, before: RequestStatus, takes_up: bool) -> Option<RequestStatus> {
        let open = match before {
            RequestStatus::Pending | RequestStatus::Processing => true,
            RequestStatus::Failed => takes_up,
            RequestStatus::Dispatched
            | RequestStatus::PartiallyFailed
            | RequestStatus::Undeliverable
            | RequestStatus::Cancelled => false,
        };
        open.then_some(match self {
            Self::More => RequestStatus::Processing,
            Self::Done => RequestStatus::Dispatched,
            Self::Failed(_) => RequestStatus::Failed,
        })
    }

    /// Why the request has failed, if it has.
    pub fn reason(&self) -> Option<&Reason> {
        match self {
            Self::Failed(reason) => Some(reason),
            Self::More | Self::Done => None,
        }
    }

    /// The reason of a request that moves from `before`, where `old` was its reason: why it has failed, or else all
    /// `flaws` that its steps have found. The failure of a request that is taken up is forgotten.
    pub fn reason_after(
        &self,
        before: RequestStatus,
        old: Option<&str>,
        flaw: Option<&Reason>,
    ) -> Option<Reason> {
        if let Self::Failed(why) = self {
            return Some(why.clone());
        }
        match (old.filter(|_| before != RequestStatus::Failed), flaw) {
            (Some(old), Some(flaw)) if !old.contains(flaw.as_str()) => {
                Some(Reason::new(format_args!("{old}; {flaw}")))
            }
            (Some(old), _) => Some(Reason::new(old)),
            (None, flaw) => flaw.cloned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_open_requests_move_and_failed_ones_only_if_they_are_taken_up() {
        use RequestStatus::{Cancelled, Dispatched, Failed, PartiallyFailed, Pending, Processing};
        let failed = FanOutEnd::Failed(Reason::new("no recipient"));
        for (end, after) in [(FanOutEnd::More, Processing), (FanOutEnd::Done, Dispatched), (failed, Failed)] {
            for before in [Pending, Processing] {
                assert_eq!(end.moves(before, false), Some(after));
            }
            assert_eq!((end.moves(Failed, true), end.moves(Failed, false)), (Some(after), None));
            for before in [Dispatched, PartiallyFailed, Cancelled] {
                assert_eq!(end.moves(before, true), None);
            }
            assert_eq!(end.reason().is_some(), after == Failed);
        }
    }

    #[test]
    fn flaws_add_up_once_each_and_a_failure_says_its_own_reason() {
        use RequestStatus::{Failed, Pending, Processing};
        let (one, two) = (Reason::new("one"), Reason::new("two"));
        let after = |end: FanOutEnd, before, old, flaw| {
            end.reason_after(before, old, flaw).map(|reason| reason.as_str().to_owned())
        };
        assert_eq!(after(FanOutEnd::More, Pending, None, None), None);
        assert_eq!(after(FanOutEnd::More, Pending, None, Some(&one)).as_deref(), Some("one"));
        assert_eq!(after(FanOutEnd::Done, Processing, Some("one"), Some(&two)).as_deref(), Some("one; two"));
        assert_eq!(
            after(FanOutEnd::Done, Processing, Some("one; two"), Some(&two)).as_deref(),
            Some("one; two")
        );
        assert_eq!(after(FanOutEnd::Done, Processing, Some("one"), None).as_deref(), Some("one"));
        assert_eq!(after(FanOutEnd::Done, Failed, Some("one"), None), None);
        assert_eq!(
            after(FanOutEnd::Failed(two.clone()), Processing, Some("one"), None).as_deref(),
            Some("two")
        );
    }
}
