use std::{
    collections::BTreeMap,
    mem,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use claimstream_ports::Handler;
use futures::{FutureExt, future::AbortHandle};

use crate::{
    Claim,
    attempt::{Ended, attempt},
    claim_handle::ClaimHandle,
    future_set::FutureSet,
    ticket::Ticket,
    time_limit::TimeLimit,
};

/// The messages that a pipeline's handler is at.
pub(crate) struct Attempts {
    handler: Arc<dyn Handler>,
    concurrency: usize,
    futures: FutureSet<(Ticket, Ended)>,
    /// Those whose claims are still ours, the oldest first.
    running: BTreeMap<Ticket, Running>,
    time_limit: TimeLimit,
}

struct Running {
    handle: ClaimHandle,
    stop: AbortHandle,
    /// When it has to be over.
    end: Duration,
}

impl Attempts {
    pub(crate) fn new(handler: Arc<dyn Handler>, concurrency: usize, time_limit: TimeLimit) -> Self {
        Self { handler, concurrency, futures: FutureSet::new(), running: BTreeMap::new(), time_limit }
    }

    /// How long one may take.
    pub(crate) fn time_limit(&self) -> Duration {
        self.time_limit.limit()
    }

    pub(crate) fn has_room(&self) -> bool {
        self.futures.len() < self.concurrency
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.futures.is_empty()
    }

    /// How many have not been stopped.
    pub(crate) fn running(&self) -> usize {
        self.running.len()
    }

    /// Lets the handler begin with a message.
    pub(crate) fn start(&mut self, claim: Claim) {
        let (claimed, handle) = claim.into_parts();
        let (stop, registration) = AbortHandle::new_pair();
        let ticket = handle.ticket();
        self.futures.push(attempt(Arc::clone(&self.handler), ticket, claimed, registration).boxed());
        self.running.insert(ticket, Running { handle, stop, end: self.time_limit.end() });
    }

    /// Begins another round of [`poll_ended`](Self::poll_ended).
    pub(crate) fn begin_round(&self) {
        self.futures.begin_round();
    }

    /// The next attempt that has ended, with its claim unless that was taken from it.
    pub(crate) fn poll_ended(&mut self, cx: &mut Context<'_>) -> Poll<(Option<ClaimHandle>, Ended)> {
        let (ticket, ended) = ready!(self.futures.poll_done(cx));
        let running = self.running.remove(&ticket);
        Poll::Ready((running.map(|running| running.handle), ended))
    }

    /// The claims of attempts that have had all their time, and which are stopped.
    pub(crate) fn poll_over_time(&mut self, cx: &mut Context<'_>) -> Poll<Vec<ClaimHandle>> {
        let first = self.running.values().next().map(|running| running.end);
        let now = ready!(self.time_limit.poll_over(cx, first));
        let mut over_time = Vec::new();
        while let Some(oldest) = self.running.first_entry().filter(|oldest| oldest.get().end <= now) {
            let Running { handle, stop, .. } = oldest.remove();
            stop.abort();
            over_time.push(handle);
        }
        Poll::Ready(over_time)
    }

    /// Stops the attempt at a message; `None` if it has ended already.
    pub(crate) fn stop(&mut self, ticket: Ticket) -> Option<ClaimHandle> {
        let Running { handle, stop, .. } = self.running.remove(&ticket)?;
        stop.abort();
        Some(handle)
    }

    /// Drops all attempts.
    pub(crate) fn stop_all(&mut self) -> impl Iterator<Item = ClaimHandle> + use<> {
        self.futures.clear();
        mem::take(&mut self.running).into_values().map(|running| running.handle)
    }
}
