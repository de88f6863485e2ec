use std::{
    collections::VecDeque,
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    task::{Context, Poll, Waker},
    time::Duration,
};

use claimstream_domain::Claimed;
use claimstream_ports::Timer;
use futures::future::join_all;

use crate::{
    in_flight::Ticket,
    settle::{ClaimHandle, Settler},
};

/// What a stream has claimed and not yielded yet.
///
/// A stream runs only while it is polled, and its consumer may take longer over one message than the lease lasts. So the
/// timer's runtime runs a [`watch`](Self::watch), which gives back what waits before its lease ends.
#[derive(Default)]
pub(crate) struct Buffer {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<(Ticket, Claimed)>,
    /// Whether a watch has been started and not ended.
    watched: bool,
    /// How many messages a watch is giving back at the moment.
    going_back: usize,
    wants_them_back: Option<Waker>,
}

impl Buffer {
    pub(crate) fn push(&self, ticket: Ticket, claimed: Claimed) {
        self.state().waiting.push_back((ticket, claimed));
    }

    /// Puts messages back that were taken, as the first.
    pub(crate) fn put_back(
        &self,
        taken: impl IntoIterator<Item = (Ticket, Claimed), IntoIter: DoubleEndedIterator>,
    ) {
        let mut state = self.state();
        taken.into_iter().rev().for_each(|one| state.waiting.push_front(one));
    }

    pub(crate) fn pop(&self) -> Option<(Ticket, Claimed)> {
        self.state().waiting.pop_front()
    }

    /// Takes the first message and up to `most` in all that may be in a batch with it. A suspect may be with no other; and messages
    /// that come again are kept from those that come for the first time, because one that fails costs its whole batch time.
    pub(crate) fn take_together(
        &self,
        most: usize,
        is_suspect: impl Fn(Ticket) -> bool,
    ) -> Vec<(Ticket, Claimed)> {
        let mut state = self.state();
        let Some((ticket, first)) = state.waiting.pop_front() else { return Vec::new() };
        let most = if is_suspect(ticket) { 1 } else { most };
        let comes_again = first.attempt > 1;
        let mut together = Vec::with_capacity(most.min(state.waiting.len() + 1));
        together.push((ticket, first));
        let mut others = Vec::new();
        while together.len() < most {
            let Some((ticket, claimed)) = state.waiting.pop_front() else { break };
            let fits = (claimed.attempt > 1) == comes_again && !is_suspect(ticket);
            let side = if fits { &mut together } else { &mut others };
            side.push((ticket, claimed));
        }
        others.into_iter().rev().for_each(|one| state.waiting.push_front(one));
        together
    }

    pub(crate) fn take_all(&self) -> VecDeque<(Ticket, Claimed)> {
        mem::take(&mut self.state().waiting)
    }

    pub(crate) fn len(&self) -> usize {
        self.state().waiting.len()
    }

    /// Whether something waits, here or kept back, and no watch runs; a caller that gets true must start one.
    pub(crate) fn wants_watch(&self, held: usize) -> bool {
        let mut state = self.state();
        (held > 0 || !state.waiting.is_empty()) && !mem::replace(&mut state.watched, true)
    }

    /// Whether a watch is giving something back at the moment.
    pub(crate) fn is_giving_back(&self) -> bool {
        self.state().going_back > 0
    }

    /// Ready when no watch is giving anything back.
    pub(crate) fn poll_given_back(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.state();
        if state.going_back == 0 {
            return Poll::Ready(());
        }
        state.wants_them_back = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Gives back messages whose lease will soon end, for as long as anything waits.
    pub(crate) async fn watch(buffer: Weak<Self>, settler: Weak<Settler>, timer: Arc<dyn Timer>) {
        while let Some(wait) = Self::next_look(&buffer, &settler, timer.now()) {
            timer.sleep(wait).await;
            let (Some(buffer), Some(settler)) = (buffer.upgrade(), settler.upgrade()) else { return };
            buffer.give_back_overdue(&settler, timer.now()).await;
        }
    }

    /// How long nothing has to be given back; `None` if nothing waits any more, and then the watch is over.
    fn next_look(buffer: &Weak<Self>, settler: &Weak<Settler>, now: Duration) -> Option<Duration> {
        let (buffer, settler) = (buffer.upgrade()?, settler.upgrade()?);
        let mut state = buffer.state();
        let waiting = state.waiting.iter().map(|(ticket, _)| *ticket);
        let due = settler.open_claims.give_back_at(waiting.chain(settler.key_groups.tickets()));
        state.watched = due.is_some();
        due.map(|due| due.saturating_sub(now))
    }

    async fn give_back_overdue(&self, settler: &Arc<Settler>, now: Duration) {
        let overdue = self.take_overdue(settler, now);
        let _going = Going { buffer: self, count: overdue.len() };
        if !overdue.is_empty() {
            tracing::debug!(queue = %settler.queue, count = overdue.len(), "given back before their leases end");
        }
        let back = overdue
            .into_iter()
            .map(|(ticket, claimed)| ClaimHandle::new(Arc::clone(settler), ticket, &claimed).give_back());
        // What went wrong is in the trace of the settlement.
        join_all(back).await;
    }

    fn take_overdue(&self, settler: &Settler, now: Duration) -> Vec<(Ticket, Claimed)> {
        let mut state = self.state();
        let Settler { open_claims, key_groups, .. } = settler;
        let is_overdue = |ticket| open_claims.give_back_at([ticket].into_iter()).is_none_or(|due| due <= now);
        let waiting = mem::take(&mut state.waiting);
        let (mut overdue, left): (Vec<_>, Vec<_>) =
            waiting.into_iter().partition(|(ticket, _)| is_overdue(*ticket));
        state.waiting = left.into();
        let behind = key_groups.take_overdue(is_overdue, overdue.iter().map(|(ticket, _)| *ticket));
        overdue.extend(behind);
        state.going_back += overdue.len();
        overdue
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Messages that a watch is giving back; when it is dropped they have gone back, or they are not given back any more.
struct Going<'a> {
    buffer: &'a Buffer,
    count: usize,
}

impl Drop for Going<'_> {
    fn drop(&mut self) {
        let waker = {
            let mut state = self.buffer.state();
            state.going_back -= self.count;
            state.wants_them_back.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }
}
