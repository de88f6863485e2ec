use claimstream_domain::MessageId;

/// How the settlement of a [`Batch`](crate::stream::batch::Batch) ended: each message was accepted or superseded.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BatchOutcome {
    /// How many settlements were accepted.
    pub accepted: usize,
    /// The messages whose leases had been lost; nothing was changed for them, and another relay has them.
    pub superseded: Vec<MessageId>,
}
