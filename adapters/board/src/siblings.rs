use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock},
};

/// The databases whose boards are served together, and which of them can be shown; clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Siblings(Arc<RwLock<BTreeMap<String, IsOpen>>>);

type IsOpen = bool;

/// A database that a page leads to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Sibling {
    pub(crate) name: String,
    /// Its board; none if the database could not be opened so far.
    pub(crate) link: Option<String>,
    pub(crate) is_this: bool,
}

impl Siblings {
    pub(crate) fn set(&self, name: &str, is_open: IsOpen) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), is_open);
    }

    /// The name of the first that can be shown.
    pub(crate) fn first(&self) -> Option<String> {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        all.iter().find(|(_, is_open)| **is_open).map(|(name, _)| name.clone())
    }

    /// All of them, for a page of the board that is mounted at `base`.
    pub(crate) fn seen_from(&self, base: &str) -> Vec<Sibling> {
        let (above, own) = base.rsplit_once('/').unwrap_or(("", ""));
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let sibling = |(name, is_open): (&String, &IsOpen)| Sibling {
            name: name.clone(),
            link: is_open.then(|| format!("{above}/{name}")),
            is_this: name == own,
        };
        all.iter().map(sibling).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_leads_to_the_boards_of_the_other_databases() {
        let siblings = Siblings::default();
        siblings.set("orders", true);
        siblings.set("billing", false);
        assert_eq!(siblings.first().as_deref(), Some("orders"));
        let [billing, orders] = &siblings.seen_from("/ops/orders")[..] else { panic!() };
        assert_eq!((billing.link.as_deref(), billing.is_this), (None, false));
        assert_eq!((orders.link.as_deref(), orders.is_this), (Some("/ops/orders"), true));
    }
}
