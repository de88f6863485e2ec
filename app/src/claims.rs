use std::{
    collections::VecDeque,
    fmt,
    future::poll_fn,
    mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use claimstream_domain::{Claimed, QueueName, Settled, Verdict};
use futures::{
    FutureExt, Stream, StreamExt,
    future::BoxFuture,
    stream::{FuturesUnordered, TakeUntil},
};

use tracing::Instrument;

use crate::{
    Claim, DeadLetterClass, Operation, RelayError,
    holdings::{Holdings, Standing, Ticket},
    intake::{Haul, Intake},
    pipeline_monitor::Health,
    settler::Settler,
    setup::Setup,
};

/// The messages of one queue as a [`Stream`] of claims, without an end.
///
/// It claims as it is polled and never holds more than [`prefetch`](crate::RelayConfig::prefetch) messages that are leased
/// and not settled; what a store leases ahead for it goes back when it is closed. After a full batch it claims again at
/// once, otherwise it waits as the [`pacing`](crate::RelayConfig::pacing) says, or until a [`Wakeup`](crate::Wakeup). It also waits, ever longer, while
/// messages are given back, because they are due again at once.
///
/// An error that passes by itself is traced and waited out. Any other is yielded, and the stream goes on after it, with growing
/// waits: a consumer that stops at the first error stops for a table that was away for a moment.
///
/// Two kinds of messages are never yielded: those that have been claimed more often than the retry policy allows, because
/// they end every process that touches them, are buried; those that waited here until they could no longer be relied on
/// are given back.
///
/// [`close`](Self::close) it to give back at once what was not yielded; [`until`](Self::until) leaves it to be closed.
/// If it is dropped instead, such messages come back when their leases end.
#[must_use = "a stream does nothing unless it is polled"]
pub struct Claims {
    settler: Arc<Settler>,
    intake: Intake,
    buffer: VecDeque<(Ticket, Claimed)>,
    /// Settlements that nobody but the stream waits for.
    chores: FuturesUnordered<BoxFuture<'static, Result<bool, RelayError>>>,
    /// How many messages have been given back.
    given_back: u64,
    /// An error that has not been told yet.
    trouble: Option<RelayError>,
    /// Whether the store knows that no more will be claimed.
    rested: bool,
}

impl Claims {
    pub(crate) fn new(setup: Arc<Setup>, queue: QueueName) -> Self {
        let holdings = Arc::new(Holdings::new(setup.config.prefetch, setup.config.prefetch_bytes));
        Self {
            intake: Intake::new(Arc::clone(&setup), Arc::clone(&holdings), queue.clone()),
            settler: Arc::new(Settler::new(setup, holdings, queue)),
            buffer: VecDeque::new(),
            chores: FuturesUnordered::new(),
            given_back: 0,
            trouble: None,
            rested: false,
        }
    }

    /// The queue that is read.
    pub fn queue(&self) -> &QueueName {
        &self.settler.queue
    }

    /// Gives back what was leased and not yielded, with attempts restored, and says how many messages that were.
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
        self.intake.health()
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

    /// Claims no more, and gives back what was not yielded as [`poll_stopped`](Self::poll_stopped) is polled.
    pub(crate) fn stop(&mut self) {
        self.intake.stop();
        for (ticket, claimed) in mem::take(&mut self.buffer) {
            self.give_back(ticket, claimed);
        }
    }

    /// Waits for nothing that is under way.
    pub(crate) fn abandon(&mut self) {
        self.intake.abandon();
        self.chores.clear();
        self.rested = true;
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.rested && self.chores.is_empty()
    }

    /// Ready when nothing is left to be waited for after a [`stop`](Self::stop).
    pub(crate) fn poll_stopped(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            let moved = self.poll_fill(cx);
            if self.is_stopped() {
                return Poll::Ready(());
            }
            if self.intake.is_stopped() && !self.rested {
                self.rest();
            } else if !moved {
                return Poll::Pending;
            }
        }
    }

    /// Claims and does chores as far as that goes now, and says whether it went anywhere.
    pub(crate) fn poll_fill(&mut self, cx: &mut Context<'_>) -> bool {
        let mut moved = false;
        while let Poll::Ready(Some(done)) = self.chores.poll_next_unpin(cx) {
            self.chore_done(done);
            moved = true;
        }
        while self.trouble.is_none() || self.intake.is_stopping() {
            match self.intake.poll_haul(cx, self.buffer.is_empty()) {
                Poll::Ready(Ok(haul)) => self.take_in(haul),
                Poll::Ready(Err(error)) => self.trouble = Some(error),
                Poll::Pending => break,
            }
            moved = true;
        }
        moved
    }

    fn take_in(&mut self, haul: Haul) {
        for (ticket, claimed) in haul {
            if claimed.attempt > self.settler.setup.config.retry.max_attempts {
                self.give_up(ticket, claimed);
            } else if self.intake.is_stopping() {
                self.give_back(ticket, claimed);
            } else {
                self.buffer.push_back((ticket, claimed));
            }
        }
    }

    fn next_live(&mut self) -> Option<Claim> {
        while let Some((ticket, claimed)) = self.buffer.pop_front() {
            match self.hand_out(ticket) {
                Standing::Live => return Some(Claim::new(Arc::clone(&self.settler), ticket, claimed)),
                Standing::Stale => self.give_back(ticket, claimed),
                Standing::Lost => {}
            }
        }
        None
    }

    fn hand_out(&self, ticket: Ticket) -> Standing {
        self.settler.holdings.hand_out(ticket, self.settler.setup.timer.now())
    }

    /// Releases a message that nobody has begun to handle.
    fn give_back(&mut self, ticket: Ticket, claimed: Claimed) {
        tracing::debug!(message_id = %claimed.message.id, attempt = claimed.attempt, "given back untried");
        self.settle(ticket, claimed, Verdict::Release, DeadLetterClass::Failed);
    }

    /// Buries a message whose attempts are used up though none has failed: it ends every process that touches it.
    fn give_up(&mut self, ticket: Ticket, claimed: Claimed) {
        let most = self.settler.setup.config.retry.max_attempts;
        tracing::warn!(message_id = %claimed.message.id, attempt = claimed.attempt, most, "given up unheard");
        let why = match &claimed.last_error {
            Some(last) => format!("all {most} attempts used up, the last never ended; before it: {last}"),
            None => format!("all {most} attempts used up, the last never ended"),
        };
        self.settle(ticket, claimed, Verdict::bury(why), DeadLetterClass::NeverEnded);
    }

    /// Tells the store that no more will be claimed, after the last claim call.
    fn rest(&mut self) {
        self.rested = true;
        let (setup, queue) = (Arc::clone(&self.settler.setup), self.queue().clone());
        let rest = async move {
            let bound = setup.config.lease.duration();
            let rested = setup.within(bound, "rest", setup.strategy.rest(&queue)).await;
            let failed =
                |source| RelayError::Store { operation: Operation::Claim, queue, source: Arc::new(source) };
            rested.map(|()| false).map_err(failed)
        };
        self.chores.push(rest.boxed());
    }

    fn settle(&mut self, ticket: Ticket, claimed: Claimed, verdict: Verdict, class: DeadLetterClass) {
        if self.hand_out(ticket) == Standing::Lost {
            return;
        }
        let release = verdict == Verdict::Release;
        let (_, hold) = Claim::new(Arc::clone(&self.settler), ticket, claimed).into_parts();
        let settled = hold.settle_as(verdict, class);
        let chore = settled.map(move |settled| Ok(release && settled? == Settled::Accepted));
        self.chores.push(chore.boxed());
    }

    fn chore_done(&mut self, done: Result<bool, RelayError>) {
        match done {
            Ok(given_back) => self.given_back += u64::from(given_back),
            // While the stream runs, nobody can do more about it than the trace of the settlement says.
            Err(error) if self.intake.is_stopping() => self.trouble = Some(error),
            Err(_) => {}
        }
    }
}

impl Stream for Claims {
    type Item = Result<Claim, RelayError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            let moved = self.poll_fill(cx);
            if let Some(trouble) = self.trouble.take() {
                return Poll::Ready(Some(Err(trouble)));
            }
            let buffered = !self.buffer.is_empty();
            if let Some(claim) = self.next_live() {
                return Poll::Ready(Some(Ok(claim)));
            }
            if !moved && !buffered {
                return Poll::Pending;
            }
        }
    }
}

impl Drop for Claims {
    fn drop(&mut self) {
        for (ticket, claimed) in self.buffer.drain(..) {
            tracing::debug!(message_id = %claimed.message.id, attempt = claimed.attempt, "dropped untried");
            self.settler.holdings.let_go(ticket);
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
