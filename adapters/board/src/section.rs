use crate::stores::BoardStores;

/// A part of the board that every page links to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Section {
    pub(crate) path: &'static str,
    pub(crate) name: &'static str,
}

impl Section {
    /// The sections that these stores can fill, in the order in which they are shown.
    pub(crate) fn all(stores: &BoardStores) -> Vec<Self> {
        let mut sections =
            vec![Self { path: "/", name: "Queues" }, Self { path: "/dead", name: "Dead letters" }];
        sections.extend(stores.check.as_ref().map(|_| Self { path: "/doctor", name: "Doctor" }));
        sections.extend(stores.audit.as_ref().map(|_| Self { path: "/audit", name: "Audit" }));
        sections
    }
}
