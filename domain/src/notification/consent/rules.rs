use std::collections::BTreeMap;

use super::{Category, QuietHours, TimeZone};
use crate::notification::Priority;

/// What holds for all recipients that say nothing else.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ConsentRules {
    /// The categories of which more is said than their name; a category that is not among them can be opted out of.
    pub categories: BTreeMap<Category, CategoryRules>,
    /// The quiet hours of categories and recipients that have none of their own.
    pub quiet_hours: Option<QuietHours>,
    /// The zone of recipients that name none.
    pub time_zone: TimeZone,
}

/// What holds for a category.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CategoryRules {
    /// Whether it cannot be opted out of, as mails about the security of an account.
    pub required: bool,
    /// Its quiet hours.
    pub quiet_hours: Option<QuietHours>,
}

impl ConsentRules {
    /// Whether recipients cannot opt out of a category.
    pub fn is_required(&self, category: Option<&Category>) -> bool {
        category.and_then(|category| self.categories.get(category)).is_some_and(|rules| rules.required)
    }

    /// The quiet hours that hold, if any: the recipient's own, or else the category's, or else everybody's.
    pub(super) fn quiet_hours(
        &self,
        own: Option<QuietHours>,
        category: Option<&Category>,
        priority: Priority,
    ) -> Option<QuietHours> {
        if priority == Priority::High {
            return None;
        }
        let of_category = category.and_then(|category| self.categories.get(category)?.quiet_hours);
        own.or(of_category).or(self.quiet_hours)
    }
}
