use std::{
    fmt,
    str::FromStr,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use crate::Invalid;

/// An absolute moment that a user chose, in whole microseconds of UTC, from 1970 to the end of the year 9999.
///
/// It is the only instant that crosses a port; everything else that crosses is a duration.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Timestamp(i64);

impl Timestamp {
    /// `9999-12-30T22:00:00.999999Z`, the last microsecond that has four digits for its year wherever on earth it is
    /// written.
    pub const MAX: Self = Self(253_402_207_200_999_999);

    /// Takes microseconds since 1970-01-01 00:00 UTC.
    pub fn from_micros(micros: i64) -> Result<Self, Invalid> {
        if (0..=Self::MAX.0).contains(&micros) {
            return Ok(Self(micros));
        }
        Err(Invalid::OutOfRange {
            what: "time",
            given: format!("{micros} us"),
            allowed: format!("between the year 1970 and {}", Self::MAX),
        })
    }

    /// Microseconds since 1970-01-01 00:00 UTC.
    pub fn as_micros(self) -> i64 {
        self.0
    }
}

/// Refuses what lies before 1970, as a clock that was never set does.
impl TryFrom<SystemTime> for Timestamp {
    type Error = Invalid;

    fn try_from(time: SystemTime) -> Result<Self, Invalid> {
        let micros = |span: Duration| i64::try_from(span.as_micros()).unwrap_or(i64::MAX);
        match time.duration_since(UNIX_EPOCH) {
            Ok(since) => Self::from_micros(micros(since)),
            Err(before) => Self::from_micros(micros(before.duration()).saturating_neg().min(-1)),
        }
    }
}

/// Reads RFC 3339, for example `2026-12-24T18:00:00+09:00`.
impl FromStr for Timestamp {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let parsed: jiff::Timestamp = text.parse().map_err(|e| Invalid::Malformed {
            what: "time",
            why: format!("{e}; write it like 2026-12-24T18:00:00+09:00"),
        })?;
        Self::from_micros(parsed.as_microsecond())
    }
}

/// Writes RFC 3339 in UTC.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, micros) = (self.0 / 1_000_000, self.0 % 1_000_000);
        match jiff::Timestamp::new(seconds, micros as i32 * 1_000) {
            Ok(time) => write!(f, "{time}"),
            Err(_) => write!(f, "{} us", self.0),
        }
    }
}

impl serde::Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Timestamp {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_offsets_and_writes_utc() {
        let time: Timestamp = "2026-12-24T18:00:00.000001+09:00".parse().unwrap();
        assert_eq!(time.to_string(), "2026-12-24T09:00:00.000001Z");
        assert!("yesterday".parse::<Timestamp>().is_err());
        assert!(Timestamp::from_micros(-1).is_err());
    }

    #[test]
    fn whatever_is_a_time_can_be_written_and_read_back() {
        assert_eq!(Timestamp::MAX.to_string(), "9999-12-30T22:00:00.999999Z");
        for time in [Timestamp::MAX, Timestamp::from_micros(0).unwrap()] {
            assert_eq!(time.to_string().parse(), Ok(time));
        }
        assert!(Timestamp::from_micros(Timestamp::MAX.as_micros() + 1).is_err());
    }

    #[test]
    fn a_clock_that_shows_a_time_before_1970_is_refused() {
        assert!(Timestamp::try_from(UNIX_EPOCH - Duration::from_secs(1)).is_err());
        assert!(Timestamp::try_from(UNIX_EPOCH - Duration::from_nanos(1)).is_err());
        assert_eq!(Timestamp::try_from(UNIX_EPOCH).map(Timestamp::as_micros), Ok(0));
    }
}
