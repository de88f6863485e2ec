use std::{fmt, str::FromStr, time::Duration};

use jiff::civil::Time;
use serde::{Deserialize, Serialize};

use super::TimeZone;
use crate::{Invalid, Timestamp};

/// The hours of a day in which nothing is delivered that can wait, such as `22:00-08:00`; `none` is no hours at all.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct QuietHours {
    from: Time,
    to: Time,
}

impl QuietHours {
    /// No quiet hours: what says more than saying nothing, where those of others would hold.
    pub const NONE: Self = Self { from: Time::midnight(), to: Time::midnight() };

    /// How long a delivery at `now` has to wait until the hours are over; nothing outside them.
    ///
    /// The hours are those that clocks show in the zone. Where clocks are put forward over the end, they end as soon as the
    /// clocks show a later time; where they are put back over it, they end the first time.
    pub fn wait(self, now: Timestamp, zone: &TimeZone) -> Duration {
        self.end(now, zone).unwrap_or_default()
    }

    fn end(self, now: Timestamp, zone: &TimeZone) -> Option<Duration> {
        let local = zone.at(now)?;
        let time = local.time();
        if !self.has(time) {
            return None;
        }
        let day = if time < self.to { local.date() } else { local.date().tomorrow().ok()? };
        let end = day.to_datetime(self.to).to_zoned(local.time_zone().clone()).ok()?;
        let wait = end.timestamp().as_microsecond().saturating_sub(now.as_micros());
        // The end came already where clocks were put back after it.
        u64::try_from(wait).ok().map(Duration::from_micros)
    }

    /// Whether clocks that show `time` show a quiet hour.
    fn has(self, time: Time) -> bool {
        match self.from <= self.to {
            true => self.from <= time && time < self.to,
            false => self.from <= time || time < self.to,
        }
    }
}

impl fmt::Display for QuietHours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.from == self.to {
            return f.write_str("none");
        }
        let (from, to) = (self.from, self.to);
        write!(f, "{:02}:{:02}-{:02}:{:02}", from.hour(), from.minute(), to.hour(), to.minute())
    }
}

impl FromStr for QuietHours {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        if text.trim() == "none" {
            return Ok(Self::NONE);
        }
        let malformed = || Invalid::Malformed {
            what: "quiet hours",
            why: format!("{text:?} is neither \"none\" nor like \"22:00-08:00\""),
        };
        let (from, to) = text.split_once('-').ok_or_else(malformed)?;
        let (from, to) = (time(from).ok_or_else(malformed)?, time(to).ok_or_else(malformed)?);
        match from == to {
            true => Err(malformed()),
            false => Ok(Self { from, to }),
        }
    }
}

/// Hours and minutes.
fn time(text: &str) -> Option<Time> {
    let (hour, minute) = text.trim().split_once(':')?;
    let number = |digits: &str| match digits.len() == 2 && digits.bytes().all(|b| b.is_ascii_digit()) {
        true => digits.parse::<i8>().ok(),
        false => None,
    };
    Time::new(number(hour)?, number(minute)?, 0, 0).ok()
}

impl TryFrom<String> for QuietHours {
    type Error = Invalid;

    fn try_from(text: String) -> Result<Self, Invalid> {
        text.parse()
    }
}

impl From<QuietHours> for String {
    fn from(hours: QuietHours) -> Self {
        hours.to_string()
    }
}

#[cfg(test)]
mod tests {
    //! Promise: a message that can wait does so until the end of the recipient's quiet hours, also across
    //! changes of the clock
    use proptest::prelude::*;

    use super::*;

    /// When something is delivered that is due at `now`.
    fn delivered(hours: &str, zone: &str, now: &str) -> String {
        let (hours, zone): (QuietHours, TimeZone) = (hours.parse().unwrap(), zone.parse().unwrap());
        let now: Timestamp = now.parse().unwrap();
        later(now, hours.wait(now, &zone)).to_string()
    }

    fn later(now: Timestamp, wait: Duration) -> Timestamp {
        Timestamp::from_micros(now.as_micros() + wait.as_micros() as i64).unwrap()
    }

