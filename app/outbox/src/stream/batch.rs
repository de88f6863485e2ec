use std::{error::Error, fmt, iter::repeat_with, slice, sync::Arc, time::Duration};

use claimstream_domain::{Claimed, MessageId, Verdict};

use super::{batch_outcome::BatchOutcome, claim::Claim};
use crate::{
    error::RelayError,
    in_flight::Ticket,
    report::DeadLetterClass,
    settle::{ClaimHandle, Ending, Settler, Together, end_together},
};

/// Messages that were claimed together, and the right to say what becomes of them, once.
///
/// All of it is settled by one call of the store, or by as few as [`settle_batch`](crate::config::RelayConfig::settle_batch) allows, with
/// little work for each message. What holds for a [`Claim`] holds for each of its messages: a settlement that comes too late
/// changes nothing, and one that the store fails to take for a passing reason is repeated until the claim's deadline.
///
/// A message that has failed before, or was cut off, is in no batch with messages that come for the first time; one that may be
/// what ends its processes comes alone.
///
/// Dropping a batch is safe and says nothing: its messages come back when their leases end, with the attempts counted.
///
/// ```
/// # use claimstream::{Batch, BatchError, Message, Verdict};
/// # async fn deliver(_: &Message) -> Result<(), std::io::Error> { Ok(()) }
/// # async fn handle(batch: Batch) -> Result<(), BatchError> {
/// let mut verdicts = Vec::with_capacity(batch.len());
/// for claimed in &batch {
///     verdicts.push(match deliver(&claimed.message).await {
///         Ok(()) => Verdict::ack(),
///         Err(error) => Verdict::nack(error),
///     });
/// }
/// let outcome = batch.settle(verdicts).await?;
/// for message in &outcome.superseded {
///     println!("{message} took longer than its lease, and another relay has it");
/// }
/// # Ok(())
/// # }
/// ```
#[must_use = "the messages of a batch that is dropped come back when their leases end"]
pub struct Batch {
    settler: Arc<Settler>,
    messages: Vec<Claimed>,
    /// In the order of the messages.
    handles: Vec<ClaimHandle>,
}

impl Batch {
    pub(crate) fn new(settler: &Arc<Settler>, taken: Vec<(Ticket, Claimed)>) -> Self {
        let handle =
            |(ticket, claimed): &(Ticket, Claimed)| ClaimHandle::new(Arc::clone(settler), *ticket, claimed);
        let handles = taken.iter().map(handle).collect();
        let messages = taken.into_iter().map(|(_, claimed)| claimed).collect();
        Self { settler: Arc::clone(settler), messages, handles }
    }

    /// The messages, each with its attempt, as a [`BatchHandler`](claimstream_ports::BatchHandler) takes them.
    pub fn messages(&self) -> &[Claimed] {
        &self.messages
    }

    /// The messages one by one.
    pub fn iter(&self) -> slice::Iter<'_, Claimed> {
        self.messages.iter()
    }

    /// How many messages there are.
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Whether there is no message; a stream yields no such batch.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// How long all of its claims can still be relied on: work that cannot be done in that time should not be begun.
    pub fn remaining(&self) -> Duration {
        self.handles.iter().map(ClaimHandle::remaining).min().unwrap_or_default()
    }

    /// Finishes all messages.
    ///
    /// # Errors
    ///
    /// [`BatchError::Store`] names the messages that the store did not take for good, or until their claims' deadlines.
    pub async fn ack_all(self) -> Result<BatchOutcome, BatchError> {
        self.end(repeat_with(Verdict::ack)).await
    }

    /// Gives all messages back as if they had never been claimed; they are due at once, and no attempt is counted.
    ///
    /// # Errors
    ///
    /// As of [`ack_all`](Self::ack_all).
    pub async fn release_all(self) -> Result<BatchOutcome, BatchError> {
        self.end(repeat_with(|| Verdict::Release)).await
    }

    /// Ends each claim as its verdict says; the verdicts come in the order of the messages.
    ///
    /// # Errors
    ///
    /// [`BatchError::Count`] if there is not exactly one verdict for each message: nothing was settled then, and the error has the
    /// batch. Otherwise as of [`ack_all`](Self::ack_all).
    pub async fn settle(
        self,
        verdicts: impl IntoIterator<Item = Verdict> + Send,
    ) -> Result<BatchOutcome, BatchError> {
        let verdicts: Vec<_> = verdicts.into_iter().take(self.len() + 1).collect();
        if verdicts.len() != self.len() {
            return Err(BatchError::Count { verdicts: verdicts.len(), batch: Box::new(self) });
        }
        self.end(verdicts.into_iter()).await
    }

    /// The claims one by one, each to be settled by itself.
    pub fn into_claims(self) -> Vec<Claim> {
        let claims = self.messages.into_iter().zip(self.handles);
        claims.map(|(claimed, handle)| Claim::from_parts(claimed, handle)).collect()
    }

    pub(crate) fn into_parts(self) -> (Vec<Claimed>, Vec<ClaimHandle>) {
        (self.messages, self.handles)
    }

    /// Ends the claims; there are at least as many verdicts.
    async fn end(self, verdicts: impl Iterator<Item = Verdict>) -> Result<BatchOutcome, BatchError> {
        let Self { settler, messages, handles } = self;
        // The payloads are not needed any longer; the wait for the store may be long.
        drop(messages);
        let ending = |(handle, verdict): (ClaimHandle, Verdict)| {
            let class = DeadLetterClass::of(&verdict);
            Ending { disposition: handle.decide(verdict), handle, class }
        };
        let endings = handles.into_iter().zip(verdicts).map(ending).collect();
        let Together { accepted, superseded, failed } = end_together(settler, endings).await;
        let outcome = BatchOutcome { accepted, superseded };
        if failed.is_empty() { Ok(outcome) } else { Err(BatchError::Store { outcome, failed }) }
    }
}

impl<'a> IntoIterator for &'a Batch {
    type Item = &'a Claimed;
    type IntoIter = slice::Iter<'a, Claimed>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let messages = self.messages.iter().map(|claimed| claimed.message.id);
        f.debug_struct("Batch")
            .field("queue", &self.settler.queue)
            .field("messages", &messages.collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

/// Why a [`Batch`] was not settled, or not all of it.
#[derive(Debug)]
#[non_exhaustive]
pub enum BatchError {
    /// There was not exactly one verdict for each message. Nothing was settled.
    Count {
        /// The batch, as it was.
        batch: Box<Batch>,
        /// How many verdicts there were; of too many only one more than messages was looked at.
        verdicts: usize,
    },
    /// The store did not take some of the settlements, for good or until the claims' deadlines.
    ///
    /// Their messages come back when their leases end, unless they were settled after all.
    Store {
        /// How the others ended.
        outcome: BatchOutcome,
        /// The messages in question, and what the store said.
        failed: Vec<(MessageId, RelayError)>,
    },
}

impl fmt::Display for BatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count { batch, verdicts } => {
                let messages = batch.len();
                let amount = if *verdicts > messages { "more than" } else { "only" };
                let count = messages.min(*verdicts);
                write!(f, "{amount} {count} verdicts were given for {messages} messages; give one for each")
            }
            Self::Store { outcome, failed } => {
                let all = outcome.accepted + outcome.superseded.len() + failed.len();
                write!(f, "{} of {all} messages were not settled", failed.len())?;
                failed
                    .first()
                    .map_or(Ok(()), |(message, error)| write!(f, ", the first is {message}: {error}"))
            }
        }
    }
}

/// Its text holds what the store said, so [`source`](Error::source) answers nothing.
impl Error for BatchError {}
