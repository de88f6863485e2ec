use std::time::Duration;

use crate::shown::count;

/// Lines over the last hour, as the server draws them.
#[derive(Debug)]
pub(crate) struct Chart {
    pub(crate) lines: Vec<ChartLine>,
    /// The largest value that was seen.
    pub(crate) most: u64,
}

/// One line of a chart, in pieces: where nothing was counted there is a gap.
#[derive(Debug)]
pub(crate) struct ChartLine {
    pub(crate) name: &'static str,
    /// The points of each piece, as SVG writes them.
    pub(crate) pieces: Vec<String>,
    /// The newest value.
    pub(crate) now: u64,
}

/// The values of a line, the oldest first, with their ages.
pub(crate) struct Values {
    pub(crate) name: &'static str,
    pub(crate) points: Vec<(Duration, u64)>,
}

impl Chart {
    /// The size of a chart in units of its own; pages stretch it.
    pub(crate) const WIDTH: f64 = 600.0;
    /// See [`WIDTH`](Self::WIDTH).
    pub(crate) const HEIGHT: f64 = 120.0;

    /// Draws values no older than `reach`; points further apart than `gap` are not joined.
    pub(crate) fn of(values: &[Values], reach: Duration, gap: Duration) -> Self {
        let all = values.iter().flat_map(|line| line.points.iter());
        let most = all.map(|(_, value)| *value).max().unwrap_or(0);
        let line = |values: &Values| ChartLine {
            name: values.name,
            pieces: pieces(&values.points, gap)
                .map(|piece| {
                    let at = piece.iter().map(|point| place(*point, reach, most));
                    let mut at: Vec<String> = at.map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
                    // SVG draws nothing from one point to nowhere, and a dot from it to itself.
                    if at.len() == 1 {
                        at.extend_from_within(..);
                    }
                    at.join(" ")
                })
                .collect(),
            now: values.points.last().map_or(0, |(_, value)| *value),
        };
        Self { lines: values.iter().map(line).collect(), most }
    }

    pub(crate) fn most_shown(&self) -> String {
        count(self.most)
    }
}

impl ChartLine {
    pub(crate) fn now_shown(&self) -> String {
        count(self.now)
    }
}

fn pieces(points: &[(Duration, u64)], gap: Duration) -> impl Iterator<Item = &[(Duration, u64)]> {
    points.chunk_by(move |(before, _), (after, _)| before.saturating_sub(*after) <= gap)
}

/// The newest at the right, the most at the top.
fn place((age, value): (Duration, u64), reach: Duration, most: u64) -> (f64, f64) {
    let share = |part: f64, whole: f64| if whole > 0.0 { (part / whole).clamp(0.0, 1.0) } else { 0.0 };
    let x = Chart::WIDTH * (1.0 - share(age.as_secs_f64(), reach.as_secs_f64()));
    let y = Chart::HEIGHT * (1.0 - share(value as f64, most as f64));
    (x, y)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);
    const GAP: Duration = Duration::from_secs(60);

    fn minutes(points: &[(u64, u64)]) -> Vec<(Duration, u64)> {
        points.iter().map(|(age, value)| (Duration::from_secs(age * 60), *value)).collect()
    }

    #[test]
    fn what_was_not_counted_is_a_gap() {
        let values = [Values { name: "due", points: minutes(&[(60, 0), (59, 10), (30, 20), (0, 5)]) }];
        let chart = Chart::of(&values, HOUR, GAP);
        assert_eq!(chart.most, 20);
        assert_eq!(chart.lines[0].now, 5);
        assert_eq!(
            chart.lines[0].pieces,
            ["0.0,120.0 10.0,60.0", "300.0,0.0 300.0,0.0", "600.0,90.0 600.0,90.0"]
        );
    }

    #[test]
    fn a_chart_of_nothing_is_empty() {
        let chart = Chart::of(&[Values { name: "due", points: Vec::new() }], HOUR, GAP);
        assert_eq!((chart.most, chart.lines[0].pieces.len(), chart.lines[0].now), (0, 0, 0));
        let flat = Chart::of(&[Values { name: "due", points: minutes(&[(1, 0), (0, 0)]) }], HOUR, GAP);
        assert_eq!(flat.lines[0].pieces, ["590.0,120.0 600.0,120.0"]);
    }

    proptest! {
        #[test]
        fn every_value_stands_once_and_within_the_box(
            points in prop::collection::vec((0..4_000_u64, any::<u64>()), 0..300),
        ) {
            let mut points: Vec<_> = points.into_iter().map(|(age, value)| (Duration::from_secs(age), value)).collect();
            points.sort_by_key(|(age, _)| std::cmp::Reverse(*age));
            let number = points.len();
            let chart = Chart::of(&[Values { name: "due", points }], HOUR, GAP);
            let places: Vec<(f64, f64)> = chart.lines[0].pieces.iter().flat_map(|piece| piece.split(' ')).map(|at| {
                let (x, y) = at.split_once(',').unwrap();
                (x.parse().unwrap(), y.parse().unwrap())
            }).collect();
            prop_assert!(chart.lines[0].pieces.iter().all(|piece| piece.contains(' ')), "a dot or a line");
            prop_assert!((number..=2 * number).contains(&places.len()));
            prop_assert!(places.iter().all(|(x, y)| (0.0..=Chart::WIDTH).contains(x) && (0.0..=Chart::HEIGHT).contains(y)));
            prop_assert!(places.is_sorted_by(|(before, _), (after, _)| before <= after));
        }
    }
}
