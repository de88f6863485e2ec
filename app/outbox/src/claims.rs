use std::{
    fmt,
    future::poll_fn,
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
    buffer::Buffer,
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
/// A message that was cut off again and again, and never said why, may be what ends its processes. Nothing is claimed while
/// one of them is at hand, no longer than its lease, so that it takes no other of its kind along to the dead letters.
///
/// A consumer may take longer over one message than a lease lasts. What waits behind it is given back after two thirds of its
/// lease, uncounted, if the [`Timer`](crate::Timer) can run that [beside](crate::Timer::run_beside) the consumer.
///
/// [`close`](Self::close) it to give back at once what was not yielded; [`until`](Self::until) leaves it to be closed.
/// If it is dropped instead, such messages come back when their leases end.
#[must_use = "a stream does nothing unless it is polled"]
pub struct Claims {
    settler: Arc<Settler>,
    intake: Intake,
    buffer: Arc<Buffer>,
    /// Settlements that nobody but the stream waits for.
    chores: Chores,
    /// The one message at hand that may be what ends its processes; nothing is claimed while it is.
    suspect: Option<Suspect>,
    /// Other such messages on their way back; the one at hand waits for them.
    partings: Chores,
    /// How many messages have been given back.
    given_back: u64,
    /// An error that has not been told yet.
    trouble: Option<RelayError>,
    /// Whether the store knows that no more will be claimed.
    rested: bool,
}

type Chores = FuturesUnordered<BoxFuture<'static, Result<bool, RelayError>>>;

/// A message that was cut off so often that nothing else of its kind may be at hand beside it, or it would be buried with it.
struct Suspect {
    ticket: Ticket,
    /// When its claim must no longer be relied on: who keeps it longer does not hold the stream up.
    deadline: BoxFuture<'static, ()>,
}

impl Claims {
    pub(crate) fn new(setup: Arc<Setup>, queue: QueueName) -> Self {
        let holdings = Arc::new(Holdings::new(setup.config.prefetch, setup.config.prefetch_bytes));
        Self {
            intake: Intake::new(Arc::clone(&setup), Arc::clone(&holdings), queue.clone()),
            settler: Arc::new(Settler::new(setup, holdings, queue)),
            buffer: Arc::default(),
            chores: FuturesUnordered::new(),
            suspect: None,
            partings: FuturesUnordered::new(),
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
        for (ticket, claimed) in self.buffer.take_all() {
            self.give_back(ticket, claimed);
        }
    }

    /// Waits for nothing that is under way.
    pub(crate) fn abandon(&mut self) {
        self.intake.abandon();
        self.chores.clear();
        self.partings.clear();
        self.buffer = Arc::default();
        self.settler.holdings.let_all_go();
        self.rested = true;
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.rested && self.chores.is_empty() && self.partings.is_empty() && self.buffer.is_at_rest()
    }

    /// Ready when nothing is left to be waited for after a [`stop`](Self::stop).
    pub(crate) fn poll_stopped(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            let moved = self.poll_fill(cx);
            let _ = self.buffer.poll_rest(cx);
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
        while let Some(done) = self.poll_chore(cx) {
            self.chore_done(done);
            moved = true;
        }
        while self.may_claim(cx) {
            match self.intake.poll_haul(cx, self.buffer.len() == 0) {
                Poll::Ready(Ok(haul)) => self.take_in(haul),
                Poll::Ready(Err(error)) => self.trouble = Some(error),
                Poll::Pending => break,
            }
            moved = true;
        }
        moved
    }

    /// The next chore that is done.
    fn poll_chore(&mut self, cx: &mut Context<'_>) -> Option<Result<bool, RelayError>> {
        for chores in [&mut self.chores, &mut self.partings] {
            if let Poll::Ready(Some(done)) = chores.poll_next_unpin(cx) {
                return Some(done);
            }
        }
        None
    }

    /// Whether the intake may go on. What it has begun it may end in any case.
    fn may_claim(&mut self, cx: &mut Context<'_>) -> bool {
        if self.intake.is_stopping() {
            return true;
        }
        let has_suspect = self.has_suspect(cx);
        self.trouble.is_none() && (self.intake.is_claiming() || !has_suspect)
    }

    /// Whether a suspect is at hand; wakes the task when it is not any more.
    fn has_suspect(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(Suspect { ticket, deadline }) = &mut self.suspect else { return false };
        let ended = self.settler.holdings.poll_ended(cx, *ticket).is_ready();
        if ended || deadline.poll_unpin(cx).is_ready() {
            self.suspect = None;
        }
        self.suspect.is_some()
    }

    /// Whether a message has to wait: it is a suspect, and others may still be at hand.
    fn has_to_wait(&self, ticket: Ticket) -> bool {
        let is_suspect = self.suspect.as_ref().is_some_and(|suspect| suspect.ticket == ticket);
        is_suspect && (self.intake.is_claiming() || !self.partings.is_empty())
    }

    fn take_in(&mut self, haul: Haul) {
        for (ticket, claimed) in haul {
            if claimed.attempt > self.settler.setup.config.retry.max_attempts {
                self.give_up(ticket, claimed);
            } else if self.intake.is_stopping() {
                self.give_back(ticket, claimed);
            } else if !self.is_suspect(&claimed) {
                self.buffer.push(ticket, claimed);
            } else if self.suspect.is_none() {
                self.suspect = Some(self.kept_apart(ticket));
                self.buffer.push(ticket, claimed);
            } else {
                tracing::debug!(message_id = %claimed.message.id, attempt = claimed.attempt, "kept apart");
                let parting = self.ending(ticket, claimed, Verdict::Release, DeadLetterClass::Failed);
                self.partings.push(parting);
            }
        }
        if self.buffer.wants_watch() {
            let (buffer, settler) = (Arc::downgrade(&self.buffer), Arc::downgrade(&self.settler));
            let timer = Arc::clone(&self.settler.setup.timer);
            timer.run_beside(Buffer::watch(buffer, settler, Arc::clone(&timer)).boxed());
        }
    }

    fn is_suspect(&self, claimed: &Claimed) -> bool {
        self.settler.setup.config.retry.is_suspect(claimed.attempt, claimed.last_error.is_some())
    }

    fn kept_apart(&self, ticket: Ticket) -> Suspect {
        let timer = Arc::clone(&self.settler.setup.timer);
        let left = self.settler.holdings.deadline(ticket).saturating_sub(timer.now());
        Suspect { ticket, deadline: async move { timer.sleep(left).await }.boxed() }
    }

    fn next_live(&mut self) -> Option<Claim> {
        while let Some((ticket, claimed)) = self.buffer.pop() {
            if self.has_to_wait(ticket) {
                self.buffer.put_back(ticket, claimed);
                return None;
            }
            match self.hand_out(ticket) {
                Standing::Live => return Some(Claim::new(Arc::clone(&self.settler), ticket, claimed)),
                Standing::Stale | Standing::Lost => self.give_back(ticket, claimed),
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
        tracing::warn!(message_id = %claimed.message.id, attempt = claimed.attempt, most, "attempts used up, handler never returned; the message is buried");
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
        self.hand_out(ticket);
        let chore = self.ending(ticket, claimed, verdict, class);
        self.chores.push(chore);
    }

    /// Ends a claim; tells whether it was given back.
    fn ending(
        &self,
        ticket: Ticket,
        claimed: Claimed,
        verdict: Verdict,
        class: DeadLetterClass,
    ) -> BoxFuture<'static, Result<bool, RelayError>> {
        let release = verdict == Verdict::Release;
        let (_, hold) = Claim::new(Arc::clone(&self.settler), ticket, claimed).into_parts();
        let settled = hold.settle_as(verdict, class);
        settled.map(move |settled| Ok(release && settled? == Settled::Accepted)).boxed()
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
            let buffered = self.buffer.len();
            if let Some(claim) = self.next_live() {
                return Poll::Ready(Some(Ok(claim)));
            }
            if !moved && self.buffer.len() == buffered {
                return Poll::Pending;
            }
        }
    }
}

impl Drop for Claims {
    fn drop(&mut self) {
        for (ticket, claimed) in self.buffer.take_all() {
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
