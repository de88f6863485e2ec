use std::time::Duration;

use crate::{Event, NewMessage, Reason, Receipt};

/// One claim to be ended: the proof, and the message's next state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settlement {
    /// The proof that the claim is still ours.
    pub receipt: Receipt,
    /// The message's next state.
    pub disposition: Disposition,
}

/// The next state of a claimed message, made from a verdict by [`decide`](crate::decide).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Disposition {
    /// Finished; the children are enqueued in the same transaction.
    Done {
        /// Messages that exist if and only if this settlement is accepted.
        emit: Vec<NewMessage>,
    },
    /// To be claimed again after a delay.
    Retry {
        /// How long to wait.
        after: Duration,
        /// Why.
        reason: Reason,
    },
    /// To be claimed again after a delay, attempt uncounted.
    Postponed {
        /// How long to wait.
        after: Duration,
        /// What it waits for.
        reason: Reason,
    },
    /// Moved to the dead letters; the events are enqueued in the same transaction.
    Dead {
        /// Why.
        reason: Reason,
        /// Messages that exist if and only if this settlement is accepted, such as one that reports the result.
        emit: Vec<NewMessage>,
    },
    /// Given back as it was before the claim, attempt uncounted.
    Returned,
}

impl Disposition {
    /// Whether the message does not come again.
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Done { .. } | Self::Dead { .. })
    }

    /// Moved to the dead letters, with nothing to enqueue.
    pub fn dead(reason: Reason) -> Self {
        Self::Dead { reason, emit: Vec::new() }
    }

    /// The messages that exist if and only if the settlement is accepted.
    pub fn emitted(&self) -> &[NewMessage] {
        match self {
            Self::Done { emit } | Self::Dead { emit, .. } => emit,
            Self::Retry { .. } | Self::Postponed { .. } | Self::Returned => &[],
        }
    }

    /// The event in the life of the message.
    pub fn event(&self) -> Event {
        match self {
            Self::Done { .. } => Event::Ack,
            Self::Retry { .. } | Self::Postponed { .. } => Event::Nack,
            Self::Dead { .. } => Event::Bury,
            Self::Returned => Event::Release,
        }
    }
}

/// How a settlement ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Settled {
    /// It was ours and the disposition is durable.
    Accepted,
    /// The lease had been lost and another claim holds or has finished the message; nothing was changed.
    Superseded,
    /// The store cannot say yet, because something of this settlement's own was in the way, such as a shard that another transaction
    /// has locked. It is to be asked again. A stream does so itself, so no claim is answered with it.
    Unknown,
}

/// How a renewal ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Renewed {
    /// Still ours, for the whole new lease; the receipt replaces the old one.
    Extended(Receipt),
    /// The lease had been lost; nothing was changed.
    Superseded,
    /// The store cannot say yet, because something of this claim's own was in the way, such as a shard that another transaction has
    /// locked. It is to be asked again. A stream does so itself, so no claim is answered with it.
    Unknown,
}
