use std::{fmt, str::FromStr};

use super::{Category, PreferenceRule, Preferences, QuietHours, TimeZone};
use crate::{Fingerprint, Invalid, notification::Channel};

/// One change of a recipient's preferences.
///
/// People write it as `email/marketing=off`, `any/marketing=on`, `sms/any=off`, `time_zone=Europe/Berlin` or
/// `quiet_hours=22:00-08:00`; without a value it takes away what was set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PreferenceChange {
    /// What the recipient wants of a channel and a category.
    Rule {
        /// The channel; every one if none.
        channel: Option<Channel>,
        /// The category; every one if none.
        category: Option<Category>,
        /// Whether it is allowed; nothing is said about it any more if none.
        allowed: Option<bool>,
    },
    /// Its time zone.
    TimeZone(Option<TimeZone>),
    /// Its quiet hours.
    QuietHours(Option<QuietHours>),
    /// Everything that it wants, in place of all that it wanted.
    All(Preferences),
    /// The same, on condition that nothing has changed since the caller read what it wanted.
    AllIf {
        /// The fingerprints of the JSON of preferences that may be replaced.
        before: Vec<Fingerprint>,
        /// Everything that it wants.
        wanted: Preferences,
    },
}

impl PreferenceChange {
    /// The preferences after this change; one that is made again changes nothing. Refuses what [`Preferences::check`] refuses, and as
    /// [`Invalid::Changed`] to replace preferences that the condition does not name.
    pub fn apply(&self, mut before: Preferences) -> Result<Preferences, Invalid> {
        match self {
            Self::Rule { channel, category, allowed } => {
                before.rules.retain(|rule| !rule.is_about(*channel, category.as_ref()));
                let rule =
                    |allowed| PreferenceRule { channel: *channel, category: category.clone(), allowed };
                before.rules.extend(allowed.map(rule));
            }
            Self::TimeZone(zone) => before.time_zone = zone.clone(),
            Self::QuietHours(hours) => before.quiet_hours = *hours,
            Self::All(wanted) => before = wanted.clone(),
            Self::AllIf { before: known, wanted } => {
                if before != *wanted && !known.contains(&Fingerprint::of_json(&before)) {
                    return Err(Invalid::Changed { what: "the preferences" });
                }
                before = wanted.clone();
            }
        }
        before.check().map(|()| before)
    }
}

impl FromStr for PreferenceChange {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let malformed = |why: &dyn fmt::Display| Invalid::Malformed {
            what: "preference",
            why: format!(
                "{text:?}: {why}; write it like email/marketing=off, any/marketing=off, sms/any=off, \
                 time_zone=Europe/Berlin or quiet_hours=22:00-08:00"
            ),
        };
        let (about, value) = text.split_once('=').ok_or_else(|| malformed(&"there is no '='"))?;
        let (about, value) = (about.trim(), Some(value.trim()).filter(|value| !value.is_empty()));
        match about {
            "time_zone" => value.map(str::parse).transpose().map(Self::TimeZone),
            "quiet_hours" => value.map(str::parse).transpose().map(Self::QuietHours),
            _ => {
                let (channel, category) =
                    about.split_once('/').ok_or_else(|| malformed(&"name a channel and a category"))?;
                let any = |name: &str| name == Category::ANY;
                let allowed = match value {
                    None => None,
                    Some("on") => Some(true),
                    Some("off") => Some(false),
                    Some(_) => return Err(malformed(&"use on or off")),
                };
                Ok(Self::Rule {
                    channel: if any(channel) { None } else { Some(channel.parse()?) },
                    category: if any(category) { None } else { Some(category.parse()?) },
                    allowed,
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(changes: &[&str]) -> Result<Preferences, Invalid> {
        changes.iter().try_fold(Preferences::default(), |before, text| {
            text.parse::<PreferenceChange>().and_then(|change| change.apply(before))
        })
    }

    #[test]
    fn a_change_replaces_what_was_said_and_takes_it_away() {
        let all = ["email/marketing=off", "any/orders=on", "time_zone=Asia/Seoul", "quiet_hours=22:00-08:00"];
        let made = after(&all).unwrap();
        assert_eq!(after(&[all, all].concat()).unwrap().rules.len(), 2);
        assert_eq!(made.rules[0].about(), "email/marketing");
        assert_eq!(made.time_zone.as_ref().map(TimeZone::name), Some("Asia/Seoul"));
        let gone = ["email/marketing=", "any/orders=", "time_zone=", "quiet_hours="];
        assert_eq!(after(&[all, gone].concat()), Ok(Preferences::default()));
        assert!(after(&["email/marketing=off", "email/marketing=on"]).unwrap().rules[0].allowed);
    }

    #[test]
    fn refuses_what_has_no_meaning() {
        for text in
            ["marketing=off", "email/marketing", "email/marketing=no", "fax/any=off", "quiet_hours=8-9"]
        {
            assert!(text.parse::<PreferenceChange>().is_err(), "{text}");
        }
    }
}
