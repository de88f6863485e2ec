use uuid::Uuid;

/// What an asynchronous failover has left that nobody works on any more: it spans several transactions, of which the failover has lost
/// some.
///
/// Everything else heals by itself, because it is written in one transaction or is tried again until its end is recorded.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FailoverRemains {
    /// Requests whose fan-out has no message in a queue; a repair fans them out again from the beginning, all steps of them, which sends nothing
    /// twice that is recorded.
    pub requests: Vec<Uuid>,
    /// Messages that carry pending notifications and are in no queue; a repair queues them again, so that what was delivered
    /// without anything that proves it is delivered twice.
    pub messages: Vec<Uuid>,
    /// Pending notifications that a provider has: it has said so, or has sent a receipt. A repair notes that they were delivered.
    pub delivered: Vec<Uuid>,
    /// Pending notifications that nobody can deliver any more: neither their message nor an open request is there.
    pub beyond_repair: Vec<Uuid>,
}

impl FailoverRemains {
    /// Whether there is nothing to repair.
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty() && self.messages.is_empty() && self.delivered.is_empty()
    }
}

/// What a repair of it came to.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FailoverRepair {
    /// How many messages were queued.
    pub queued: u64,
    /// Requests that are still left, because they cannot be read: a newer version wrote them, or somebody wrote them wrong.
    pub unreadable: Vec<Uuid>,
}
