use std::time::Duration;

/// The pauses between two questions to one server: short at first, and longer while no server takes writes.
pub(super) struct Pauses {
    next: Duration,
}

impl Default for Pauses {
    fn default() -> Self {
        Self { next: Self::FIRST }
    }
}

impl Pauses {
    const FIRST: Duration = Duration::from_millis(100);
    /// A server that begins to take writes is asked so soon at least; it has to be found within two seconds.
    const LONGEST: Duration = Duration::from_millis(500);

    /// The next one. Many processes that lost their server at the same moment do not ask at the same moments, by a draw of each.
    pub(super) fn next(&mut self, drawn: u64) -> Duration {
        let whole = self.next;
        self.next = (whole * 2).min(Self::LONGEST);
        let half = u64::try_from(whole.as_micros() / 2).unwrap_or_default();
        Duration::from_micros(half + drawn % (half + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guard: questions to servers become rarer | `next`: always the first pause
    #[test]
    fn pauses_grow_up_to_half_a_second_and_differ() {
        let mut longest = Pauses::default();
        let longest: Vec<_> =
            [50_000, 100_000, 200_000, 250_000, 250_000].map(|drawn| longest.next(drawn)).into();
        assert_eq!(longest, [100, 200, 400, 500, 500].map(Duration::from_millis));
        let mut shortest = Pauses::default();
        let shortest: Vec<_> = (0..4).map(|_| shortest.next(0)).collect();
        assert_eq!(shortest, [50, 100, 200, 250].map(Duration::from_millis));
        assert!(Pauses::default().next(u64::MAX) <= Pauses::FIRST);
    }
}
