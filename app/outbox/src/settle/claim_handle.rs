use std::{mem, sync::Arc, time::Duration};

use claimstream_domain::{
    ClaimId, Claimed, Disposition, Doubt, Event, MessageId, Receipt, Renewed, Settled, Settlement, Verdict,
    decide,
};
use futures::FutureExt;

use super::{
    pending::{Outcome, OutcomeSender, Outcomes, Pending},
    settler::Settler,
};
use crate::{
    error::{Operation, RelayError},
    in_flight::{Ticket, Turn, Wanted},
    renew::renew,
    report::{Attempted, DeadLetterClass, DeadLetterEvent},
};

/// The right to end one claim, which can be used once.
///
/// Dropping it ends nothing: the room that the claim took is free again, and the message comes back when its lease ends.
pub(crate) struct ClaimHandle {
    settler: Arc<Settler>,
    ticket: Ticket,
    message: MessageId,
    attempt: u32,
    is_event: bool,
    /// What the reason of the attempt before says, and that of this one has to.
    doubt: Doubt,
    ended: bool,
}

impl ClaimHandle {
    pub(crate) fn new(settler: Arc<Settler>, ticket: Ticket, claimed: &Claimed) -> Self {
        let is_event = DeadLetterEvent::is_in(&claimed.message);
        Self {
            settler,
            ticket,
            message: claimed.message.id,
            attempt: claimed.attempt,
            is_event,
            doubt: Doubt::in_reason(claimed.last_error.as_ref()),
            ended: false,
        }
    }

    pub(crate) fn ticket(&self) -> Ticket {
        self.ticket
    }

    pub(crate) fn message(&self) -> MessageId {
        self.message
    }

    /// The number of the attempt that the claim is.
    pub(crate) fn attempt(&self) -> u32 {
        self.attempt
    }

    /// How long the claim can still be relied on.
    pub(crate) fn remaining(&self) -> Duration {
        let deadline = self.settler.open_claims.deadline(self.ticket);
        deadline.saturating_sub(self.settler.setup.timer.now())
    }

    /// Ends the claim as `verdict` says.
    ///
    /// One future, and none around it: each is moved whole, for each message.
    pub(crate) fn settle(self, verdict: Verdict) -> impl Future<Output = Result<Settled, RelayError>> + Send {
        let class = DeadLetterClass::of(&verdict);
        let disposition = self.decide(verdict);
        self.settle_as(disposition, class)
    }

    /// Gives the message back, and no caller waits for it. The store is asked for a lease longer than the claim lasts, because
    /// the attempt is taken back later as well.
    pub(crate) async fn give_back(self) -> Result<Settled, RelayError> {
        let longer = self.settler.setup.config.lease.duration();
        self.end(Disposition::Returned, DeadLetterClass::Failed, longer).await
    }

    /// What becomes of the message after `verdict`.
    pub(crate) fn decide(&self, verdict: Verdict) -> Disposition {
        let policy = &self.settler.setup.config.retry;
        decide(verdict.keeping(&self.doubt), self.attempt, policy, self.message.seed(self.attempt))
    }

    /// Ends the claim as `disposition` says; `class` is reported if that makes the message a dead letter.
    pub(crate) fn settle_as(
        self,
        disposition: Disposition,
        class: DeadLetterClass,
    ) -> impl Future<Output = Result<Settled, RelayError>> + Send {
        self.end(disposition, class, Duration::ZERO)
    }

