use std::{fmt, time::Duration};

use claimstream_domain::QueueName;

use crate::StoreErrorKind;

/// Counts and times each verb of an outbox, for metrics; nothing is decided by it.
///
/// **Implementors owe:** [`record`](Self::record) returns at once and does not panic. It is called wherever a relay is polled and
/// wherever a store works, from any thread, for each call and each handled message. It keeps no label of which there may be many
/// values: a queue, an outcome and a kind of error are few.
///
/// **Callers may rely on:** what they record changes nothing that they do. They record after the fact, so a process that dies in
/// between records less than happened.
///
/// A list of telemetries records in each of its members, in its order. Settings that hold one show it by its `Debug`.
pub trait Telemetry: fmt::Debug + Send + Sync {
    /// Notes one thing that happened.
    fn record(&self, measured: Measured<'_>);
}

/// One thing that happened, with its count and how long it took on the clock of this process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Measured<'a> {
    /// An enqueue was answered. Whether the messages stay is up to the caller's transaction.
    Enqueued {
        /// The queue.
        queue: &'a QueueName,
        /// How many messages of the call went into it; those that were known already are not counted.
        messages: usize,
    },
    /// A claim was answered.
    Claimed {
        /// The queue.
        queue: &'a QueueName,
        /// How many messages it brought; an empty queue brings none.
        messages: usize,
        /// From the call to its answer.
        took: Duration,
    },
    /// A claim brought messages, and this is how long they had been due.
    Waited {
        /// The queue.
        queue: &'a QueueName,
        /// How long each of them waited, from its due time to its claim, on the store's clock; never empty.
        waits: &'a [Duration],
    },
    /// A handler came to an end with a message. A handler of batches is measured once for each message, from the start of the call
    /// that the message was handed out in.
    Handled {
        /// The queue.
        queue: &'a QueueName,
        /// How it ended.
        outcome: Handled,
        /// From the start of the handler to its end.
        took: Duration,
    },
    /// A settlement call was answered for some of its messages with one outcome.
    Settled {
        /// The queue.
        queue: &'a QueueName,
        /// The outcome.
        outcome: SettledAs,
        /// How many messages had it.
        messages: usize,
    },
    /// A settlement call to the store ended well.
    Settling {
        /// The queue.
        queue: &'a QueueName,
        /// How many settlements it wrote.
        messages: usize,
        /// From the call to its answer.
        took: Duration,
    },
    /// A renewal was answered.
    Renewed {
        /// The queue.
        queue: &'a QueueName,
        /// How many leases it extended.
        messages: usize,
        /// From the call to its answer.
        took: Duration,
    },
    /// Leases were lost while their messages were in hand.
    LeasesLost {
        /// The queue.
        queue: &'a QueueName,
        /// How many.
        messages: usize,
    },
    /// A call to the store failed; the relay repeats it as long as that helps.
    Failed {
        /// The queue.
        queue: &'a QueueName,
        /// Which call.
        call: StoreCall,
        /// The kind of the error.
        kind: StoreErrorKind,
        /// From the call to the error.
        took: Duration,
    },
    /// A sweep removed rows.
    Swept {
        /// How many.
        rows: u64,
    },
    /// A transaction of the store met a deadlock or a lock wait and was begun again.
    Restarted {
        /// What the store was doing, such as `claim`.
        operation: &'static str,
    },
    /// A call waited for a connection of a pool.
    WaitedForConnection {
        /// Which pool.
        pool: Pool,
        /// How long, until it had one or gave up.
        took: Duration,
    },
}

/// How a handler came to an end with a message.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Handled {
    /// The message is done.
    Acked,
    /// It failed, and is tried again or dies.
    Nacked,
    /// It is to come again later, the attempt uncounted.
    Postponed,
    /// It was given back untried.
    Released,
    /// It must not be tried again.
    Buried,
    /// The handler panicked.
    Panicked,
    /// The handler took longer than its time.
    TimedOut,
}

/// What became of a message by a settlement.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum SettledAs {
    /// It is done.
    Done,
    /// It is tried again after a delay.
    Retried,
    /// It comes again after a delay, the attempt uncounted.
    Postponed,
    /// It is a dead letter.
    Dead,
    /// It was given back untried.
    Returned,
    /// The lease had been lost; nothing was changed.
    Superseded,
}

/// A call of a relay to its store.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum StoreCall {
    /// A claim.
    Claim,
    /// A settlement.
    Settle,
    /// A renewal.
    Renew,
}

/// Connections of a store.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Pool {
    /// For claims, renewals, settlements and sweeps.
    Relay,
    /// For transactions and calls of the application.
    Callers,
}

impl Handled {
    /// Every end, each at the place of its number.
    pub const ALL: [Self; 7] = [
        Self::Acked,
        Self::Nacked,
        Self::Postponed,
        Self::Released,
        Self::Buried,
        Self::Panicked,
        Self::TimedOut,
    ];

    /// The outcome in one word, as a label.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Acked => "ack",
            Self::Nacked => "nack",
            Self::Postponed => "postpone",
            Self::Released => "release",
            Self::Buried => "bury",
            Self::Panicked => "panic",
            Self::TimedOut => "timeout",
        }
    }
}

impl SettledAs {
    /// Every outcome.
    pub const ALL: [Self; 6] =
        [Self::Done, Self::Retried, Self::Postponed, Self::Dead, Self::Returned, Self::Superseded];

    /// The outcome in one word, as a label.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Retried => "retried",
            Self::Postponed => "postponed",
            Self::Dead => "dead",
            Self::Returned => "returned",
            Self::Superseded => "superseded",
        }
    }
}

impl StoreCall {
    /// The call in one word, as a label.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Claim => "claim",
            Self::Settle => "settle",
            Self::Renew => "renew",
        }
    }
}

impl Pool {
    /// The pool in one word, as a label.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Relay => "relay",
            Self::Callers => "callers",
        }
    }
}

impl<T: Telemetry> Telemetry for Vec<T> {
    fn record(&self, measured: Measured<'_>) {
        self.iter().for_each(|each| each.record(measured));
    }
}

impl<T: Telemetry + ?Sized> Telemetry for std::sync::Arc<T> {
    fn record(&self, measured: Measured<'_>) {
        (**self).record(measured);
    }
}