    #[test]
    fn a_night_is_waited_for_before_and_after_midnight_and_a_day_is_not() {
        let at = |now| delivered("22:00-08:00", "Asia/Seoul", now);
        assert_eq!(at("2026-05-01T21:59:59+09:00"), "2026-05-01T12:59:59Z");
        assert_eq!(at("2026-05-01T22:00:00+09:00"), "2026-05-01T23:00:00Z");
        assert_eq!(at("2026-05-02T07:59:59.5+09:00"), "2026-05-01T23:00:00Z");
        assert_eq!(at("2026-05-02T08:00:00+09:00"), "2026-05-01T23:00:00Z");
        assert_eq!(delivered("12:00-13:30", "UTC", "2026-05-01T13:00:00Z"), "2026-05-01T13:30:00Z");
        assert_eq!(delivered("none", "UTC", "2026-05-01T00:00:00Z"), "2026-05-01T00:00:00Z");
    }

    #[test]
    fn the_end_of_a_night_is_what_clocks_show_though_they_are_changed_in_it() {
        let at = |now| delivered("22:00-08:00", "Europe/Berlin", now);
        assert_eq!(at("2026-03-28T22:00:00+01:00"), "2026-03-29T06:00:00Z");
        assert_eq!(at("2026-10-24T22:00:00+02:00"), "2026-10-25T07:00:00Z");
    }

    #[test]
    fn an_end_that_clocks_leave_out_is_the_moment_they_pass_it() {
        let at = |now| delivered("22:00-02:30", "Europe/Berlin", now);
        assert_eq!(at("2026-03-29T01:30:00+01:00"), "2026-03-29T01:30:00Z");
        assert_eq!(at("2026-03-29T03:10:00+02:00"), "2026-03-29T01:10:00Z");
    }

    #[test]
    fn an_end_that_clocks_show_twice_is_the_first_one() {
        let at = |now| delivered("22:00-02:30", "Europe/Berlin", now);
        assert_eq!(at("2026-10-25T02:10:00+02:00"), "2026-10-25T00:30:00Z");
        assert_eq!(at("2026-10-25T02:10:00+01:00"), "2026-10-25T01:10:00Z");
    }

    #[test]
    fn refuses_what_is_no_window() {
        for text in
            ["", "22:00", "22-08", "22:00-22:00", "24:00-08:00", "22:60-08:00", "2:00-08:00", "+1:00-08:00"]
        {
            assert!(text.parse::<QuietHours>().is_err(), "{text:?}");
        }
        let hours: QuietHours = "22:00-08:00".parse().unwrap();
        assert_eq!(serde_json::to_string(&hours).unwrap(), "\"22:00-08:00\"");
        assert_eq!(serde_json::from_str::<QuietHours>("\"none\"").unwrap(), QuietHours::NONE);
    }

    proptest! {
        #[test]
        fn a_wait_ends_outside_the_hours_and_is_shorter_than_a_day_and_a_change_of_clocks(
            from in 0..1440_i64, length in 1..1440_i64, now in 0..4_000_000_000_000_000_i64, zone in 0..4_usize,
        ) {
            let zones = ["Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe"];
            let zone: TimeZone = zones[zone].parse().unwrap();
            let time = |minute: i64| Time::new((minute / 60 % 24) as i8, (minute % 60) as i8, 0, 0).unwrap();
            let hours = QuietHours { from: time(from), to: time(from + length) };
            prop_assert_eq!(hours.to_string().parse(), Ok(hours));
            let now = Timestamp::from_micros(now).unwrap();
            let wait = hours.wait(now, &zone);
            prop_assert!(wait <= Duration::from_secs(26 * 3600));
            let local = zone.at(now).unwrap();
            prop_assert!(wait.is_zero() || hours.has(local.time()));
            let end = later(now, wait);
            // Where clocks are put back over the end, the hours seem to come once more.
            let shown = zone.at(end).unwrap();
            let again = shown.clone().checked_sub(jiff::SignedDuration::from_hours(1)).unwrap();
            prop_assert!(!hours.has(shown.time()) || again.offset() != shown.offset());
        }
    }
}
