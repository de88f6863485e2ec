use std::{
    sync::Arc,
    task::{Context, Poll},
};

use claimstream_domain::{Claimed, Settled, Verdict};
use futures::{FutureExt, StreamExt, future::BoxFuture, stream::FuturesUnordered};

use crate::{
    error::{Operation, RelayError},
    in_flight::Ticket,
    report::DeadLetterClass,
    settle::{ClaimHandle, Settler},
};

/// Calls to the store that only the stream waits for: it ends claims that it does not yield.
pub(crate) struct Returns {
    settler: Arc<Settler>,
    under_way: FuturesUnordered<BoxFuture<'static, Ended>>,
}

/// How many messages have been given back.
pub(crate) type Ended = Result<u64, RelayError>;

impl Returns {
    pub(crate) fn new(settler: Arc<Settler>) -> Self {
        Self { settler, under_way: FuturesUnordered::new() }
    }

    /// Releases a message that no handler has begun with.
    pub(crate) fn give_back(&self, ticket: Ticket, claimed: Claimed) {
        tracing::debug!(message_id = %claimed.message.id, attempt = claimed.attempt, "given back untried");
        self.settler.hand_out(ticket);
        self.end(ticket, &claimed, Verdict::Release, DeadLetterClass::Failed);
    }

    /// Releases a message that may be what ends its processes, because another one is at hand; it counts as waiting meanwhile,
    /// so that the next claim does not pause for it.
    pub(crate) fn keep_apart(&self, ticket: Ticket, claimed: Claimed) {
        tracing::debug!(message_id = %claimed.message.id, attempt = claimed.attempt, "kept apart");
        self.end(ticket, &claimed, Verdict::Release, DeadLetterClass::Failed);
    }

    /// Buries a message whose attempts are used up though none has failed: it ends every process that touches it.
    pub(crate) fn bury(&self, ticket: Ticket, claimed: Claimed) {
        let most = self.settler.setup.config.retry.max_attempts;
        tracing::warn!(
            message_id = %claimed.message.id, attempt = claimed.attempt, most,
            "attempts used up, handler never returned; the message is buried"
        );
        let why = match &claimed.last_error {
            Some(last) => format!("all {most} attempts used up, the last never ended; before it: {last}"),
            None => format!("all {most} attempts used up, the last never ended"),
        };
        self.settler.hand_out(ticket);
        self.end(ticket, &claimed, Verdict::bury(why), DeadLetterClass::NeverEnded);
    }

    /// Lets the store give back what it has leased ahead for the stream, after the last claim call.
    pub(crate) fn release_read_ahead(&self) {
        let (setup, queue) = (Arc::clone(&self.settler.setup), self.settler.queue.clone());
        let release = async move {
            let bound = setup.config.lease.duration();
            let released =
                setup.within(bound, "release read-ahead", setup.strategy.release_read_ahead(&queue)).await;
            let failed =
                |source| RelayError::Store { operation: Operation::Claim, queue, source: Arc::new(source) };
            released.map(|()| 0).map_err(failed)
        };
        self.under_way.push(release.boxed());
    }

    /// The next call that is done.
    pub(crate) fn poll_done(&mut self, cx: &mut Context<'_>) -> Option<Ended> {
        match self.under_way.poll_next_unpin(cx) {
            Poll::Ready(done) => done,
            Poll::Pending => None,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.under_way.is_empty()
    }

    /// Waits for nothing that is under way.
    pub(crate) fn clear(&mut self) {
        self.under_way.clear();
    }

    fn end(&self, ticket: Ticket, claimed: &Claimed, verdict: Verdict, class: DeadLetterClass) {
        let release = verdict == Verdict::Release;
        let handle = ClaimHandle::new(Arc::clone(&self.settler), ticket, claimed);
        let disposition = handle.decide(verdict);
        let settled = handle.settle_as(disposition, class);
        self.under_way.push(
            settled.map(move |settled| Ok(u64::from(release && settled? == Settled::Accepted))).boxed(),
        );
    }
}
