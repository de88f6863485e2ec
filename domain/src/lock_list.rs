use std::time::Duration;

/// A distributed lock, for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LockListed {
    /// The key.
    pub key: String,
    /// The fence, which grows with every holder.
    pub fence: u64,
    /// How long until it lapses; `None` if it is not held any more.
    pub ends_in: Option<Duration>,
}
