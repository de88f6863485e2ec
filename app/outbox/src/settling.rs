use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use claimstream_ports::{StoreError, StoreErrorKind};
use futures::{
    FutureExt,
    channel::oneshot,
    future::{BoxFuture, Shared},
};

use crate::{
    batch::{Batch, Outcome},
    open_claims::OpenClaims,
};

/// One settlement on its way.
pub(crate) struct Settling {
    open_claims: Arc<OpenClaims>,
    batch: Arc<Batch>,
    writing: Writing,
    outcome: oneshot::Receiver<Outcome>,
    /// How often the executor is still given its turn.
    patience: u8,
}

/// The writing of a batch; it answers each entry on the way.
pub(crate) type Writing = Shared<BoxFuture<'static, ()>>;

impl Settling {
    pub(crate) fn new(
        open_claims: Arc<OpenClaims>,
        batch: Arc<Batch>,
        writing: Writing,
        outcome: oneshot::Receiver<Outcome>,
    ) -> Self {
        Self { open_claims, batch, writing, outcome, patience: Self::PATIENCE }
    }

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
        if !self.open_claims.none_idle() {
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
