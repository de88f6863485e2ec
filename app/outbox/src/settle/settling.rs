use std::{
    future::Future,
    mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures::{
    FutureExt,
    future::{BoxFuture, FusedFuture, Shared},
};

use super::{
    answers::{Answers, Others},
    settlement_batch::SettlementBatch,
};
use crate::in_flight::OpenClaims;

/// Settlements of one caller on their way; it ends with the outcomes that are not `Accepted`.
pub(crate) struct Settling {
    open_claims: Arc<OpenClaims>,
    joined: Joined,
    answers: Arc<Answers>,
    /// How often the executor is still given its turn.
    budget: u8,
    /// How many settlements its newest batch had at the last look.
    joined_before: usize,
}

/// The batches that settlements of one caller are in: one, unless they did not fit, so that a single one needs no list.
#[derive(Default)]
pub(crate) struct Joined {
    first: Option<OpenBatch>,
    more: Vec<OpenBatch>,
}

/// A batch that settlements may join, and what writes it.
#[derive(Clone)]
pub(crate) struct OpenBatch {
    pub(crate) batch: Arc<SettlementBatch>,
    pub(crate) writing: Writing,
}

/// The writing of a batch; it answers each entry on the way.
pub(crate) type Writing = Shared<BoxFuture<'static, ()>>;

impl Joined {
    /// Adds one that is newer than all the others.
    pub(crate) fn push(&mut self, batch: OpenBatch) {
        match self.first {
            None => self.first = Some(batch),
            Some(_) => self.more.push(batch),
        }
    }

    /// The newest of them.
    fn last(&self) -> Option<&OpenBatch> {
        self.more.last().or(self.first.as_ref())
    }

    /// All of them, in the order in which they are to be sent.
    fn iter(&self) -> impl Iterator<Item = &OpenBatch> {
        self.first.iter().chain(&self.more)
    }

    fn iter_mut(&mut self) -> impl Iterator<Item = &mut OpenBatch> {
        self.first.iter_mut().chain(&mut self.more)
    }
}

impl Settling {
    pub(crate) fn new(open_claims: Arc<OpenClaims>, joined: Joined, answers: Arc<Answers>) -> Self {
        Self { open_claims, joined, answers, budget: Self::TURNS, joined_before: 0 }
    }

    /// How often the executor gets its turn before a batch is hurried. A [`FuturesUnordered`], which is what most
    /// consumers of many claims at a time are made of, polls a future again at once and passes the turn on only when it
    /// asks for it a second time.
    ///
    /// [`FuturesUnordered`]: futures::stream::FuturesUnordered
    const TURNS: u8 = 2;

    /// Hurries the batch if all claims that are out are being settled already, so that nothing more can join.
    ///
    /// That is found out only after the executor has had its turn: a consumer that settles many claims at the same time
    /// is just about to take the next one.
    fn hurry(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if !self.open_claims.none_idle() {
            return Poll::Ready(());
        }
        let joined = self.joined.last().map_or(0, |joined| joined.batch.len());
        if joined > mem::replace(&mut self.joined_before, joined) {
            // The next message of a key is handed out when the one before it has joined.
            self.budget = Self::TURNS;
        }
        if self.budget > 0 && !self.is_left_ripe() {
            self.budget -= 1;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.joined.iter().for_each(|joined| joined.batch.ripen());
        Poll::Ready(())
    }

    /// Whether a batch is ripe and not taken yet.
    fn is_left_ripe(&self) -> bool {
        self.joined.iter().any(|joined| joined.batch.is_left_ripe())
    }
}

impl Future for Settling {
    type Output = Others;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Others> {
        if self.hurry(cx).is_pending() {
            return Poll::Pending;
        }
        for OpenBatch { writing, .. } in self.joined.iter_mut() {
            if !writing.is_terminated() {
                let _ = writing.poll_unpin(cx);
            }
        }
        if let Poll::Ready(others) = self.answers.poll_all(cx) {
            return Poll::Ready(others);
        }
        if self.is_left_ripe() {
            // Another task was polling the writing and may have looked before the batch was ripe.
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }
}
