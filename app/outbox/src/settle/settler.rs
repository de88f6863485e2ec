use std::{
    future::poll_fn,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
};

use claimstream_domain::{Disposition, MessageId, QueueName, Receipt, Settled, Settlement};
use futures::FutureExt;
use tracing::Instrument;

use super::{
    pending::{Outcome, Outcomes, Pending},
    settlement_batch::{OpenBatch, SettlementBatch, Writing},
    settlement_health::SettlementHealth,
    settlement_writer::SettlementWriter,
    uncounted::UncountedExpiries,
    waiting::Waiting,
};
use crate::{
    in_flight::{ClaimStatus, OpenClaims, Ticket},
    order::KeyGroups,
    report::{Attempted, DeadLetterClass},
    setup::Setup,
};

/// Writes the settlements of one stream, many in one call.
///
/// A settlement joins the open [`SettlementBatch`] and waits for its writing, a future that all its settlements share: polling any of
/// them drives it, and dropping one leaves the others as they were.
pub(crate) struct Settler {
    pub(crate) setup: Arc<Setup>,
    pub(crate) open_claims: Arc<OpenClaims>,
    pub(crate) queue: QueueName,
    /// What is kept back until messages before it have been settled.
    pub(crate) key_groups: KeyGroups,
    open: Mutex<Option<OpenBatch>>,
    uncounted: UncountedExpiries,
    health: Arc<SettlementHealth>,
}

impl Settler {
    pub(crate) fn new(
        setup: Arc<Setup>,
        open_claims: Arc<OpenClaims>,
        queue: QueueName,
        health: SettlementHealth,
    ) -> Self {
        let (open, uncounted, health) = (Mutex::default(), UncountedExpiries::default(), Arc::new(health));
        Self { setup, open_claims, queue, key_groups: KeyGroups::default(), open, uncounted, health }
    }

    /// Moves a claim from the buffer to its consumer, or to the settlement that ends it.
    pub(crate) fn hand_out(&self, ticket: Ticket) -> ClaimStatus {
        self.open_claims.hand_out(ticket, self.setup.timer.now())
    }

    /// Moves claims to their consumer, as [`hand_out`](Self::hand_out) does each.
    pub(crate) fn hand_out_all(&self, tickets: impl Iterator<Item = Ticket>) -> Vec<ClaimStatus> {
        self.open_claims.hand_out_all(tickets, self.setup.timer.now())
    }

    /// Joins the open batch with one settlement, or opens one.
    pub(crate) fn settle(
        &self,
        one: (Settlement, Pending),
        outcomes: Arc<Outcomes>,
    ) -> impl Future<Output = Outcome> + Send + use<> {
        let waiting = self.settle_all([one].into_iter(), outcomes);
        waiting.map(|mut others| others.pop().map_or(Ok(Settled::Accepted), |(_, outcome)| outcome))
    }

    /// Joins the open batch with settlements that are waited for together; those that do not fit open others.
    pub(crate) fn settle_all(
        &self,
        all: impl ExactSizeIterator<Item = (Settlement, Pending)>,
        outcomes: Arc<Outcomes>,
    ) -> Waiting {
        let (most, mut left) = (self.setup.config.settle_batch as usize, all.len());
        let (has_groups, mut ends) = (!self.key_groups.is_empty(), Vec::new());
        let mut all = all.inspect(|(settlement, pending)| {
            if has_groups {
                ends.push((pending.ticket, settlement.disposition.is_final()));
            }
        });
        let (mut full, mut before) = (Vec::new(), None);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let newest = loop {
            let current = open.get_or_insert_with(|| self.open(before.take()));
            let taken = current.batch.take_in(&mut all, most);
            left -= taken;
            if left == 0 {
                break current.clone();
            }
            let closed = open.take();
            full.extend(closed.clone().filter(|_| taken > 0));
            before = closed.filter(|_| has_groups).map(|closed| closed.writing);
        };
        drop((open, all));
        ends.into_iter().for_each(|(ticket, is_final)| self.key_groups.joined(ticket, is_final));
        Waiting::new(Arc::clone(&self.open_claims), outcomes, newest, full)
    }

    /// Takes back the attempt that was, or will be, counted for a claim that was lost.
    pub(crate) async fn take_back(&self, ticket: Ticket, receipt: Option<Receipt>) {
        let Some(receipt) = receipt else { return };
        let deadline = self.setup.timer.now() + self.setup.config.lease.duration();
        // The claim is not open any more; what went wrong is in the trace.
        let settlement = Settlement { receipt, disposition: Disposition::Returned };
        let attempted = Attempted { attempt: 0, class: DeadLetterClass::Failed, is_event: false };
        let outcomes = Outcomes::of(1);
        let pending = Pending::new(ticket, attempted, deadline, outcomes.reply(0));
        let _ = self.settle((settlement, pending), outcomes).await;
    }

    /// The receipt of a claim that was lost because the store did not answer a renewal in time, unless that has happened
    /// to its message too often.
    pub(crate) fn excused(&self, ticket: Ticket, message: MessageId) -> Option<Receipt> {
        let receipt = self.open_claims.asked_in_vain(ticket)?;
        self.uncounted.note(message).then_some(receipt)
    }

    /// Opens a batch. The one `before` it is sent first: the store refuses the end of a message whose key it would leave with a gap.
    fn open(&self, before: Option<Writing>) -> OpenBatch {
        let batch = Arc::new(SettlementBatch::default());
        let span = tracing::debug_span!("settle", queue = %self.queue, count = tracing::field::Empty);
        let writer = SettlementWriter::new(&self.setup, &self.open_claims, &self.health);
        let write = writer.write(Arc::clone(&batch));
        let writing = async move {
            if let Some(mut before) = before {
                let sent = |cx: &mut Context<'_>| {
                    let _ = before.poll_unpin(cx);
                    Poll::Ready(())
                };
                poll_fn(sent).await;
            }
            write.await;
        };
        OpenBatch { batch, writing: writing.instrument(span).boxed().shared() }
    }
}
