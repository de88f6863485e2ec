use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use claimstream_domain::{Disposition, MessageId, QueueName, Receipt, Settlement};
use futures::{FutureExt, channel::oneshot};
use tracing::Instrument;

use crate::{
    DeadLetterClass,
    batch::{Batch, Entry},
    batch_writer::BatchWriter,
    dead_letter_event::Attempted,
    excuses::Excuses,
    open_claims::{OpenClaims, Standing},
    settlement_health::SettlementHealth,
    settling::{Settling, Writing},
    setup::Setup,
    ticket::Ticket,
};

/// Writes the settlements of one stream, many in one call.
///
/// A settlement joins the open [`Batch`] and waits for its writing, a future that all its settlements share: polling any of
/// them drives it, and dropping one leaves the others as they were.
pub(crate) struct Settler {
    pub(crate) setup: Arc<Setup>,
    pub(crate) open_claims: Arc<OpenClaims>,
    pub(crate) queue: QueueName,
    open: Mutex<Option<Open>>,
    excuses: Excuses,
    health: Arc<SettlementHealth>,
}

#[derive(Clone)]
struct Open {
    batch: Arc<Batch>,
    writing: Writing,
}

impl Settler {
    pub(crate) fn new(
        setup: Arc<Setup>,
        open_claims: Arc<OpenClaims>,
        queue: QueueName,
        health: SettlementHealth,
    ) -> Self {
        let (open, excuses, health) = (Mutex::default(), Excuses::default(), Arc::new(health));
        Self { setup, open_claims, queue, open, excuses, health }
    }

    /// Moves a claim from the buffer to its consumer, or to the settlement that ends it.
    pub(crate) fn hand_out(&self, ticket: Ticket) -> Standing {
        self.open_claims.hand_out(ticket, self.setup.timer.now())
    }

    /// Joins the open batch, or opens one.
    pub(crate) fn join(
        &self,
        ticket: Ticket,
        settlement: Settlement,
        attempted: Attempted,
        deadline: Duration,
    ) -> Settling {
        let most = self.setup.config.settle_batch as usize;
        let (answer, outcome) = oneshot::channel();
        let mut entry = Entry { ticket, settlement, attempted, deadline, answer };
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let Open { batch, writing } = open.get_or_insert_with(|| self.open());
            match batch.join(entry, most) {
                Ok(()) => {
                    let (batch, writing) = (Arc::clone(batch), writing.clone());
                    let open_claims = Arc::clone(&self.open_claims);
                    return Settling::new(open_claims, batch, writing, outcome);
                }
                Err(returned) => (entry, *open) = (*returned, None),
            }
        }
    }

    /// Takes back the attempt that was, or will be, counted for a claim that was lost.
    pub(crate) async fn take_back(&self, ticket: Ticket, receipt: Option<Receipt>) {
        let Some(receipt) = receipt else { return };
        let deadline = self.setup.timer.now() + self.setup.config.lease.duration();
        // The claim is not open any more; what went wrong is in the trace.
        let settlement = Settlement { receipt, disposition: Disposition::Returned };
        let attempt = Attempted { attempt: 0, class: DeadLetterClass::Failed, is_event: false };
        let _ = self.join(ticket, settlement, attempt, deadline).await;
    }

    /// The receipt of a claim that was lost because the store did not answer a renewal in time, unless that has happened
    /// to its message too often.
    pub(crate) fn excused(&self, ticket: Ticket, message: MessageId) -> Option<Receipt> {
        let receipt = self.open_claims.asked_in_vain(ticket)?;
        self.excuses.excuses(message).then_some(receipt)
    }

    fn open(&self) -> Open {
        let batch = Arc::new(Batch::default());
        let span = tracing::debug_span!("settle", queue = %self.queue, count = tracing::field::Empty);
        let writer = BatchWriter::new(&self.setup, &self.open_claims, &self.health);
        let writing = writer.write(Arc::clone(&batch));
        Open { batch, writing: writing.instrument(span).boxed().shared() }
    }
}
