use std::{fmt, sync::Arc, time::Duration};

use claimstream_domain::{Claimed, Message, NewMessage, Reason, Renewed, Settled, Verdict};

use crate::{
    error::RelayError,
    in_flight::Ticket,
    settle::{ClaimHandle, Settler},
};

/// A message that is ours until its lease ends, and the right to say what becomes of it, once.
///
/// Every way to settle consumes the claim and answers whether the settlement counted: `Superseded` means that the lease
/// had been lost and nothing was changed. Settlements of claims that are settled at the same time are written together;
/// one that the store fails to take for a passing reason is repeated until the claim's deadline.
///
/// Dropping a claim is safe and says nothing: its message comes back when the lease ends, with the attempt counted.
///
/// # Errors
///
/// Every way to settle, and [`renew`](Self::renew), fails with [`RelayError::Store`] if the store did not take it, for good
/// or until the claim's deadline. The message then comes back when the lease ends, unless it was settled after all.
///
/// ```
/// # use claimstream::{Claim, RelayError, Settled};
/// # async fn deliver(_: &[u8]) -> Result<(), std::io::Error> { Ok(()) }
/// # async fn handle(claim: Claim) -> Result<(), RelayError> {
/// let settled = match deliver(claim.message().payload.bytes()).await {
///     Ok(()) => claim.ack().await?,
///     Err(error) if claim.attempt() < 5 => claim.nack(error).await?,
///     Err(error) => claim.bury(error).await?,
/// };
/// if settled == Settled::Superseded {
///     println!("it took longer than the lease, and another relay has the message");
/// }
/// # Ok(())
/// # }
/// ```
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

    /// The message as a [`Handler`](claimstream_ports::Handler) takes it.
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

    /// Finishes the message.
    pub fn ack(self) -> impl Future<Output = Result<Settled, RelayError>> + Send {
        self.settle(Verdict::ack())
    }

    /// Finishes the message and enqueues `children` in the same transaction: they exist if and only if the answer is `Accepted`.
    ///
    /// If the store refuses them for good, as when one is too large, the message is buried with that reason and the
    /// error is answered.
    pub async fn ack_emitting(self, children: Vec<NewMessage>) -> Result<Settled, RelayError> {
        self.settle(Verdict::Ack { emit: children }).await
    }

    /// Puts the message off: it is tried again after the retry policy's delay, or is dead if this was the last attempt.
    pub fn nack(self, why: impl fmt::Display) -> impl Future<Output = Result<Settled, RelayError>> + Send {
        self.settle(Verdict::nack(why))
    }

    /// Puts the message off: it is tried again after `delay`, or is dead if this was the last attempt.
    pub fn nack_after(
        self,
        delay: Duration,
        why: impl fmt::Display,
    ) -> impl Future<Output = Result<Settled, RelayError>> + Send {
        self.settle(Verdict::Nack { after: Some(delay), reason: Reason::new(why) })
    }

    /// Gives the message up: it is kept with the dead letters, with the reason, and can be revived.
    pub fn bury(self, why: impl fmt::Display) -> impl Future<Output = Result<Settled, RelayError>> + Send {
        self.settle(Verdict::bury(why))
    }

    /// Gives the message back as if it had never been claimed; it is due at once, and the attempt is not counted.
    pub async fn release(self) -> Result<Settled, RelayError> {
        self.settle(Verdict::Release).await
    }

    /// Ends the claim as `verdict` says.
    pub fn settle(self, verdict: Verdict) -> impl Future<Output = Result<Settled, RelayError>> + Send {
        let Self { claimed, handle } = self;
        // The payload is not needed any longer; the wait for the store may be long.
        drop(claimed);
        handle.settle(verdict)
    }

    pub(crate) fn from_parts(claimed: Claimed, handle: ClaimHandle) -> Self {
        Self { claimed, handle }
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