    #[expect(
        clippy::manual_async_fn,
        reason = "an async fn keeps its arguments twice, and this is moved for each message"
    )]
    fn end(
        mut self,
        disposition: Disposition,
        class: DeadLetterClass,
        longer: Duration,
    ) -> impl Future<Output = Result<Settled, RelayError>> + Send {
        async move {
            let event = disposition.event();
            let (claim, settled) = loop {
                match self.settler.open_claims.begin_settling(self.ticket) {
                    Turn::Settle(receipt, deadline) => {
                        let (claim, deadline) = (receipt.claim, deadline.saturating_add(longer));
                        let outcomes = Outcomes::of(1);
                        let reply = outcomes.reply(0);
                        let pending = self.pending(receipt, deadline, disposition, class, reply);
                        break (claim, self.settler.settle(pending, outcomes));
                    }
                    // Its outcome is known before we look again.
                    Turn::After(renewal) => drop(renewal.await),
                    Turn::Lost(receipt) if disposition == Disposition::Returned => {
                        self.let_go();
                        self.settler.take_back(self.ticket, receipt).boxed().await;
                        return Ok(Settled::Superseded);
                    }
                    Turn::Lost(_) => return Ok(Settled::Superseded),
                }
            };
            let outcome = settled.await;
            self.conclude(claim, event, outcome)
        }
    }

    /// The settlement of the claim, after which nothing may end it any more. Only [`Turn::Settle`] leads here, so no renewal is under way.
    pub(crate) fn pending(
        &self,
        receipt: Receipt,
        deadline: Duration,
        disposition: Disposition,
        class: DeadLetterClass,
        reply: OutcomeSender,
    ) -> (Settlement, Pending) {
        let attempted = Attempted { attempt: self.attempt, class, is_event: self.is_event };
        let settlement = self.settler.setup.recorded(Settlement { receipt, disposition }, attempted);
        (settlement, Pending::new(self.ticket, attempted, deadline, reply))
    }

    /// Takes in how its settlement ended.
    pub(crate) fn conclude(
        mut self,
        claim: ClaimId,
        event: Event,
        outcome: Outcome,
    ) -> Result<Settled, RelayError> {
        self.ended = true;
        let settled = outcome.as_ref().ok();
        self.settler.key_groups.concluded(self.ticket, settled == Some(&Settled::Accepted));
        tracing::debug!(message_id = %self.message, %claim, attempt = self.attempt, ?event, settled = settled.map(tracing::field::debug), "settled");
        outcome.map_err(|source| self.error(Operation::Settle, source))
    }

    /// Ends a claim that was lost while its handler was at it. The attempt is taken back if the store had been asked for more
    /// time and did not answer soon enough.
    pub(crate) async fn lose(mut self) -> Result<Settled, RelayError> {
        self.renewal_ended().await;
        let excused = self.settler.excused(self.ticket, self.message);
        self.let_go();
        self.settler.take_back(self.ticket, excused).await;
        Ok(Settled::Superseded)
    }

    /// Moves the end of the claim to a whole lease from now.
    pub(crate) async fn renew(&mut self) -> Result<Renewed, RelayError> {
        let Settler { setup, open_claims, queue, .. } = &*self.settler;
        // The caller that began it gave up waiting.
        self.renewal_ended().await;
        if let Some(renewal) = renew(setup, open_claims, queue, Wanted::One(self.ticket)) {
            renewal.await.map_err(|source| self.error(Operation::Renew, source))?;
        }
        Ok(open_claims.receipt(self.ticket).map_or(Renewed::Superseded, Renewed::Extended))
    }

    /// Waits for the renewal that is under way, if there is one: it may replace the receipt.
    async fn renewal_ended(&self) {
        if let Some(renewal) = self.settler.open_claims.renewal_of(self.ticket) {
            drop(renewal.await);
        }
    }

    fn error(&self, operation: Operation, source: Arc<claimstream_ports::StoreError>) -> RelayError {
        RelayError::Store { operation, queue: self.settler.queue.clone(), source }
    }
}

impl ClaimHandle {
    fn let_go(&mut self) {
        let is_ended = mem::replace(&mut self.ended, true);
        if !is_ended {
            self.settler.key_groups.concluded(self.ticket, false);
        }
        if !is_ended && self.settler.open_claims.let_go(self.ticket) {
            tracing::debug!(message_id = %self.message, attempt = self.attempt, "dropped unsettled");
        }
    }
}

impl Drop for ClaimHandle {
    fn drop(&mut self) {
        self.let_go();
    }
}
