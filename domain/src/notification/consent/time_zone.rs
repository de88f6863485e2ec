use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{Invalid, Timestamp};

/// A time zone of the IANA database, such as `Europe/Berlin`. The rules of the zones are part of the program.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TimeZone(jiff::tz::TimeZone);

impl TimeZone {
    /// Universal time.
    pub const UTC: Self = Self(jiff::tz::TimeZone::UTC);

    /// The zone of this name; refuses one that the database does not know.
    pub fn new(name: &str) -> Result<Self, Invalid> {
        let malformed = |e| Invalid::Malformed {
            what: "time zone",
            why: format!("{e}; write it like Europe/Berlin or UTC"),
        };
        jiff::tz::TimeZone::get(name).map(Self).map_err(malformed)
    }

    /// The zone's name.
    pub fn name(&self) -> &str {
        self.0.iana_name().unwrap_or("UTC")
    }

    /// What clocks show there at a moment.
    pub(super) fn at(&self, moment: Timestamp) -> Option<jiff::Zoned> {
        Some(jiff::Timestamp::from_microsecond(moment.as_micros()).ok()?.to_zoned(self.0.clone()))
    }
}

impl Default for TimeZone {
    fn default() -> Self {
        Self::UTC
    }
}

impl FromStr for TimeZone {
    type Err = Invalid;

    fn from_str(name: &str) -> Result<Self, Invalid> {
        Self::new(name)
    }
}

impl TryFrom<String> for TimeZone {
    type Error = Invalid;

    fn try_from(name: String) -> Result<Self, Invalid> {
        Self::new(&name)
    }
}

impl From<TimeZone> for String {
    fn from(zone: TimeZone) -> Self {
        zone.name().to_owned()
    }
}

impl fmt::Display for TimeZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
