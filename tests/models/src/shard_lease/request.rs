use super::{Holder, Wish};

/// A settlement on its way.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Request {
    /// Of which message.
    pub message: usize,
    /// Past: the message was handed out again since.
    pub overtaken: bool,
    /// The message is due at another time since.
    pub moved: bool,
    /// What it wants.
    pub wish: Wish,
    /// Whose it is.
    pub by: Holder,
    /// The fence that it shows.
    pub fence: i8,
    /// What stays in flight.
    pub left: Vec<bool>,
    /// Whether the shard is kept for a time if nothing stays in flight.
    pub keeps: bool,
}

impl Request {
    /// Whether it may keep the shard: it is the last of what was in flight, and done.
    pub(super) fn may_keep(&self) -> bool {
        self.wish == Wish::Done && !self.left.contains(&true)
    }

    /// Whether it leaves the list of what is in flight as it is: what is done cannot come back.
    pub(super) fn proves_alone(&self) -> bool {
        self.wish == Wish::Done && self.left.contains(&true)
    }
}
