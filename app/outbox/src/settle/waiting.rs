use std::{
    future::Future,
    mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures::{FutureExt, future::FusedFuture};

use super::{
    pending::{Others, Outcomes},
    settlement_batch::OpenBatch,
};
use crate::in_flight::OpenClaims;

/// Waits for the outcomes of settlements of one caller, and drives the writing of the batches that they are in; it ends with the outcomes
/// that are not `Accepted`.
pub(crate) struct Waiting {
    open_claims: Arc<OpenClaims>,
    outcomes: Arc<Outcomes>,
    newest: OpenBatch,
    /// Batches that those before the others have filled, in the order in which they are to be sent.
    full: Vec<OpenBatch>,
    /// How often the executor is still given its turn.
    budget: u8,
    /// How many settlements the newest batch had at the last look.
    joined_before: usize,
}

impl Waiting {
    /// How often the executor gets its turn before a batch is hurried. A [`FuturesUnordered`], which is what most
    /// consumers of many claims at a time are made of, polls a future again at once and passes the turn on only when it
    /// asks for it a second time.
    ///
    /// [`FuturesUnordered`]: futures::stream::FuturesUnordered
    const TURNS: u8 = 2;

    pub(crate) fn new(
        open_claims: Arc<OpenClaims>,
        outcomes: Arc<Outcomes>,
        newest: OpenBatch,
        full: Vec<OpenBatch>,
    ) -> Self {
        Self { open_claims, outcomes, newest, full, budget: Self::TURNS, joined_before: 0 }
    }

    /// Hurries the batch if all claims that are out are being settled already, so that nothing more can join.
    ///
    /// That is found out only after the executor has had its turn: a consumer that settles many claims at the same time
    /// is just about to take the next one.
    fn hurry(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if !self.open_claims.none_idle() {
            return Poll::Ready(());
        }
        let joined = self.newest.batch.len();
        if joined > mem::replace(&mut self.joined_before, joined) {
            // The next message of a key is handed out when the one before it has joined.
            self.budget = Self::TURNS;
        }
        if self.budget > 0 && !self.is_left_ripe() {
            self.budget -= 1;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.newest.batch.ripen();
        Poll::Ready(())
    }

    /// Whether a batch is ripe and not taken yet.
    fn is_left_ripe(&self) -> bool {
        self.full.iter().chain([&self.newest]).any(|open| open.batch.is_left_ripe())
    }
}

impl Future for Waiting {
    type Output = Others;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Others> {
        if self.hurry(cx).is_pending() {
            return Poll::Pending;
        }
        let Self { full, newest, .. } = &mut *self;
        for OpenBatch { writing, .. } in full.iter_mut().chain([newest]) {
            if !writing.is_terminated() {
                let _ = writing.poll_unpin(cx);
            }
        }
        if let Poll::Ready(others) = self.outcomes.poll_all(cx) {
            return Poll::Ready(others);
        }
        if self.is_left_ripe() {
            // Another task was polling the writing and may have looked before the batch was ripe.
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }
}
