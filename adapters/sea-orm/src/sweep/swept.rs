use std::collections::BTreeMap;

/// What a sweep does, as errors name it.
pub(crate) const SWEEP: &str = "sweep";

/// What a sweep has taken away.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Swept {
    /// Bodies of finished messages.
    pub bodies: u64,
    /// Dedup keys.
    pub dedup_keys: u64,
    /// What other capabilities have deleted, by the name of what it was, such as `steps`; nothing of what is 0.
    pub others: BTreeMap<&'static str, u64>,
}

impl Swept {
    /// How many of these other rows it has taken away.
    pub fn of(&self, name: &str) -> u64 {
        self.others.get(name).copied().unwrap_or_default()
    }

    /// How many rows that is; what goes with another row is not counted.
    pub(crate) fn rows(&self) -> u64 {
        self.bodies + self.dedup_keys + self.others.values().sum::<u64>()
    }
}
