use std::{
    collections::HashMap,
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use claimstream_domain::{ClaimEnd, Disposition, MessageId, QueueName, Receipt, Settled, Settlement};
use claimstream_ports::{StoreError, StoreErrorKind};
use futures::{
    FutureExt,
    channel::oneshot,
    future::{BoxFuture, Shared},
};
use tracing::Instrument;

use crate::{
    DeadLetterClass,
    batch::{Batch, Entry},
    dead_letter_event::Attempted,
    holdings::{Holdings, Ticket},
    setup::Setup,
    writing,
};

/// Writes the settlements of one stream, many in one call.
///
/// Whoever settles joins the open [`Batch`] and waits for its writing, a future shared by all who wait for it: whoever
/// polls drives, and one who is dropped leaves the others as they were.
pub(crate) struct Settler {
    pub(crate) setup: Arc<Setup>,
    pub(crate) holdings: Arc<Holdings>,
    pub(crate) queue: QueueName,
    open: Mutex<Option<Open>>,
    /// How often messages were excused that the store was too slow for.
    excuses: Mutex<HashMap<MessageId, u32>>,
}

/// How one settlement ended.
pub(crate) type Outcome = Result<Settled, Arc<StoreError>>;

/// The writing of a batch; it answers each entry on the way.
type Writing = Shared<BoxFuture<'static, ()>>;

#[derive(Clone)]
struct Open {
    batch: Arc<Batch>,
    writing: Writing,
}

impl Settler {
    /// Of so many messages it is known how often they were excused.
    const MOST_EXCUSED: usize = 10_000;

    pub(crate) fn new(setup: Arc<Setup>, holdings: Arc<Holdings>, queue: QueueName) -> Self {
        Self { setup, holdings, queue, open: Mutex::default(), excuses: Mutex::default() }
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
                    let holdings = Arc::clone(&self.holdings);
                    return Settling { holdings, batch, writing, outcome, patience: Settling::PATIENCE };
                }
                Err(returned) => (entry, *open) = (*returned, None),
            }
        }
    }

    /// Takes back the attempt that was, or will be, counted for a claim that was lost.
    pub(crate) async fn take_back(&self, ticket: Ticket, receipt: Option<Receipt>) {
        let Some(receipt) = receipt else { return };
        let deadline = self.setup.timer.now() + self.setup.config.lease.duration();
        // The books know nothing of it any more; what went wrong is in the trace.
        let settlement = Settlement { receipt, disposition: Disposition::Returned };
        let attempt = Attempted { attempt: 0, class: DeadLetterClass::Failed, is_event: false };
        let _ = self.join(ticket, settlement, attempt, deadline).await;
    }

    /// The receipt of a claim that was lost because the store did not answer a renewal in time, unless that has happened
    /// to its message too often.
    pub(crate) fn excused(&self, ticket: Ticket, message: MessageId) -> Option<Receipt> {
        let receipt = self.holdings.asked_in_vain(ticket)?;
        let mut excuses = self.excuses.lock().unwrap_or_else(PoisonError::into_inner);
        if excuses.len() >= Self::MOST_EXCUSED {
            excuses.clear();
        }
        let excused = excuses.entry(message).or_default();
        let end = ClaimEnd::Unanswered { excused: *excused };
        *excused += 1;
        (!end.counts()).then_some(receipt)
    }

    fn open(&self) -> Open {
        let batch = Arc::new(Batch::default());
        let span = tracing::debug_span!("settle", queue = %self.queue, count = tracing::field::Empty);
        let writing = writing::write(Arc::clone(&self.setup), Arc::clone(&self.holdings), Arc::clone(&batch));
        Open { batch, writing: writing.instrument(span).boxed().shared() }
    }
}

/// One settlement on its way.
pub(crate) struct Settling {
    holdings: Arc<Holdings>,
    batch: Arc<Batch>,
    writing: Writing,
    outcome: oneshot::Receiver<Outcome>,
    /// How often the executor is still given its turn.
    patience: u8,
}

impl Settling {
    /// How often the executor gets its turn before a batch is hurried. A [`FuturesUnordered`], which is what most
    /// consumers of many claims at a time are made of, polls a future again at once and passes the turn on only when it
    /// asks for it a second time.
    ///
    /// [`FuturesUnordered`]: futures::stream::FuturesUnordered
    const PATIENCE: u8 = 2;

    /// Hurries the batch if all claims that are out are being settled already, so that nothing more can join.
    ///
    /// That is found out only after the executor has had its turn: a consumer that settles many claims at the same time
    /// is just about to take the next one.
    fn hurry(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if !self.holdings.none_idle() {
            return Poll::Ready(());
        }
        if self.patience > 0 && !self.batch.is_left_ripe() {
            self.patience -= 1;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.batch.ripen();
        Poll::Ready(())
    }
}

impl Future for Settling {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Outcome> {
        if self.hurry(cx).is_pending() {
            return Poll::Pending;
        }
        let _ = self.writing.poll_unpin(cx);
        if let Poll::Ready(outcome) = self.outcome.poll_unpin(cx) {
            return Poll::Ready(outcome.unwrap_or_else(|_| Err(Arc::new(unwritten()))));
        }
        if self.batch.is_left_ripe() {
            // Somebody else was polling the writing and may have looked before the batch was ripe.
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }
}

fn unwritten() -> StoreError {
    StoreError::new(StoreErrorKind::Unavailable, "settle", "its batch was given up")
}
