use crate::MessageId;

/// The place of a claimed message in the run of its ordering key: the messages of the key that one stream has in hand together.
///
/// A stream handles a run one message after another, and each only once the one before it has been settled so that it does
/// not come again.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum RunPlace {
    /// It is in no run: it has no key, its store keeps no order, or the claim did not ask for runs.
    #[default]
    Alone,
    /// It begins a run.
    Head,
    /// It follows this message.
    Behind(MessageId),
}

/// A stream of claims, by a number that it alone has in its instance: what takes runs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StreamId(pub u64);
