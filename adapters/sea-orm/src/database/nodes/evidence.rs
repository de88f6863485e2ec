use std::time::Duration;

use super::choice::Answer;
use crate::database::topology::role::Role;

/// What speaks against the server that is written to.
///
/// To leave it too early is worse than to wait: of a cluster it costs claims, and if another server takes writes by mistake it sends
/// writes to other data. So one answer that does not come is none.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Evidence {
    /// It has said so itself, or its address refuses connections.
    is_certain: bool,
    /// When the first of the misses in a row was noted, since the search began.
    missing_since: Option<Duration>,
    /// How long after that the last one was.
    missing_for: Duration,
}

impl Evidence {
    /// How long a server must have missed its answers after the first miss. A question is given up after a second, so two in a row are
    /// enough; a server that fails at once is asked more often meanwhile.
    const MISSING: Duration = Duration::from_millis(900);

    /// Takes an answer in, which came so long after the search began.
    pub(super) fn note(&mut self, answer: &Answer, at: Duration) {
        match answer {
            Answer::Awaited => {}
            Answer::Says(Role::Writes(_)) => *self = Self::default(),
            Answer::Says(Role::Refuses(_)) | Answer::Refused(_) => self.is_certain = true,
            Answer::Failed(_) => {
                let since = *self.missing_since.get_or_insert(at);
                self.missing_for = at.saturating_sub(since);
            }
        }
    }

    /// Whether another server may be written to.
    pub(super) fn is_enough(&self) -> bool {
        self.is_certain || self.missing_for >= Self::MISSING
    }
}

#[cfg(test)]
mod tests {
    //! Promise: one missed answer is no failover
    use super::*;
    use crate::database::topology::place::Place;

    fn is_enough(answers: &[(Answer, u64)]) -> bool {
        let mut evidence = Evidence::default();
        answers.iter().for_each(|(answer, at)| evidence.note(answer, Duration::from_millis(*at)));
        evidence.is_enough()
    }

    /// Guard: one missed answer is no failover | `MISSING`: at once
    #[test]
    fn one_missed_answer_is_not_enough_and_a_second_one_later_is() {
        let missed = |at| (Answer::Failed("no answer".into()), at);
        assert!(!is_enough(&[]) && !is_enough(&[missed(0)]) && !is_enough(&[missed(5_000)]));
        assert!(is_enough(&[missed(0), missed(1_000)]));
        assert!(!is_enough(&[missed(0), missed(100), missed(300)]), "too many connections, for a moment");
        let writes = (Answer::Says(Place::default().role()), 500);
        assert!(!is_enough(&[missed(0), writes, missed(1_000)]), "it has answered between");
    }

    /// Guard: a server that refuses is left at once | `note`: nothing is certain
    #[test]
    fn a_server_that_says_so_and_an_address_that_refuses_are_left_at_once() {
        assert!(is_enough(&[(Answer::Says(Role::Refuses("read_only = ON".into())), 0)]));
        assert!(is_enough(&[(Answer::Refused("connection refused".into()), 0)]));
    }
}
