use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use uuid::Uuid;

/// Messages that this process has finished and whose bodies it has not deleted yet.
///
/// Nothing depends on it: what does not fit, and what a crash forgets, is found by the sweep like anything else.
#[derive(Default)]
pub(crate) struct Leftovers(Mutex<VecDeque<Leftover>>);

/// A message whose settlement was accepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Leftover {
    pub(crate) id: Uuid,
    pub(crate) settling: Settling,
}

/// When and where a settlement began.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Settling {
    /// By the monotonic clock.
    pub(crate) at: Duration,
    /// How many takeovers of the server were known.
    pub(crate) takeovers: u64,
}

impl Leftovers {
    /// About three megabytes.
    const MOST: usize = 100_000;

    pub(crate) fn note(&self, settling: Settling, ids: impl Iterator<Item = Uuid>) {
        let mut left = self.left();
        let room = Self::MOST.saturating_sub(left.len());
        left.extend(ids.take(room).map(|id| Leftover { id, settling }));
    }

    /// The oldest ones, at most `most`; they are forgotten here.
    pub(crate) fn take(&self, most: usize) -> Vec<Leftover> {
        let mut left = self.left();
        let most = most.min(left.len());
        left.drain(..most).collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.left().len()
    }

    fn left(&self) -> MutexGuard<'_, VecDeque<Leftover>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Leftover {
    /// Whether a body of this `age` is that of the message that was finished, and not of one that was enqueued under the
    /// same id after another sweep had deleted the first: only the first is older than the settlement.
    ///
    /// `now` was read after the age was, so that a doubtful body counts as too young and stays.
    pub(crate) fn is_of(&self, age: Duration, now: Duration) -> bool {
        age > now.saturating_sub(self.settling.at)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_does_not_fit_is_left_to_the_sweep() {
        let (left, at) = (Leftovers::default(), Settling { at: Duration::from_secs(3), takeovers: 0 });
        let ids = |from: u128, to: u128| (from..to).map(Uuid::from_u128);
        left.note(at, ids(0, 99_999));
        left.note(at, ids(99_999, 100_005));
        assert_eq!(left.len(), 100_000);
        assert_eq!(left.take(1), [Leftover { id: Uuid::nil(), settling: at }]);
        left.note(at, ids(7, 9));
        assert_eq!(left.take(200_000).last(), Some(&Leftover { id: Uuid::from_u128(7), settling: at }));
        assert!(left.take(1).is_empty());
    }

    proptest! {
        #[test]
        fn only_a_body_from_before_the_settlement_is_the_finished_ones(
            stored in 0..1000_u64, settled in 0..1000_u64, seen in 1000..2000_u64, late in 0..100_u64,
        ) {
            let [stored, settled, seen, late] = [stored, settled, seen, late].map(Duration::from_micros);
            let settling = Settling { at: settled, takeovers: 0 };
            let leftover = Leftover { id: Uuid::nil(), settling };
            let is_of = leftover.is_of(seen - stored, seen + late);
            prop_assert!(!is_of || stored < settled);
            prop_assert!(is_of || stored + late >= settled);
        }
    }
}
