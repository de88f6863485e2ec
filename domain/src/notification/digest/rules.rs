use std::{collections::BTreeMap, time::Duration};

use crate::{
    Invalid,
    notification::{Priority, consent::Category},
};

/// Which messages wait for a digest.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DigestRules {
    /// The categories whose messages do; all others are delivered one by one.
    pub categories: BTreeMap<Category, DigestRule>,
}

/// How the messages of a category become one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DigestRule {
    /// How long the first message waits for others.
    pub window: Duration,
    /// The template that is filled in with all of them; without one their texts stand one below the other.
    pub template: Option<String>,
}

impl DigestRule {
    /// The shortest window.
    pub const MIN_WINDOW: Duration = Duration::from_secs(1);
    /// The longest window.
    pub const MAX_WINDOW: Duration = Duration::from_secs(7 * 24 * 60 * 60);

    /// A rule without a template; refuses a window that is too short or too long.
    pub fn new(window: Duration) -> Result<Self, Invalid> {
        match (Self::MIN_WINDOW..=Self::MAX_WINDOW).contains(&window) {
            true => Ok(Self { window, template: None }),
            false => Err(Invalid::OutOfRange {
                what: "digest window",
                given: format!("{window:?}"),
                allowed: "1 second to 7 days".into(),
            }),
        }
    }

    /// The same with a template.
    pub fn with_template(self, id: impl Into<String>) -> Self {
        Self { template: Some(id.into()), ..self }
    }
}

impl DigestRules {
    /// The rule for a message of this category and priority; `None` if it is delivered by itself. What is urgent always is.
    pub fn rule(&self, category: Option<&Category>, priority: Priority) -> Option<&DigestRule> {
        if priority == Priority::High {
            return None;
        }
        self.categories.get(category?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_messages_of_a_named_category_wait_and_urgent_ones_never() {
        let (news, orders) = (Category::new("news").unwrap(), Category::new("orders").unwrap());
        let rule = DigestRule::new(Duration::from_secs(60)).unwrap();
        let rules = DigestRules { categories: [(news.clone(), rule.clone())].into() };
        for priority in Priority::ALL {
            let expected = (priority != Priority::High).then_some(&rule);
            assert_eq!(rules.rule(Some(&news), priority), expected, "{priority}");
            assert_eq!((rules.rule(Some(&orders), priority), rules.rule(None, priority)), (None, None));
        }
    }

    #[test]
    fn a_window_is_a_second_at_least_and_a_week_at_most() {
        let is_taken = |window| DigestRule::new(window).is_ok();
        assert!(is_taken(DigestRule::MIN_WINDOW) && is_taken(DigestRule::MAX_WINDOW));
        assert!(!is_taken(Duration::from_millis(999)) && !is_taken(Duration::MAX));
        let why = DigestRule::new(Duration::ZERO).unwrap_err().to_string();
        assert!(why.contains("1 second to 7 days"), "{why}");
    }
}
