use std::{sync::Arc, time::Duration};

use claimstream_domain::{Settled, Settlement};
use claimstream_ports::StoreError;

use super::answers::{AnswerSlot, Outcome};
use crate::{in_flight::Ticket, report::Attempted};

/// Settlements that are written in one call, and in the same order the callers that wait for them.
#[derive(Default)]
pub(crate) struct WriteGroup {
    pub(crate) settlements: Vec<Settlement>,
    pub(crate) waiters: Vec<Waiter>,
}

/// One settlement that is to be written.
pub(crate) struct PendingSettlement {
    pub(crate) settlement: Settlement,
    pub(crate) waiter: Waiter,
}

/// What a settlement ends, and where its answer goes.
pub(crate) struct Waiter {
    pub(crate) ticket: Ticket,
    /// The attempt that it ends, as far as it is known.
    pub(crate) attempted: Attempted,
    /// When the claim must no longer be relied on.
    pub(crate) deadline: Duration,
    pub(crate) answer: AnswerSlot,
    /// Settlements that were refused for good. Their answer is the refusal, and not the outcome of the burial that takes their place.
    pub(crate) refused: Option<Arc<StoreError>>,
}

impl WriteGroup {
    pub(crate) fn push(&mut self, PendingSettlement { settlement, waiter }: PendingSettlement) {
        self.settlements.push(settlement);
        self.waiters.push(waiter);
    }

    pub(crate) fn len(&self) -> usize {
        self.settlements.len()
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
        if !settled.contains(&Settled::Unknown) {
            return (self, settled, Self::default());
        }
        let (mut known, mut answers, mut unknown) = (Self::default(), Vec::new(), Self::default());
        for ((settlement, waiter), settled) in self.settlements.into_iter().zip(self.waiters).zip(settled) {
            if settled == Settled::Unknown {
                unknown.push(PendingSettlement { settlement, waiter });
                continue;
            }
            known.push(PendingSettlement { settlement, waiter });
            answers.push(settled);
        }
        (known, answers, unknown)
    }

    /// Those whose deadlines are still to come, and those whose have passed.
    pub(crate) fn split(self, now: Duration) -> (Self, Self) {
        if self.waiters.iter().all(|waiter| waiter.deadline > now) {
            return (self, Self::default());
        }
        let (mut in_time, mut late) = (Self::default(), Self::default());
        for (settlement, waiter) in self.settlements.into_iter().zip(self.waiters) {
            let side = if waiter.deadline > now { &mut in_time } else { &mut late };
            side.push(PendingSettlement { settlement, waiter });
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
    pub(crate) fn reply(self, outcome: Outcome) {
        self.answer.answer(self.refused.map_or(outcome, Err));
    }
}
