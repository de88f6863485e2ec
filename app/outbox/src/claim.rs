use std::{fmt, sync::Arc, time::Duration};

use claimstream_domain::{Claimed, Message, NewMessage, Reason, Renewed, Settled, Verdict};

use crate::{RelayError, claim_handle::ClaimHandle, settler::Settler, ticket::Ticket};

/// A message that is ours until its lease ends, and the right to say what becomes of it, once.
///
/// Every way to settle consumes the claim and answers whether the settlement counted: `Superseded` means that the lease
/// had been lost and nothing was changed. Settlements of claims that are settled at the same time are written together;
/// one that the store fails to take for a passing reason is repeated until the claim's deadline.
///
/// Dropping a claim is safe and says nothing: its message comes back when the lease ends, with the attempt counted.
pub struct Claim {
    claimed: Claimed,
    handle: ClaimHandle,
}

impl Claim {
    pub(crate) fn new(settler: Arc<Settler>, ticket: Ticket, claimed: Claimed) -> Self {
        let handle = ClaimHandle::new(settler, ticket, &claimed);
        Self { claimed, handle }
    }

    /// The message.
    pub fn message(&self) -> &Message {
        &self.claimed.message
    }

    /// How often the message has been claimed, this time included; 1 the first time.
    pub fn attempt(&self) -> u32 {
        self.claimed.attempt
    }

    /// Why the attempt before failed, if it said so.
    pub fn last_error(&self) -> Option<&Reason> {
        self.claimed.last_error.as_ref()
    }

    /// The message as a [`Handler`](crate::Handler) takes it.
    pub fn claimed(&self) -> &Claimed {
        &self.claimed
    }

    /// How long the claim can still be relied on: work that cannot be done in that time should not be begun.
    ///
    /// It is counted on this process's clock from before the claim was sent, with a margin of a twentieth of the lease.
    pub fn remaining(&self) -> Duration {
        self.handle.remaining()
    }

    /// Moves the end of the lease to a whole lease from now. `Superseded` if the claim has been lost; there is then
    /// nothing left to settle.
    ///
    /// It may be dropped while it waits: a settlement of the claim then waits for its end.
    pub async fn renew(&mut self) -> Result<Renewed, RelayError> {
        self.handle.renew().await
    }

    /// Finished.
    pub async fn ack(self) -> Result<Settled, RelayError> {
        self.settle(Verdict::ack()).await
    }

    /// Finished, and `children` are enqueued in the same transaction: they exist exactly if the answer is `Accepted`.
    ///
    /// If the store refuses them for good, as when one is too large, the message is buried with that reason and the
    /// error is answered.
    pub async fn ack_emitting(self, children: Vec<NewMessage>) -> Result<Settled, RelayError> {
        self.settle(Verdict::Ack { emit: children }).await
    }

    /// Not now: to be tried again after the retry policy's delay, or dead if this was the last attempt.
    pub fn nack(self, why: impl fmt::Display) -> impl Future<Output = Result<Settled, RelayError>> + Send {
        self.settle(Verdict::nack(why))
    }

    /// Not now: to be tried again after `delay`, or dead if this was the last attempt.
    pub fn nack_after(
        self,
        delay: Duration,
        why: impl fmt::Display,
    ) -> impl Future<Output = Result<Settled, RelayError>> + Send {
        self.settle(Verdict::Nack { after: Some(delay), reason: Reason::new(why) })
    }

    /// Never: to be kept with the dead letters.
    pub fn bury(self, why: impl fmt::Display) -> impl Future<Output = Result<Settled, RelayError>> + Send {
        self.settle(Verdict::bury(why))
    }

    /// Not begun: to be given back as if it had never been claimed.
    pub async fn release(self) -> Result<Settled, RelayError> {
        self.settle(Verdict::Release).await
    }

    /// Whatever `verdict` says.
    pub async fn settle(self, verdict: Verdict) -> Result<Settled, RelayError> {
        let Self { claimed, handle } = self;
        // The payload is not needed any longer; the wait for the store may be long.
        drop(claimed);
        handle.settle(verdict).await
    }

    pub(crate) fn into_parts(self) -> (Claimed, ClaimHandle) {
        (self.claimed, self.handle)
    }
}

impl fmt::Debug for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Claim")
            .field("message", &self.claimed.message.id)
            .field("queue", &self.claimed.message.queue)
            .field("attempt", &self.claimed.attempt)
            .finish_non_exhaustive()
    }
}
