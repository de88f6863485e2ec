use claimstream_domain::QueueName;
use metrics::{Label, SharedString};

/// The label of a queue, which costs no copy of its name.
pub(crate) fn label(queue: &QueueName) -> SharedString {
    queue.shared().into()
}

/// The database that metrics are about, in a process that has several; it is the label `database` of each of them.
///
/// A process that has one database needs none, and shows no such label.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct DatabaseLabel(Option<SharedString>);

impl DatabaseLabel {
    /// The database of this name.
    pub fn named(name: impl Into<String>) -> Self {
        Self(Some(name.into().into()))
    }

    /// These labels, and that of the database if there is one.
    pub(crate) fn and<const N: usize>(&self, labels: [(&'static str, SharedString); N]) -> Vec<Label> {
        let labels = labels.into_iter().map(|(name, value)| Label::new(name, value));
        let database = self.0.iter().map(|name| Label::new("database", name.clone()));
        labels.chain(database).collect()
    }
}
