use std::{
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use claimstream_domain::Settled;
use claimstream_ports::{StoreError, StoreErrorKind};

/// The answers to settlements that one caller waits for together, however many calls of the store bring them.
///
/// Nearly all settlements are accepted, so those are only counted, and one collector serves any number of them.
pub(crate) struct Answers {
    state: Mutex<State>,
}

/// How one settlement ended.
pub(crate) type Outcome = Result<Settled, Arc<StoreError>>;

/// Outcomes other than `Accepted`, each with the number of its settlement.
pub(crate) type Others = Vec<(usize, Outcome)>;

/// Where the answer to one settlement goes. One that is dropped without an answer answers that it was given up.
pub(crate) struct AnswerSlot {
    answers: Arc<Answers>,
    number: usize,
    answered: bool,
}

struct State {
    missing: usize,
    others: Others,
    waiting: Option<Waker>,
}

impl Answers {
    /// Waits for so many answers, each of which must get a [`slot`](Self::slot).
    pub(crate) fn to(settlements: usize) -> Arc<Self> {
        let state = State { missing: settlements, others: Vec::new(), waiting: None };
        Arc::new(Self { state: Mutex::new(state) })
    }

    pub(crate) fn slot(self: &Arc<Self>, number: usize) -> AnswerSlot {
        AnswerSlot { answers: Arc::clone(self), number, answered: false }
    }

    /// Ready once, when all answers have come.
    pub(crate) fn poll_all(&self, cx: &mut Context<'_>) -> Poll<Others> {
        let mut state = self.state();
        if state.missing == 0 {
            return Poll::Ready(mem::take(&mut state.others));
        }
        state.waiting = Some(cx.waker().clone());
        Poll::Pending
    }

    fn note(&self, number: usize, outcome: Outcome) {
        let mut state = self.state();
        state.missing -= 1;
        if !matches!(outcome, Ok(Settled::Accepted)) {
            state.others.push((number, outcome));
        }
        let waker = if state.missing == 0 { state.waiting.take() } else { None };
        drop(state);
        waker.into_iter().for_each(Waker::wake);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AnswerSlot {
    pub(crate) fn answer(mut self, outcome: Outcome) {
        self.answered = true;
        self.answers.note(self.number, outcome);
    }
}

impl Drop for AnswerSlot {
    fn drop(&mut self) {
        if !self.answered {
            let given_up = StoreError::new(StoreErrorKind::Unavailable, "settle", "its batch was given up");
            self.answers.note(self.number, Err(Arc::new(given_up)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_ready_when_the_last_has_come_and_only_the_odd_ones_are_named() {
        let answers = Answers::to(3);
        let mut cx = Context::from_waker(Waker::noop());
        let [first, second, third] = [0, 1, 2].map(|number| answers.slot(number));
        second.answer(Ok(Settled::Superseded));
        first.answer(Ok(Settled::Accepted));
        assert!(answers.poll_all(&mut cx).is_pending());
        drop(third);
        let Poll::Ready(others) = answers.poll_all(&mut cx) else { panic!("not ready") };
        assert!(matches!(&others[..], [(1, Ok(Settled::Superseded)), (2, Err(_))]), "{others:?}");
    }
}
