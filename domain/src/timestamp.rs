use std::{
    fmt,
    str::FromStr,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use crate::Invalid;

/// An absolute moment that a user chose, in whole microseconds of UTC, between the years 1970 and 9999.
///
/// It is the only instant that crosses a port; everything else that crosses is a duration.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The last microsecond of the year 9999, the end of what a `DATETIME(6)` holds.
    pub const MAX: Self = Self(253_402_300_799_999_999);

    /// Takes microseconds since 1970-01-01 00:00 UTC.
    pub fn from_micros(micros: i64) -> Result<Self, Invalid> {
        if (0..=Self::MAX.0).contains(&micros) {
            return Ok(Self(micros));
        }
        Err(Invalid::OutOfRange {
            what: "time",
            given: format!("{micros} us"),
            allowed: "between the years 1970 and 9999".into(),
        })
    }

    /// Microseconds since 1970-01-01 00:00 UTC.
    pub fn as_micros(self) -> i64 {
        self.0
    }
}

impl TryFrom<SystemTime> for Timestamp {
    type Error = Invalid;

    fn try_from(time: SystemTime) -> Result<Self, Invalid> {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        Self::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
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
        match jiff::Timestamp::from_microsecond(self.0) {
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
}
