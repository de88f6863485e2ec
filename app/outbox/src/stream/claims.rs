mod hand_out;
mod take_in;

use std::{
    fmt,
    future::poll_fn,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use claimstream_domain::QueueName;
use futures::{Stream, StreamExt, stream::TakeUntil};
use tracing::Instrument;

use super::{
    batch::Batch,
    buffer::Buffer,
    claim::Claim,
    claimer::{Claimer, Least},
    isolation::Isolation,
    linger::Linger,
    returns::{Ended, Returns},
};
use crate::{
    error::RelayError,
    in_flight::{OpenClaims, Ticket},
    order::FetchMode,
    report::Health,
    settle::{SettlementHealth, Settler},
    setup::Setup,
};

/// The messages of one queue as a [`Stream`] of claims, without an end.
///
/// It claims as it is polled and never holds more than [`prefetch`](crate::config::RelayConfig::prefetch) messages that are leased
/// and not settled; what a store leases ahead for it goes back when it is closed. After a full batch it claims again at
/// once, otherwise it waits as the [`pacing`](crate::config::RelayConfig::pacing) says, or until a [`Wakeup`](claimstream_ports::Wakeup). It also waits, ever longer, while
/// messages are given back, because they are due again at once.
///
/// An error that passes by itself is traced and waited out. Any other is yielded, and the stream goes on after it, with growing
/// waits: a consumer that stops at the first error stops for a table that was away for a moment.
///
/// Two kinds of messages are never yielded: those that have been claimed more often than the retry policy allows, because
/// they end every process that touches them, are buried; those that waited here until they could no longer be relied on
/// are given back.
///
/// A message that was cut off again and again, and never said why, may be the one that ends its processes. Nothing is claimed while
/// one of them is at hand, no longer than its lease, so that it takes no other of its kind along to the dead letters.
///
/// A consumer may take longer over one message than a lease lasts. Messages behind it are given back after two thirds of their
/// lease, uncounted, if the [`Timer`](claimstream_ports::Timer) can [spawn](claimstream_ports::Timer::spawn) that.
///
/// [`close`](Self::close) it to give back at once the messages that were not yielded; [`until`](Self::until) leaves it to be
/// closed. If it is dropped instead, such messages come back when their leases end.
#[must_use = "a stream does nothing unless it is polled"]
pub struct Claims {
    settler: Arc<Settler>,
    claimer: Claimer,
    buffer: Arc<Buffer>,
    /// What ends the claims that are not yielded.
    returns: Returns,
    isolation: Isolation,
    /// How many messages have been given back.
    given_back: u64,
    /// An error that has not been returned yet.
    trouble: Option<RelayError>,
    /// Whether the store knows that no more will be claimed.
    released: bool,
}

impl Claims {
    pub(crate) fn new(setup: Arc<Setup>, queue: QueueName) -> Self {
        let open_claims = Arc::new(OpenClaims::new(setup.config.prefetch, setup.config.prefetch_bytes));
        let health = Arc::new(Health::new(Arc::clone(&setup.timer), setup.config.lease.duration()));
        let settling = SettlementHealth::new(Arc::clone(&setup), queue.clone(), Arc::clone(&health));
        let claimer = Claimer::new(Arc::clone(&setup), Arc::clone(&open_claims), queue.clone(), health);
        let settler = Arc::new(Settler::new(setup, open_claims, queue, settling));
        Self {
            claimer,
            buffer: Arc::default(),
            returns: Returns::new(Arc::clone(&settler)),
            isolation: Isolation::new(Arc::clone(&settler)),
            settler,
            given_back: 0,
            trouble: None,
            released: false,
        }
    }

    /// The queue that is read.
    pub fn queue(&self) -> &QueueName {
        &self.settler.queue
    }

    /// Gives back the messages that were leased and not yielded, with attempts restored, and answers how many they were.
    ///
    /// A claim call that is under way is waited for first, no longer than its lease, and so is the store while it gives back
    /// what it has leased ahead. Claims that were yielded are not touched and can still be settled.
    ///
    /// An error says what went wrong last: the claim call failed for good, or a message could not be given back, or not
    /// be buried. Such messages come back when their leases end.
    pub async fn close(mut self) -> Result<u64, RelayError> {
        let span = tracing::debug_span!("close", queue = %self.queue());
        self.given_back = 0;
        self.stop();
        poll_fn(|cx| self.poll_stopped(cx)).instrument(span).await;
        tracing::debug!(queue = %self.queue(), released = self.given_back, "closed");
        self.trouble.take().map_or(Ok(self.given_back), Err)
    }

    /// How its claims fare.
    pub(crate) fn health(&self) -> &Arc<Health> {
        self.claimer.health()
    }

    /// The claims until `stop` is ready, which then leaves the stream to be [`close`](Self::close)d.
    ///
    /// ```
    /// # use claimstream::{Relay, RelayConfig, RelayError};
    /// # async fn read(relay: Relay, shutdown: impl Future<Output = ()>) -> Result<(), RelayError> {
    /// use futures::StreamExt;
    ///
    /// let mut claims = relay.claims("orders")?;
    /// let mut until_told = claims.until(shutdown);
    /// while let Some(claim) = until_told.next().await {
    ///     // An error is in the trace already, and the stream goes on after it.
    ///     let Ok(claim) = claim else { continue };
    ///     claim.ack().await?;
    /// }
    /// claims.close().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// [`StreamExt::take_until`](futures::StreamExt::take_until) takes the stream away instead, so that it cannot be closed:
    /// what it holds stays leased until the leases end.
    pub fn until<F: Future>(&mut self, stop: F) -> TakeUntil<&mut Self, Pin<Box<F>>> {
        StreamExt::take_until(self, Box::pin(stop))
    }

    pub(crate) fn settler(&self) -> &Arc<Settler> {
        &self.settler
    }

    /// Claims no more, and gives back the messages that were not yielded as [`poll_stopped`](Self::poll_stopped) is polled.
    pub(crate) fn stop(&mut self) {
        self.claimer.stop();
        for (ticket, claimed) in self.buffer.take_all().into_iter().chain(self.settler.key_groups.take_all())
        {
            self.returns.give_back(ticket, claimed);
        }
    }

    /// Waits for nothing that is under way.
    pub(crate) fn abandon(&mut self) {
        self.claimer.abandon();
        self.returns.clear();
        self.isolation.abandon();
        self.buffer = Arc::default();
        self.settler.key_groups.take_all();
        self.settler.open_claims.let_all_go();
        self.released = true;
    }

    /// Whether a message may be yielded because one before it was settled.
    pub(crate) fn has_freed(&self) -> bool {
        self.settler.key_groups.has_freed()
    }

    pub(crate) fn is_stopped(&self) -> bool {
        let all_ended = self.returns.is_empty() && self.isolation.none_leaving();
        self.released && all_ended && !self.buffer.is_giving_back()
    }

    /// Ready when nothing is left to be waited for after a [`stop`](Self::stop).
    pub(crate) fn poll_stopped(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            let moved = self.poll_fill(cx);
            let _ = self.buffer.poll_given_back(cx);
            if self.is_stopped() {
                return Poll::Ready(());
            }
            if self.claimer.is_stopped() && !self.released {
                self.released = true;
                self.returns.release_read_ahead();
            } else if !moved {
                return Poll::Pending;
            }
        }
    }

    /// Claims, and ends claims that are not to be yielded, as far as possible now; says whether anything was done.
    pub(crate) fn poll_fill(&mut self, cx: &mut Context<'_>) -> bool {
        let mut moved = self.poll_endings(cx);
        moved |= self.follow_runs(cx);
        while self.may_claim(cx) {
            // What is kept back is nothing to yield.
            let least = if self.buffer.len() == 0 { Least::One } else { Least::HalfBatch };
            let mode = FetchMode::with(self.settler.key_groups.kept(), &self.settler.setup.config);
            match self.claimer.poll_claims(cx, least, mode) {
                Poll::Ready(Ok(claims)) => self.take_in(claims),
                Poll::Ready(Err(error)) => self.trouble = Some(error),
                Poll::Pending => break,
            }
            moved = true;
        }
        // What goes back joins the open batch now: the consumer may not poll again before it has settled a message.
        moved | self.poll_endings(cx)
    }

    /// Drives the calls that end claims which are not to be yielded; says whether one is done.
    fn poll_endings(&mut self, cx: &mut Context<'_>) -> bool {
        let mut moved = false;
        if self.returns.is_empty() && self.isolation.none_leaving() {
            return moved;
        }
        while let Some(ended) = self.returns.poll_done(cx).or_else(|| self.isolation.poll_gone(cx)) {
            self.ended(ended);
            moved = true;
        }
        moved
    }

    /// Takes in what may be yielded because messages before it were settled, and gives back what must not; says whether there
    /// was any.
    fn follow_runs(&mut self, cx: &mut Context<'_>) -> bool {
        let (freed, revoked) =
            (self.settler.key_groups.take_freed(cx), self.settler.key_groups.take_revoked());
        let moved = !freed.is_empty() || !revoked.is_empty();
        freed.into_iter().for_each(|(ticket, claimed)| self.buffer.push(ticket, claimed));
        revoked.into_iter().for_each(|(ticket, claimed)| self.returns.give_back(ticket, claimed));
        moved
    }

    /// Whether the claimer may go on. What it has begun it may end in any case.
    fn may_claim(&mut self, cx: &mut Context<'_>) -> bool {
        if self.claimer.is_stopping() {
            return true;
        }
        let has_suspect = self.isolation.has_suspect(cx);
        self.trouble.is_none() && (self.claimer.is_claiming() || !has_suspect)
    }

    /// Whether a message has to wait: it is a suspect, and others may still be at hand.
    fn has_to_wait(&self, ticket: Ticket) -> bool {
        let may_have_company = self.claimer.is_claiming() || !self.isolation.none_leaving();
        may_have_company && self.isolation.is_suspect(ticket)
    }

    /// The next message, or an error.
    pub(crate) fn poll_claim(&mut self, cx: &mut Context<'_>) -> Poll<Result<Claim, RelayError>> {
        self.poll_item(cx, |claims, _| claims.next_live())
    }

    /// The next batch, as soon as `linger` says that one is due, cut to `most` messages; or an error.
    pub(crate) fn poll_batch(
        &mut self,
        cx: &mut Context<'_>,
        linger: &mut Linger,
        most: usize,
    ) -> Poll<Result<Batch, RelayError>> {
        self.poll_item(cx, |claims, cx| {
            let timer = &claims.settler.setup.timer;
            if !linger.is_due(cx, claims.buffer.len(), timer) {
                return None;
            }
            let size = linger.size as usize;
            let taken = claims.next_together(size.min(most))?;
            // What was cut off a batch has waited for long enough.
            if size <= most {
                linger.handed_out();
            }
            Some(Batch::new(&claims.settler, taken))
        })
    }

    fn poll_item<T>(
        &mut self,
        cx: &mut Context<'_>,
        mut next: impl FnMut(&mut Self, &mut Context<'_>) -> Option<T>,
    ) -> Poll<Result<T, RelayError>> {
        loop {
            let moved = self.poll_fill(cx);
            if let Some(trouble) = self.trouble.take() {
                return Poll::Ready(Err(trouble));
            }
            let buffered = self.buffer.len();
            if let Some(item) = next(self, cx) {
                return Poll::Ready(Ok(item));
            }
            if !moved && self.buffer.len() == buffered {
                return Poll::Pending;
            }
        }
    }

    fn ended(&mut self, ended: Ended) {
        match ended {
            Ok(given_back) => self.given_back += given_back,
            // While the stream runs, a caller can do no more about it than the trace of the settlement says.
            Err(error) if self.claimer.is_stopping() => self.trouble = Some(error),
            Err(_) => {}
        }
    }
}

impl Stream for Claims {
    type Item = Result<Claim, RelayError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_claim(cx).map(Some)
    }
}

impl Drop for Claims {
    fn drop(&mut self) {
        for (ticket, claimed) in self.buffer.take_all().into_iter().chain(self.settler.key_groups.take_all())
        {
            tracing::debug!(message_id = %claimed.message.id, attempt = claimed.attempt, "dropped untried");
            self.settler.open_claims.let_go(ticket);
        }
    }
}

impl fmt::Debug for Claims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Claims")
            .field("queue", self.queue())
            .field("buffered", &self.buffer.len())
            .finish_non_exhaustive()
    }
}
