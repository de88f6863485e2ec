use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};

/// How often each duration was seen, to within one hundredth of it.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug, Default)]
#[serde(transparent)]
pub(crate) struct Latencies(BTreeMap<u64, u64>);

impl Latencies {
    /// Counts one.
    pub(crate) fn add(&mut self, took: Duration) {
        *self.0.entry(rounded(took.as_micros() as u64)).or_default() += 1;
    }

    /// Counts all of another.
    pub(crate) fn join(&mut self, other: &Self) {
        for (micros, count) in &other.0 {
            *self.0.entry(*micros).or_default() += count;
        }
    }

    /// The duration in milliseconds that this share of all is not above; none without any.
    pub(crate) fn percentile(&self, share: f64) -> Option<f64> {
        let wanted = (self.count() as f64 * share).ceil().max(1.0) as u64;
        let mut seen = 0;
        let reached = self.0.iter().find(|(_, count)| {
            seen += **count;
            seen >= wanted
        });
        reached.map(|(micros, _)| *micros as f64 / 1000.0)
    }

    pub(crate) fn count(&self) -> u64 {
        self.0.values().sum()
    }

    /// Milliseconds and the share in percent of what lies in between this and the one before; each bar is twice as long as
    /// the one before.
    pub(crate) fn bars(&self) -> Vec<[f64; 2]> {
        let all = self.count().max(1) as f64;
        let mut bars: BTreeMap<u32, u64> = BTreeMap::new();
        for (micros, count) in &self.0 {
            *bars.entry(micros.max(&1).ilog2() + 1).or_default() += count;
        }
        let bar =
            |(power, count): (u32, u64)| [2_f64.powi(power as i32) / 1000.0, 100.0 * count as f64 / all];
        bars.into_iter().map(bar).collect()
    }
}

/// Seven binary digits are kept.
fn rounded(micros: u64) -> u64 {
    let dropped = (u64::BITS - micros.leading_zeros()).saturating_sub(7);
    micros >> dropped << dropped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(millis: impl IntoIterator<Item = u64>) -> Latencies {
        let mut latencies = Latencies::default();
        millis.into_iter().for_each(|ms| latencies.add(Duration::from_millis(ms)));
        latencies
    }

    #[test]
    fn percentiles_are_within_a_hundredth() {
        let latencies = of(1..=1000);
        for (share, expected) in [(0.5, 500.0), (0.99, 990.0), (1.0, 1000.0)] {
            let found = latencies.percentile(share).unwrap();
            assert!((found / expected - 1.0).abs() < 0.016, "{share}: {found}");
        }
        assert_eq!(Latencies::default().percentile(0.5), None);
    }

    #[test]
    fn two_joined_count_as_one() {
        let mut one = of([1, 2]);
        one.join(&of([2, 3]));
        assert_eq!(one, of([1, 2, 2, 3]));
    }

    #[test]
    fn bars_hold_everything() {
        let total: f64 = of(1..=77).bars().iter().map(|bar| bar[1]).sum();
        assert!((total - 100.0).abs() < 1e-9);
    }
}
