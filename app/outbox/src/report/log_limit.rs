use std::{mem, time::Duration};

/// Lets some of many like log lines through, so that a flood of them cannot fill a disk: so many at once, and as many again
/// after waits that double from a second to a minute. After a quiet minute it begins again.
pub(crate) struct LogLimit {
    at_once: u32,
    /// Since when it counts, on the timer's clock, and for how long; `None` before the first line.
    window: Option<(Duration, Duration)>,
    logged: u32,
    unlogged: u64,
}

impl LogLimit {
    const FIRST: Duration = Duration::from_secs(1);
    const LONGEST: Duration = Duration::from_secs(60);

    /// `at_once` lines are logged before the first wait, and after each.
    pub(crate) fn new(at_once: u32) -> Self {
        Self { at_once, window: None, logged: 0, unlogged: 0 }
    }

    /// Whether a line is to be logged at `now`; `Some` has the number of lines left out since the last one that was logged.
    pub(crate) fn admit(&mut self, now: Duration) -> Option<Unlogged> {
        let length = self.next_window(now);
        if let Some(length) = length {
            (self.window, self.logged) = (Some((now, length)), 0);
        }
        if self.logged >= self.at_once {
            self.unlogged += 1;
            return None;
        }
        self.logged += 1;
        Some(Unlogged(mem::take(&mut self.unlogged)))
    }

    /// How long the window is that begins at `now`; `None` if the last one still lasts.
    fn next_window(&self, now: Duration) -> Option<Duration> {
        let Some((since, length)) = self.window else { return Some(Self::FIRST) };
        let over = now.checked_sub(since + length)?;
        Some(if over < Self::LONGEST { (length * 2).min(Self::LONGEST) } else { Self::FIRST })
    }
}

/// How many lines were left out before one that is logged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Unlogged(u64);

impl Unlogged {
    /// The value of a log line's field; a line before which none was left out has no such field.
    pub(crate) fn field(self) -> Option<u64> {
        (self.0 > 0).then_some(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At which milliseconds lines are logged of those that come every `every` ms, up to `end`, and how many were left out.
    fn logged(limit: &mut LogLimit, every: u64, end: u64) -> Vec<(u64, u64)> {
        let moments = (0..end).step_by(every as usize);
        let admit = |ms| limit.admit(Duration::from_millis(ms)).map(|unlogged| (ms, unlogged.0));
        moments.filter_map(admit).collect()
    }

    #[test]
    fn the_first_line_is_logged_and_then_others_at_growing_distances_with_the_count() {
        let lines = logged(&mut LogLimit::new(1), 500, 200_000);
        let expected = [(0, 0), (1000, 1), (3000, 3), (7000, 7), (15_000, 15), (31_000, 31), (63_000, 63)];
        assert_eq!(lines[..7], expected);
        assert_eq!(lines[7..], [(123_000, 119), (183_000, 119)], "no more than a minute apart");
    }

    #[test]
    fn lines_that_come_slowly_are_all_logged_if_enough_are_allowed_at_once() {
        let lines = logged(&mut LogLimit::new(10), 6_000, 600_000);
        assert_eq!(lines.len(), 100);
    }

    #[test]
    fn after_a_quiet_minute_it_begins_anew() {
        let mut limit = LogLimit::new(1);
        logged(&mut limit, 100, 40_000);
        let again = Duration::from_secs(200);
        assert!(limit.admit(again).is_some());
        assert_eq!(limit.admit(again + Duration::from_millis(1)), None);
        assert_eq!(limit.admit(again + Duration::from_secs(1)).and_then(Unlogged::field), Some(1));
    }
}
