use std::{fmt, time::Duration};

use super::{Category, ConsentRules, PreferenceRule, Preferences, Suppression, TimeZone};
use crate::{
    Timestamp,
    notification::{Channel, Priority},
};

/// What is to be sent to a recipient.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Asked<'a> {
    /// How.
    pub channel: Channel,
    /// What it is about.
    pub category: Option<&'a Category>,
    /// How urgent it is.
    pub priority: Priority,
    /// When it is not needed any more.
    pub expires_at: Option<Timestamp>,
    /// The recipient's zone as the directory knows it; its preferences may name another.
    pub time_zone: Option<&'a TimeZone>,
}

/// Whether a recipient is to be notified.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Consent {
    /// At once.
    Now,
    /// Not before this has passed.
    After(Duration),
    /// Not at all.
    No(Refusal),
}

/// Why a recipient is not to be notified.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// The address must not be written to.
    Suppressed(Suppression),
    /// The recipient opted out.
    OptedOut(PreferenceRule),
    /// It has expired.
    Expired,
    /// It would have expired when the recipient's quiet hours are over.
    ExpiresInQuietHours,
}

/// Decides whether and when a recipient is to be notified.
///
/// * A suppressed address is never written to, but for one thing: what recipients cannot opt out of is sent although the owner has
///   unsubscribed.
/// * A recipient that opted out is not notified, unless recipients cannot opt out of the category.
/// * What is not urgent waits until the quiet hours are over, and is not sent if it has expired then.
pub fn consent(
    asked: Asked<'_>,
    preferences: &Preferences,
    suppressed: Option<Suppression>,
    rules: &ConsentRules,
    now: Timestamp,
) -> Consent {
    let required = rules.is_required(asked.category);
    if let Some(reason) = suppressed
        && !(required && reason == Suppression::Unsubscribed)
    {
        return Consent::No(Refusal::Suppressed(reason));
    }
    if !required && let Some(rule) = preferences.opted_out(asked.channel, asked.category) {
        return Consent::No(Refusal::OptedOut(rule.clone()));
    }
    let expires_after = asked.expires_at.map(|at| at.as_micros().saturating_sub(now.as_micros()));
    if expires_after.is_some_and(|left| left <= 0) {
        return Consent::No(Refusal::Expired);
    }
    let zone = preferences.time_zone.as_ref().or(asked.time_zone).unwrap_or(&rules.time_zone);
    let hours = rules.quiet_hours(preferences.quiet_hours, asked.category, asked.priority);
    let wait = hours.map_or(Duration::ZERO, |hours| hours.wait(now, zone));
    let waits = i64::try_from(wait.as_micros()).unwrap_or(i64::MAX);
    match (waits, expires_after) {
        (0, _) => Consent::Now,
        (_, Some(left)) if left <= waits => Consent::No(Refusal::ExpiresInQuietHours),
        _ => Consent::After(wait),
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Suppressed(reason) => write!(f, "suppressed: {reason}"),
            Self::OptedOut(rule) => write!(f, "opted out of {}", rule.about()),
            Self::Expired => f.write_str("expired"),
            Self::ExpiresInQuietHours => f.write_str("expires before the quiet hours end"),
        }
    }
}

#[cfg(test)]
mod tests {
    //! Promise: a recipient that opted out and a suppressed address receive nothing, with the reason in the
    //! record, and a required category has no opt-out
    use proptest::prelude::*;

    use super::{super::CategoryRules, *};

    const HOUR: i64 = 3_600_000_000;

    fn category(name: &str) -> Category {
        Category::new(name).unwrap()
    }

    /// Quiet from 22:00 to 08:00 UTC; `security` is required.
    fn rules() -> ConsentRules {
        let required = CategoryRules { required: true, ..CategoryRules::default() };
        let never =
            CategoryRules { quiet_hours: Some(super::super::QuietHours::NONE), ..CategoryRules::default() };
        ConsentRules {
            categories: [(category("security"), required), (category("orders"), never)].into(),
            quiet_hours: Some("22:00-08:00".parse().unwrap()),
            ..ConsentRules::default()
        }
    }

    fn off(about: &str) -> Preferences {
        let change: super::super::PreferenceChange = format!("{about}=off").parse().unwrap();
        change.apply(Preferences::default()).unwrap()
    }

