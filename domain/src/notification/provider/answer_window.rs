use std::time::Duration;

use super::breaker_policy::BreakerPolicy;

/// Answers counted in slices of time, so that many cost no more memory than few, and the failures since the last that was none.
#[derive(Clone, Debug, Default)]
pub(super) struct AnswerWindow {
    slices: [Slice; AnswerWindow::SLICES as usize],
    in_a_row: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slice {
    number: u64,
    answers: u32,
    failures: u32,
}

impl AnswerWindow {
    const SLICES: u64 = 8;

    pub(super) fn note(&mut self, length: Duration, now: Duration, failed: bool) {
        let number = Self::number(length, now);
        let slice = &mut self.slices[(number % Self::SLICES) as usize];
        if slice.number != number {
            *slice = Slice { number, ..Slice::default() };
        }
        slice.answers = slice.answers.saturating_add(1);
        slice.failures = slice.failures.saturating_add(u32::from(failed));
        self.in_a_row = if failed { self.in_a_row.saturating_add(1) } else { 0 };
    }

    /// Whether there are enough failures in it, and these came in a row or are at least half of the answers.
    pub(super) fn is_bad(&self, policy: BreakerPolicy, now: Duration) -> bool {
        let newest = Self::number(policy.window, now);
        let recent = self.slices.iter().filter(|slice| slice.number + Self::SLICES > newest);
        let (answers, failures) = recent.fold((0_u64, 0_u64), |(answers, failures), slice| {
            (answers + u64::from(slice.answers), failures + u64::from(slice.failures))
        });
        let is_run = self.in_a_row >= policy.failures;
        failures >= u64::from(policy.failures) && (is_run || failures * 2 >= answers)
    }

    fn number(length: Duration, now: Duration) -> u64 {
        let slice = (length / Self::SLICES as u32).as_nanos().max(1);
        u64::try_from(now.as_nanos() / slice).unwrap_or(u64::MAX)
    }
}
