use std::time::Duration;

use crate::trouble::Trouble;

/// How long to wait before the log is asked for again.
pub(crate) struct Retry {
    next: Duration,
    refused_for: Duration,
}

impl Retry {
    const FIRST: Duration = Duration::from_millis(50);
    const LAST: Duration = Duration::from_secs(2);
    /// A connection that lasted so long was a good one. Two readers with one server id end each other's sooner.
    pub(crate) const STEADY: Duration = Duration::from_secs(10);

    pub(crate) fn new(refused_for: Duration) -> Self {
        Self { next: Self::FIRST, refused_for }
    }

    /// The wait after a connection that `lasted` so long; waits double while none lasts.
    pub(crate) fn after(&mut self, trouble: &Trouble, lasted: Duration) -> Duration {
        if matches!(trouble, Trouble::Refused(_)) {
            return self.refused_for;
        }
        let wait = if lasted >= Self::STEADY { Self::FIRST } else { self.next };
        self.next = (wait * 2).min(Self::LAST);
        wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_until_a_connection_lasts_and_are_long_after_a_refusal() {
        let mut retry = Retry::new(Duration::from_secs(300));
        let passing = Trouble::Passing(String::new());
        let waits: Vec<_> = (0..8).map(|_| retry.after(&passing, Duration::ZERO).as_millis()).collect();
        assert_eq!(waits, [50, 100, 200, 400, 800, 1_600, 2_000, 2_000]);
        assert_eq!(retry.after(&Trouble::Refused(String::new()), Duration::ZERO).as_secs(), 300);
        assert_eq!(retry.after(&passing, Duration::from_secs(60)).as_millis(), 50);
        assert_eq!(retry.after(&passing, Duration::ZERO).as_millis(), 100);
    }
}