    fn asked(category: Option<&Category>) -> Asked<'_> {
        Asked {
            channel: Channel::Email,
            category,
            priority: Priority::Normal,
            expires_at: None,
            time_zone: None,
        }
    }

    fn at(hour: i64) -> Timestamp {
        Timestamp::from_micros(1_000 * 24 * HOUR + hour * HOUR).unwrap()
    }

    #[test]
    fn what_is_required_is_sent_to_a_recipient_who_opted_out_but_not_to_an_address_that_bounced() {
        let (security, marketing) = (category("security"), category("marketing"));
        let all = off("any/any");
        let decide = |of: &Category, suppressed| consent(asked(Some(of)), &all, suppressed, &rules(), at(12));
        assert_eq!(decide(&security, None), Consent::Now);
        assert_eq!(decide(&security, Some(Suppression::Unsubscribed)), Consent::Now);
        let bounced = Consent::No(Refusal::Suppressed(Suppression::Bounced));
        assert_eq!(decide(&security, Some(Suppression::Bounced)), bounced);
        let Consent::No(refusal) = decide(&marketing, None) else { panic!("it is refused") };
        assert_eq!(refusal.to_string(), "opted out of any/any");
    }

    #[test]
    fn the_recipients_hours_hold_before_the_categorys_and_these_before_everybodys() {
        let (orders, marketing) = (category("orders"), category("marketing"));
        let own = Preferences { quiet_hours: "12:00-13:00".parse().ok(), ..Preferences::default() };
        let none = Preferences::default();
        let decide = |of, who: &Preferences, hour| consent(asked(Some(of)), who, None, &rules(), at(hour));
        let hours = |n: u64| Consent::After(Duration::from_secs(n * 3600));
        assert_eq!(decide(&marketing, &none, 23), hours(9));
        assert_eq!(decide(&orders, &none, 23), Consent::Now);
        assert_eq!(decide(&orders, &own, 12), hours(1));
        assert_eq!(decide(&marketing, &own, 23), Consent::Now);
        let urgent = Asked { priority: Priority::High, ..asked(Some(&marketing)) };
        assert_eq!(consent(urgent, &none, None, &rules(), at(23)), Consent::Now);
        let seoul = Preferences { time_zone: "Asia/Seoul".parse().ok(), ..Preferences::default() };
        assert_eq!(decide(&marketing, &seoul, 23), Consent::Now);
        assert_eq!(decide(&marketing, &seoul, 14), hours(9));
    }

    #[test]
    fn the_zone_of_the_preferences_holds_before_the_directorys_and_this_before_everybodys() {
        let (seoul, zone) = ("Asia/Seoul".parse().unwrap(), "UTC".parse().ok());
        let known = Asked { time_zone: Some(&seoul), ..asked(None) };
        let decide = |who: &Preferences, hour| consent(known, who, None, &rules(), at(hour));
        assert_eq!(decide(&Preferences::default(), 23), Consent::Now);
        assert_eq!(decide(&Preferences::default(), 14), Consent::After(Duration::from_secs(9 * 3600)));
        let own = Preferences { time_zone: zone, ..Preferences::default() };
        assert_eq!(decide(&own, 14), Consent::Now);
    }

    #[test]
    fn what_expires_before_the_hours_end_is_not_sent() {
        let expiring = |hour| Asked { expires_at: Some(at(hour)), ..asked(None) };
        let decide = |hour, now| consent(expiring(hour), &Preferences::default(), None, &rules(), at(now));
        assert_eq!(decide(32, 23), Consent::No(Refusal::ExpiresInQuietHours));
        assert_eq!(decide(33, 23), Consent::After(Duration::from_secs(9 * 3600)));
        assert_eq!(decide(12, 12), Consent::No(Refusal::Expired));
        assert_eq!(decide(13, 12), Consent::Now);
    }

    proptest! {
        #[test]
        fn no_recipient_is_notified_who_must_not_be(
            which in 0..4_usize, refuses in any::<bool>(), suppressed in prop::option::of(0..3_usize),
            high in any::<bool>(), expires in prop::option::of(0..72_i64), hour in 0..48_i64,
        ) {
            let categories = ["security", "orders", "marketing"].map(category);
            let suppressed = suppressed.map(|n| Suppression::ALL[n]);
            let asked = Asked {
                channel: Channel::Email,
                category: categories.get(which),
                priority: if high { Priority::High } else { Priority::Normal },
                expires_at: expires.map(at),
                time_zone: None,
            };
            let preferences = if refuses { off("email/any") } else { Preferences::default() };
            let decided = consent(asked, &preferences, suppressed, &rules(), at(hour));
            let delivered = match &decided {
                Consent::Now => Some(hour * HOUR),
                Consent::After(wait) => Some(hour * HOUR + wait.as_micros() as i64),
                Consent::No(_) => None,
            };
            if let Some(delivered) = delivered {
                let is_required = which == 0;
                prop_assert!(suppressed.is_none_or(|reason| is_required && reason == Suppression::Unsubscribed));
                prop_assert!(is_required || !refuses);
                prop_assert!(expires.is_none_or(|at| delivered < at * HOUR));
                prop_assert!(high || which == 1 || (8..22).contains(&(delivered / HOUR % 24)));
            }
            prop_assert!(!high || !matches!(decided, Consent::After(_)));
        }
    }
}
