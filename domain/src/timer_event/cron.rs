use std::fmt;

use croner::parser::{CronParser, Seconds, Year};
use jiff::{Zoned, tz::TimeZone};

use crate::{Invalid, Timestamp};

/// A cron expression in a time zone.
///
/// Five fields (minute, hour, day of month, month, day of week) or six with seconds before them; names of months and
/// days, lists, ranges, steps and `L`, `#`, `W` are understood. If day of month and day of week are both given, either
/// is enough.
///
/// Where clocks are put forward, a job of a fixed time that falls into the gap occurs right after it; where they are put
/// back, it occurs once. A job of every hour or minute follows the real time. The rules of the zones are part of the
/// program, so that all instances of one version agree.
///
/// ```
/// use claimstream_domain::{Timestamp, timer_event::Cron};
///
/// let monthly = Cron::new("0 3 1 * *", "Europe/Berlin")?;
/// let now: Timestamp = "2026-12-24T18:00:00Z".parse()?;
/// assert_eq!(monthly.next_after(now), Some("2027-01-01T02:00:00Z".parse()?));
/// # Ok::<(), claimstream_domain::Invalid>(())
/// ```
#[derive(Clone)]
pub struct Cron {
    expression: Box<str>,
    zone: TimeZone,
    pattern: Box<croner::Cron>,
}

impl Cron {
    /// Reads an expression, such as `30 2 * * *`, for a zone of the IANA database, such as `Europe/Berlin` or `UTC`.
    ///
    /// An expression that never comes true, such as the 30th of February, is refused.
    pub fn new(expression: &str, zone: &str) -> Result<Self, Invalid> {
        let parser = CronParser::builder().seconds(Seconds::Optional).year(Year::Disallowed).build();
        let pattern = parser.parse(expression).map_err(|e| malformed("cron expression", e))?;
        let zone = TimeZone::get(zone).map_err(|e| malformed("time zone", e))?;
        let cron = Self { expression: expression.into(), zone, pattern: Box::new(pattern) };
        match cron.next_after_second(0) {
            Some(_) => Ok(cron),
            None => Err(malformed("cron expression", format!("{expression:?} never comes true"))),
        }
    }

    /// The expression.
    pub fn expression(&self) -> &str {
        &self.expression
    }

    /// The first occurrence that is later than `moment`; `None` if there is none before the end of time.
    pub fn next_after(&self, moment: Timestamp) -> Option<Timestamp> {
        // Occurrences are whole seconds, so what the moment has beyond its second does not matter.
        self.next_after_second(moment.as_micros() / 1_000_000)
    }

    /// Whether `moment` is an occurrence.
    pub fn has(&self, moment: Timestamp) -> bool {
        moment.as_micros() % 1_000_000 == 0
            && self.next_after_second(moment.as_micros() / 1_000_000 - 1) == Some(moment)
    }

    fn next_after_second(&self, second: i64) -> Option<Timestamp> {
        let start: Zoned = jiff::Timestamp::new(second, 0).ok()?.to_zoned(self.zone.clone());
        let found = self.pattern.find_next_occurrence(&start, false).ok()?;
        Timestamp::from_micros(found.timestamp().as_microsecond()).ok()
    }
}

impl fmt::Debug for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cron({:?}, {})", self.expression, self.zone.iana_name().unwrap_or("UTC"))
    }
}

fn malformed(what: &'static str, why: impl fmt::Display) -> Invalid {
    Invalid::Malformed { what, why: why.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(expression: &str, zone: &str, after: &str, count: usize) -> Vec<String> {
        let cron = Cron::new(expression, zone).unwrap();
        let mut moment: Timestamp = after.parse().unwrap();
        let mut found = Vec::new();
        for _ in 0..count {
            moment = cron.next_after(moment).unwrap();
            assert!(cron.has(moment), "{moment}");
            found.push(moment.to_string());
        }
        found
    }

    #[test]
    fn knows_the_zones_and_their_summer_times() {
        let found = next("0 3 * * *", "Asia/Seoul", "2026-05-01T00:00:00Z", 2);
        assert_eq!(found, ["2026-05-01T18:00:00Z", "2026-05-02T18:00:00Z"]);
        let found = next("0 3 * * *", "Europe/Berlin", "2026-03-27T12:00:00Z", 3);
        assert_eq!(found, ["2026-03-28T02:00:00Z", "2026-03-29T01:00:00Z", "2026-03-30T01:00:00Z"]);
    }

    #[test]
    fn a_nightly_job_is_neither_lost_nor_doubled_where_clocks_are_changed() {
        let forward = next("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", 2);
        assert_eq!(forward, ["2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"]);
        let back = next("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", 2);
        assert_eq!(back, ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]);
    }

    #[test]
    fn an_hourly_job_follows_the_real_time() {
        let back = next("0 * * * *", "Europe/Berlin", "2026-10-24T23:30:00Z", 4);
        let expected = ["2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z", "2026-10-25T02:00:00Z"];
        assert_eq!(back[..3], expected);
    }

    #[test]
    fn seconds_are_optional_and_a_moment_is_not_its_own_successor() {
        let every = next("*/20 * * * * *", "UTC", "2026-01-01T00:00:19.999999Z", 2);
        assert_eq!(every, ["2026-01-01T00:00:20Z", "2026-01-01T00:00:40Z"]);
        let minute = next("* * * * *", "UTC", "2026-01-01T00:00:00Z", 1);
        assert_eq!(minute, ["2026-01-01T00:01:00Z"]);
        let cron = Cron::new("* * * * *", "UTC").unwrap();
        assert!(!cron.has("2026-01-01T00:00:00.000001Z".parse().unwrap()));
        assert!(!cron.has("2026-01-01T00:00:01Z".parse().unwrap()));
    }

    #[test]
    fn refuses_what_cannot_be_read_or_never_comes_true() {
        for (expression, zone) in [
            ("", "UTC"),
            ("a b c d e", "UTC"),
            ("61 * * * *", "UTC"),
            ("0 0 30 2 *", "UTC"),
            ("* * * * *", "Mars/Olympus"),
        ] {
            assert!(Cron::new(expression, zone).is_err(), "{expression:?} {zone}");
        }
    }
}
