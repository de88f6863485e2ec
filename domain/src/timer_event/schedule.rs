use std::time::Duration;

use super::Cron;
use crate::{Invalid, Timestamp};

/// When the events of a scheme occur.
///
/// A schedule is a function of the moment that it is given and of nothing else, so all instances agree on it without
/// talking to each other.
#[derive(Clone, Debug)]
pub enum Schedule {
    /// At equal distances.
    Every(Interval),
    /// By the calendar.
    Cron(Cron),
}

/// Moments at equal distances, in whole microseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Interval {
    every: i64,
    anchor: i64,
}

impl Schedule {
    /// Every `distance`, counted from 1970-01-01 00:00 UTC, so that every hour is on the hour; refuses less than 1 s or more
    /// than 8000 years.
    pub fn every(distance: Duration) -> Result<Self, Invalid> {
        Interval::new(distance, None).map(Self::Every)
    }

    /// Every `distance`, so that `anchor` is one of the moments; there are others before it. Refuses what
    /// [`every`](Self::every) refuses.
    pub fn every_through(anchor: Timestamp, distance: Duration) -> Result<Self, Invalid> {
        Interval::new(distance, Some(anchor)).map(Self::Every)
    }

    /// By a cron expression in a time zone; refuses what [`Cron::new`] refuses.
    pub fn cron(expression: &str, zone: &str) -> Result<Self, Invalid> {
        Cron::new(expression, zone).map(Self::Cron)
    }

    /// The first occurrence that is later than `moment`; `None` if there is none before the end of time.
    ///
    /// Given the present moment it leaves out whatever was missed.
    pub fn next_after(&self, moment: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Every(interval) => interval.next_after(moment),
            Self::Cron(cron) => cron.next_after(moment),
        }
    }

    /// Whether `moment` is an occurrence.
    pub fn has(&self, moment: Timestamp) -> bool {
        match self {
            Self::Every(interval) => interval.has(moment),
            Self::Cron(cron) => cron.has(moment),
        }
    }
}

impl Interval {
    /// The shortest distance, one second: events are for work, and each is a few transactions.
    pub const MIN: Duration = Duration::from_secs(1);

    fn new(distance: Duration, anchor: Option<Timestamp>) -> Result<Self, Invalid> {
        let every = i64::try_from(distance.as_micros()).ok();
        match every.filter(|every| distance >= Self::MIN && *every <= Timestamp::MAX.as_micros()) {
            Some(every) => Ok(Self { every, anchor: anchor.map_or(0, Timestamp::as_micros) % every }),
            None => Err(Invalid::OutOfRange {
                what: "interval",
                given: format!("{distance:?}"),
                allowed: "between a second and 8000 years".into(),
            }),
        }
    }

    fn next_after(&self, moment: Timestamp) -> Option<Timestamp> {
        let passed = (moment.as_micros() - self.anchor).div_euclid(self.every);
        let next = (passed + 1).checked_mul(self.every)?.checked_add(self.anchor)?;
        Timestamp::from_micros(next).ok()
    }

    fn has(&self, moment: Timestamp) -> bool {
        (moment.as_micros() - self.anchor).rem_euclid(self.every) == 0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn moment(micros: i64) -> Timestamp {
        Timestamp::from_micros(micros).unwrap()
    }

    fn schedules() -> impl Strategy<Value = Schedule> {
        let interval =
            (1_000_000..1_000_000_000_000_i64, 0..2_000_000_000_000_000_i64).prop_map(|(every, anchor)| {
                Schedule::every_through(moment(anchor), Duration::from_micros(every.unsigned_abs())).unwrap()
            });
        let expressions =
            vec!["*/7 * * * *", "30 2 * * *", "0 0 1 * *", "15,45 8-18 * * MON-FRI", "*/10 * * * * *"];
        let zones = vec!["UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe"];
        let cron = (prop::sample::select(expressions), prop::sample::select(zones))
            .prop_map(|(expression, zone)| Schedule::cron(expression, zone).unwrap());
        prop_oneof![interval, cron]
    }

    #[test]
    fn an_interval_is_counted_from_1970_or_through_its_anchor() {
        let next = |schedule: Result<Schedule, Invalid>, after: &str| {
            schedule.unwrap().next_after(after.parse().unwrap()).map(|next| next.to_string())
        };
        let hour = Duration::from_secs(3600);
        assert_eq!(next(Schedule::every(hour), "2026-01-01T10:17:00Z").unwrap(), "2026-01-01T11:00:00Z");
        let anchor = "2026-01-01T00:05:00Z".parse().unwrap();
        let through = || Schedule::every_through(anchor, hour);
        assert_eq!(next(through(), "2026-01-01T10:05:00Z").unwrap(), "2026-01-01T11:05:00Z");
        assert_eq!(next(through(), "1970-01-01T00:00:00Z").unwrap(), "1970-01-01T00:05:00Z");
        assert_eq!(next(through(), &Timestamp::MAX.to_string()), None);
    }

    #[test]
    fn refuses_what_would_never_rest_or_never_end() {
        for distance in [Duration::ZERO, Duration::from_millis(999), Duration::MAX] {
            assert!(Schedule::every(distance).is_err(), "{distance:?}");
        }
    }

    proptest! {
        #[test]
        fn the_next_occurrence_is_later_and_nothing_lies_between(
            schedule in schedules(),
            after in 1_500_000_000_000_000..2_000_000_000_000_000_i64,
            part in 0.0..1.0_f64,
        ) {
            let after = moment(after);
            let next = schedule.next_after(after).unwrap();
            prop_assert!(next > after);
            prop_assert!(schedule.has(next));
            let gap = next.as_micros() - after.as_micros();
            let between = moment(after.as_micros() + ((gap - 1) as f64 * part) as i64);
            prop_assert_eq!(schedule.next_after(between), Some(next), "from {}", between);
            prop_assert!(between == after || !schedule.has(between));
        }
    }
}
