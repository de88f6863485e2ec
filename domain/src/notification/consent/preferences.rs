use serde::{Deserialize, Serialize};

use super::{Category, QuietHours, TimeZone};
use crate::{Invalid, notification::Channel};

/// What a recipient wants: what it opted out of, where it lives, and when it is not to be disturbed.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preferences {
    /// What it wants and does not want; everything else is allowed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<PreferenceRule>,
    /// The zone of its quiet hours; the installation's own if none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<TimeZone>,
    /// Its quiet hours; those of the category or of the installation if none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet_hours: Option<QuietHours>,
}

/// What a recipient wants of a channel, of a category, or of a category on a channel.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PreferenceRule {
    /// The channel; every one if none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<Channel>,
    /// The category; every one, and what has none, if none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<Category>,
    /// Whether it is allowed.
    pub allowed: bool,
}

impl Preferences {
    /// The most rules that a recipient has.
    pub const MAX_RULES: usize = 500;

    /// Refuses a rule that stands twice, and more rules than a recipient may have.
    pub fn check(&self) -> Result<(), Invalid> {
        if self.rules.len() > Self::MAX_RULES {
            return Err(Invalid::OutOfRange {
                what: "preferences",
                given: format!("{} rules", self.rules.len()),
                allowed: format!("at most {}", Self::MAX_RULES),
            });
        }
        for (n, rule) in self.rules.iter().enumerate() {
            rule.category.as_ref().map_or(Ok(()), Category::check)?;
            if self.rules[..n].iter().any(|other| other.is_about(rule.channel, rule.category.as_ref())) {
                return Err(Invalid::Contradiction(format!("two preferences are about {}", rule.about())));
            }
        }
        Ok(())
    }

    /// These preferences, and of others of the recipient, as those of its address, what these say nothing about.
    pub fn or(mut self, others: Self) -> Self {
        let is_new = |rule: &PreferenceRule, rules: &[PreferenceRule]| {
            !rules.iter().any(|known| known.is_about(rule.channel, rule.category.as_ref()))
        };
        let new: Vec<_> = others.rules.into_iter().filter(|rule| is_new(rule, &self.rules)).collect();
        self.rules.extend(new);
        self.time_zone = self.time_zone.or(others.time_zone);
        self.quiet_hours = self.quiet_hours.or(others.quiet_hours);
        self
    }

    /// The rule by which the recipient opted out of a message, if it did.
    ///
    /// A rule that names both channel and category decides. If there is none, one refusal among the wider rules is enough.
    pub fn opted_out(&self, channel: Channel, category: Option<&Category>) -> Option<&PreferenceRule> {
        let exact = |rule: &&PreferenceRule| {
            rule.channel == Some(channel) && rule.category.is_some() && rule.category.as_ref() == category
        };
        if let Some(exact) = self.rules.iter().find(exact) {
            return Some(exact).filter(|rule| !rule.allowed);
        }
        self.rules.iter().find(|rule| !rule.allowed && rule.covers(channel, category))
    }
}

impl PreferenceRule {
    /// Whether it is about exactly this channel and category.
    pub(super) fn is_about(&self, channel: Option<Channel>, category: Option<&Category>) -> bool {
        self.channel == channel && self.category.as_ref() == category
    }

    fn covers(&self, channel: Channel, category: Option<&Category>) -> bool {
        self.channel.is_none_or(|of| of == channel)
            && self.category.as_ref().is_none_or(|of| Some(of) == category)
    }

    /// What it is about, such as `email/marketing` or `any/marketing`.
    pub fn about(&self) -> String {
        let channel = self.channel.map_or(Category::ANY, Channel::name);
        format!("{channel}/{}", self.category.as_ref().map_or(Category::ANY, Category::as_str))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rule((channel, category, allowed): (Option<Channel>, Option<&str>, bool)) -> PreferenceRule {
        PreferenceRule { channel, category: category.map(|name| Category::new(name).unwrap()), allowed }
    }

    fn rules() -> impl Strategy<Value = Preferences> {
        let channel = prop::option::of(prop::sample::select(vec![Channel::Email, Channel::Sms]));
        let category = prop::option::of(prop::sample::select(vec!["marketing", "orders"]));
        let one = (channel, category, any::<bool>()).prop_map(rule);
        prop::collection::vec(one, 0..6).prop_map(|mut rules| {
            let all = rules.clone();
            let mut n = 0;
            rules.retain(|rule| {
                n += 1;
                !all[..n - 1].iter().any(|other| other.is_about(rule.channel, rule.category.as_ref()))
            });
            Preferences { rules, ..Preferences::default() }
        })
    }

    proptest! {
        #[test]
        fn the_narrowest_rule_decides_and_else_one_refusal_is_enough(preferences in rules()) {
            prop_assert_eq!(preferences.check(), Ok(()));
            let json = serde_json::to_string(&preferences).unwrap();
            prop_assert_eq!(&serde_json::from_str::<Preferences>(&json).unwrap(), &preferences);
            let marketing = Category::new("marketing").unwrap();
            let says = |channel, category| {
                preferences.rules.iter().find(|rule| rule.is_about(channel, category)).map(|rule| rule.allowed)
            };
            let mail = Some(Channel::Email);
            let wider = [says(mail, None), says(None, Some(&marketing)), says(None, None)];
            let allowed = says(mail, Some(&marketing)).unwrap_or(!wider.contains(&Some(false)));
            let out = preferences.opted_out(Channel::Email, Some(&marketing));
            prop_assert_eq!(out.is_none(), allowed);
            prop_assert!(out.is_none_or(|rule| !rule.allowed));
            let wider = [says(mail, None), says(None, None)];
            prop_assert_eq!(preferences.opted_out(Channel::Email, None).is_none(), !wider.contains(&Some(false)));
        }
    }

    proptest! {
        #[test]
        fn preferences_under_a_former_spelling_say_what_todays_do_not(today in rules(), former in rules()) {
            let both = today.clone().or(former.clone());
            prop_assert_eq!(both.check(), Ok(()));
            let says = |all: &Preferences, rule: &PreferenceRule| {
                let about = |one: &&PreferenceRule| one.is_about(rule.channel, rule.category.as_ref());
                all.rules.iter().find(about).map(|one| one.allowed)
            };
            for rule in both.rules.iter().chain(&former.rules) {
                prop_assert_eq!(says(&both, rule), says(&today, rule).or(says(&former, rule)));
            }
        }
    }

    #[test]
    fn refuses_two_rules_about_the_same_and_the_name_of_every_category() {
        let twice = rule((None, Some("marketing"), true));
        let all = |rules: Vec<_>| Preferences { rules, ..Preferences::default() }.check();
        assert!(all(vec![twice.clone(), PreferenceRule { allowed: false, ..twice }]).is_err());
        assert!(all(vec![rule((None, Some("any"), true))]).is_err());
    }
}
