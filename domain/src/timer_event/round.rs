/// One run through an event's decisions, in their order.
///
/// [`next`](Self::next) says which decision is to be run or looked up, [`note`](Self::note) takes how it went, and
/// [`end`](Self::end) says what the round came to. A round decides nothing about what succeeded earlier: the runner of a
/// decision finds its record, and notes a success.
#[derive(Clone, Debug)]
pub struct Round {
    decisions: usize,
    policy: FailurePolicy,
    next: usize,
    failed: Vec<usize>,
}

/// What a failed decision means for those after it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum FailurePolicy {
    /// They wait for the next tick: for decisions that build on each other.
    #[default]
    Stop,
    /// They are run all the same.
    Continue,
}

/// What a round came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RoundEnd {
    /// Every decision has succeeded, now or earlier: the event may end.
    Succeeded,
    /// These failed, by their places in the order; another tick is needed.
    Failed(Vec<usize>),
}

impl Round {
    /// A round through this many decisions.
    pub fn new(decisions: usize, policy: FailurePolicy) -> Self {
        Self { decisions, policy, next: 0, failed: Vec::new() }
    }

    /// The place of the next decision; `None` when the round is over.
    pub fn next(&self) -> Option<usize> {
        let stopped = self.policy == FailurePolicy::Stop && !self.failed.is_empty();
        (!stopped && self.next < self.decisions).then_some(self.next)
    }

    /// Notes whether the next decision has succeeded; after the end there is nothing to note.
    pub fn note(&mut self, succeeded: bool) {
        let Some(at) = self.next() else { return };
        self.next += 1;
        if !succeeded {
            self.failed.push(at);
        }
    }

    /// What the round came to, once it is over.
    pub fn end(&self) -> Option<RoundEnd> {
        match (self.next(), self.failed.is_empty()) {
            (Some(_), _) => None,
            (None, true) => Some(RoundEnd::Succeeded),
            (None, false) => Some(RoundEnd::Failed(self.failed.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    fn play(policy: FailurePolicy, outcomes: &[bool]) -> (Vec<usize>, RoundEnd) {
        let mut round = Round::new(outcomes.len(), policy);
        let mut run = Vec::new();
        while let Some(at) = round.next() {
            assert_eq!(round.end(), None);
            run.push(at);
            round.note(outcomes[at]);
        }
        round.note(false);
        (run, round.end().expect("a round that is over"))
    }

    #[test]
    fn a_failure_stops_the_round_or_does_not() {
        let outcomes = [true, false, true];
        assert_eq!(play(FailurePolicy::Stop, &outcomes), (vec![0, 1], RoundEnd::Failed(vec![1])));
        assert_eq!(play(FailurePolicy::Continue, &outcomes), (vec![0, 1, 2], RoundEnd::Failed(vec![1])));
    }

    #[test]
    fn without_decisions_there_is_nothing_to_fail() {
        assert_eq!(play(FailurePolicy::Stop, &[]), (vec![], RoundEnd::Succeeded));
    }

    proptest! {
        #[test]
        fn a_round_keeps_the_order_and_succeeds_if_and_only_if_everything_did(
            outcomes in vec(any::<bool>(), 0..9),
            go_on in any::<bool>(),
        ) {
            let policy = if go_on { FailurePolicy::Continue } else { FailurePolicy::Stop };
            let (run, end) = play(policy, &outcomes);
            let first = outcomes.iter().position(|succeeded| !succeeded);
            let expected = match (policy, first) {
                (FailurePolicy::Stop, Some(first)) => first + 1,
                _ => outcomes.len(),
            };
            prop_assert_eq!(run, (0..expected).collect::<Vec<_>>());
            prop_assert_eq!(end == RoundEnd::Succeeded, outcomes.iter().all(|succeeded| *succeeded));
        }
    }
}
