use std::{
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
    time::Duration,
};

use claimstream_domain::Settled;
use claimstream_ports::{StoreError, StoreErrorKind};

use crate::{in_flight::Ticket, report::Attempted};

/// What a settlement ends, until when it may be written, and where its outcome goes.
pub(crate) struct Pending {
    pub(crate) ticket: Ticket,
    /// The attempt that it ends, as far as it is known.
    pub(crate) attempted: Attempted,
    /// When the claim must no longer be relied on.
    pub(crate) deadline: Duration,
    pub(crate) reply: OutcomeSender,
    /// The refusal of a settlement that the store refused for good. It is the outcome, and not that of the burial that takes its place.
    pub(crate) refused: Option<Arc<StoreError>>,
}

/// The outcomes of settlements that one caller waits for together, however many calls of the store bring them.
///
/// Nearly all settlements are accepted, so those are only counted, and one collector serves any number of them.
pub(crate) struct Outcomes(Mutex<Received>);

/// How one settlement ended.
pub(crate) type Outcome = Result<Settled, Arc<StoreError>>;

/// Outcomes other than `Accepted`, each with the number of its settlement.
pub(crate) type Others = Vec<(usize, Outcome)>;

/// Where the outcome of one settlement goes. If it is dropped without one, the outcome is that the settlement was given up.
pub(crate) struct OutcomeSender {
    /// `None` once it has been sent.
    to: Option<Arc<Outcomes>>,
    number: usize,
}

struct Received {
    missing: usize,
    others: Others,
    waker: Option<Waker>,
}

impl Pending {
    pub(crate) fn new(
        ticket: Ticket,
        attempted: Attempted,
        deadline: Duration,
        reply: OutcomeSender,
    ) -> Self {
        Self { ticket, attempted, deadline, reply, refused: None }
    }

    pub(crate) fn answer(self, outcome: Outcome) {
        self.reply.send(self.refused.map_or(outcome, Err));
    }
}

impl Outcomes {
    /// Waits for so many outcomes, each of which must get a [`reply`](Self::reply).
    pub(crate) fn of(settlements: usize) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Received { missing: settlements, others: Vec::new(), waker: None })))
    }

    pub(crate) fn reply(self: &Arc<Self>, number: usize) -> OutcomeSender {
        OutcomeSender { to: Some(Arc::clone(self)), number }
    }

    /// Ready once, when all outcomes have come.
    pub(super) fn poll_all(&self, cx: &mut Context<'_>) -> Poll<Others> {
        let mut received = self.received();
        if received.missing == 0 {
            return Poll::Ready(mem::take(&mut received.others));
        }
        received.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    fn note(&self, number: usize, outcome: Outcome) {
        let mut received = self.received();
        received.missing -= 1;
        if !matches!(outcome, Ok(Settled::Accepted)) {
            received.others.push((number, outcome));
        }
        let waker = if received.missing == 0 { received.waker.take() } else { None };
        drop(received);
        waker.into_iter().for_each(Waker::wake);
    }

    fn received(&self) -> MutexGuard<'_, Received> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OutcomeSender {
    pub(crate) fn send(mut self, outcome: Outcome) {
        if let Some(to) = self.to.take() {
            to.note(self.number, outcome);
        }
    }
}

impl Drop for OutcomeSender {
    fn drop(&mut self) {
        if let Some(to) = self.to.take() {
            let given_up = StoreError::new(StoreErrorKind::Unavailable, "settle", "its batch was given up");
            to.note(self.number, Err(Arc::new(given_up)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_ready_when_the_last_has_come_and_only_the_odd_ones_are_named() {
        let outcomes = Outcomes::of(3);
        let mut cx = Context::from_waker(Waker::noop());
        let [first, second, third] = [0, 1, 2].map(|number| outcomes.reply(number));
        second.send(Ok(Settled::Superseded));
        first.send(Ok(Settled::Accepted));
        assert!(outcomes.poll_all(&mut cx).is_pending());
        drop(third);
        let Poll::Ready(others) = outcomes.poll_all(&mut cx) else { panic!("not ready") };
        assert!(matches!(&others[..], [(1, Ok(Settled::Superseded)), (2, Err(_))]), "{others:?}");
    }
}
