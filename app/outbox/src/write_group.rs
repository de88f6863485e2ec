use std::{sync::Arc, time::Duration};

use claimstream_domain::{Settled, Settlement};
use claimstream_ports::StoreError;
use futures::channel::oneshot;

use crate::{
    batch::{Entry, Outcome},
    dead_letter_event::Attempted,
    ticket::Ticket,
};

/// Settlements that are written in one call, and in the same order the callers that wait for them.
#[derive(Default)]
pub(crate) struct WriteGroup {
    pub(crate) settlements: Vec<Settlement>,
    pub(crate) waiters: Vec<Waiter>,
}

/// Where the answer to one settlement goes.
pub(crate) struct Waiter {
    pub(crate) ticket: Ticket,
    pub(crate) attempted: Attempted,
    pub(crate) deadline: Duration,
    answer: oneshot::Sender<Outcome>,
    /// Settlements that were refused for good. Their answer is the refusal, and not the outcome of the burial that takes their place.
    pub(crate) refused: Option<Arc<StoreError>>,
}

impl WriteGroup {
    pub(crate) fn of(entries: Vec<Entry>) -> Self {
        let mut group = Self::default();
        for Entry { ticket, settlement, attempted, deadline, answer } in entries {
            group.push(settlement, Waiter { ticket, attempted, deadline, answer, refused: None });
        }
        group
    }

    fn push(&mut self, settlement: Settlement, waiter: Waiter) {
        self.settlements.push(settlement);
        self.waiters.push(waiter);
    }

    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&Settlement, &Waiter)> {
        self.settlements.iter().zip(&self.waiters)
    }

    /// Each settlement in a group of its own.
    pub(crate) fn apart(self) -> impl Iterator<Item = Self> {
        let pairs = self.settlements.into_iter().zip(self.waiters);
        pairs.map(|(settlement, waiter)| Self { settlements: vec![settlement], waiters: vec![waiter] })
    }

    pub(crate) fn halves(mut self) -> (Self, Self) {
        let half = self.settlements.len() / 2;
        let (settlements, waiters) = (self.settlements.split_off(half), self.waiters.split_off(half));
        (self, Self { settlements, waiters })
    }

    pub(crate) fn earliest_deadline(&self) -> Option<Duration> {
        self.waiters.iter().map(|waiter| waiter.deadline).min()
    }

    /// Those that the store has answered, their answers, and those that it could not say anything about.
    pub(crate) fn known(self, settled: Vec<Settled>) -> (Self, Vec<Settled>, Self) {
        let (mut known, mut answers, mut unknown) = (Self::default(), Vec::new(), Self::default());
        for ((settlement, waiter), settled) in self.settlements.into_iter().zip(self.waiters).zip(settled) {
            if settled == Settled::Unknown {
                unknown.push(settlement, waiter);
                continue;
            }
            known.push(settlement, waiter);
            answers.push(settled);
        }
        (known, answers, unknown)
    }

    /// Those whose deadlines are still to come, and those whose have passed.
    pub(crate) fn split(self, now: Duration) -> (Self, Self) {
        let (mut in_time, mut late) = (Self::default(), Self::default());
        for (settlement, waiter) in self.settlements.into_iter().zip(self.waiters) {
            let side = if waiter.deadline > now { &mut in_time } else { &mut late };
            side.push(settlement, waiter);
        }
        (in_time, late)
    }

    pub(crate) fn only(&self) -> Option<&Settlement> {
        match &self.settlements[..] {
            [only] => Some(only),
            _ => None,
        }
    }
}

impl Waiter {
    /// Answers; a settlement that is not waited for any more gets no answer.
    pub(crate) fn tell(self, outcome: Outcome) {
        let _ = self.answer.send(self.refused.map_or(outcome, Err));
    }
}
