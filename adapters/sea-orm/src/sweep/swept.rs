/// What a sweep does, as errors name it.
pub(crate) const SWEEP: &str = "sweep";

/// What a sweep has taken away.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Swept {
    /// Bodies of finished messages.
    pub bodies: u64,
    /// Dedup keys.
    pub dedup_keys: u64,
    /// Steps of the ledger.
    pub steps: u64,
    /// Notes of sagas.
    pub sagas: u64,
    /// Notification requests, each with all its messages.
    pub requests: u64,
    /// Entries of inboxes inside the application.
    pub in_app: u64,
}

impl Swept {
    /// How many rows that is, a request with its messages counted as one.
    pub(crate) fn rows(&self) -> u64 {
        self.bodies + self.dedup_keys + self.steps + self.sagas + self.requests + self.in_app
    }
}
