use std::{fmt, time::Duration};

/// A duration for people: its two largest units, such as `3h 12m`.
pub(crate) struct Age(pub(crate) Duration);

impl fmt::Display for Age {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs();
        let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
        match (days, hours, minutes, seconds) {
            (0, 0, 0, 0) => write!(f, "{}ms", self.0.as_millis()),
            (0, 0, 0, _) => write!(f, "{seconds}s"),
            (0, 0, _, _) => write!(f, "{minutes}m {}s", seconds % 60),
            (0, _, _, _) => write!(f, "{hours}h {minutes}m"),
            _ => write!(f, "{days}d {hours}h"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_two_units() {
        let shown = |millis| Age(Duration::from_millis(millis)).to_string();
        assert_eq!([shown(0), shown(999), shown(59_000)], ["0ms", "999ms", "59s"]);
        assert_eq!([shown(61_000), shown(7_260_000), shown(90_000_000)], ["1m 1s", "2h 1m", "1d 1h"]);
    }
}
