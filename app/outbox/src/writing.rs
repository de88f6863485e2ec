use std::{sync::Arc, time::Duration};

use claimstream_domain::{Disposition, Pace, Reason, Settled, Settlement};
use claimstream_ports::{StoreError, StoreErrorKind};
use futures::{
    FutureExt,
    channel::oneshot,
    future::{BoxFuture, join, join_all, select},
};

use crate::{
    DeadLetterClass, DeadLetterEvent,
    batch::{Batch, Entry},
    dead_letter_event::Attempted,
    hint::{awaited, wake_all},
    holdings::{Holdings, Ticket},
    settler::Outcome,
    setup::Setup,
};

/// Writes a batch once it is ripe and tells everybody who waits how it ended: all at the same time, but whose deadline
/// passes before the store answers is told then.
pub(crate) async fn write(setup: Arc<Setup>, holdings: Arc<Holdings>, batch: Arc<Batch>) {
    batch.ripe(&*setup.timer, setup.config.settle_age).await;
    let lot = Lot::of(batch.take());
    tracing::Span::current().record("count", lot.settlements.len());
    Writing { setup, holdings }.write_all(lot, Patience::default()).await;
}

struct Writing {
    setup: Arc<Setup>,
    holdings: Arc<Holdings>,
}

/// Settlements that are written in one call, and in the same order those who wait for them.
#[derive(Default)]
struct Lot {
    settlements: Vec<Settlement>,
    waiters: Vec<Waiter>,
}

struct Waiter {
    ticket: Ticket,
    attempted: Attempted,
    deadline: Duration,
    answer: oneshot::Sender<Outcome>,
    /// What was refused for good; it is told instead of how the burial ended that takes its place.
    refused: Option<Arc<StoreError>>,
}

/// How a lot that was not written goes on.
enum Unwritten {
    /// The store refuses it for good: that is one settlement's fault and must not take the others down with it.
    Refused(Lot, StoreError),
    /// It has failed again and again, with an error that may pass, and may also be one settlement's fault.
    Failing(Lot, Patience),
}

/// How often a lot has failed, and how long it waits after the next time.
#[derive(Clone, Copy, Default)]
struct Patience {
    failures: u32,
    pace: Pace,
}

impl Patience {
    /// From this failure on a lot is halved each time, so that a settlement the store never takes soon stands alone.
    const TOGETHER: u32 = 3;
}

impl Writing {
    fn write_all(&self, lot: Lot, patience: Patience) -> BoxFuture<'_, ()> {
        async move {
            match self.write_together(lot, patience).await {
                None => {}
                Some(Unwritten::Failing(lot, patience)) => {
                    let (some, others) = lot.halves();
                    join(self.write_all(some, patience), self.write_all(others, patience)).await;
                }
                Some(Unwritten::Refused(lot, _)) if lot.settlements.len() > 1 => {
                    join_all(lot.apart().map(|one| self.write_all(one, Patience::default()))).await;
                }
                Some(Unwritten::Refused(lot, error)) => self.refused(lot, error).await,
            }
        }
        .boxed()
    }

    /// Writes a lot in one call and repeats it unless the fault may be one of the settlements'; whose deadline passes is told
    /// so and leaves it. Answers what the store refuses for good, and what has failed too often to go on together.
    ///
    /// An error that somebody has to mend, such as a table that is missing, may be mended while the claims last.
    async fn write_together(&self, mut lot: Lot, mut patience: Patience) -> Option<Unwritten> {
        let timer = &self.setup.timer;
        loop {
            let settled = self.setup.settlements.settle(&lot.settlements).await;
            let error = match settled.and_then(|settled| one_for_each(&lot.settlements, settled)) {
                Ok(settled) => {
                    let (known, answers, unknown) = lot.known(settled);
                    self.settled(known, &answers).await;
                    if unknown.settlements.is_empty() {
                        return None;
                    }
                    lot = unknown;
                    Arc::new(not_known())
                }
                Err(error) if !error.is_about_the_store() => return Some(Unwritten::Refused(lot, error)),
                Err(error) => Arc::new(error),
            };
            let (in_time, late) = lot.split(timer.now());
            self.failed(late, &error);
            lot = in_time;
            let left = lot.earliest_deadline()?.saturating_sub(timer.now());
            tracing::warn!(count = lot.settlements.len(), %error, "settlement failed; it is tried again");
            let wait;
            (patience.pace, wait) = self.setup.wait_after_failure(patience.pace);
            timer.sleep(wait.min(left)).await;
            patience.failures += 1;
            if patience.failures >= Patience::TOGETHER && lot.settlements.len() > 1 {
                return Some(Unwritten::Failing(lot, patience));
            }
        }
    }

    /// Tells what the store refuses for good. One whose children are refused is buried for it, because handling it again
    /// would end the same way; one whose event is refused is buried without it.
    async fn refused(&self, lot: Lot, error: StoreError) {
        if let Some(lot) = self.buried(lot, &Arc::new(error)) {
            self.write_all(lot, Patience::default()).await;
        }
    }

    /// The one settlement of a lot without the messages that the store refuses; its message is to be buried for them. `None`
    /// if there are none, after everybody was told.
    fn buried(&self, mut lot: Lot, error: &Arc<StoreError>) -> Option<Lot> {
        let ([settlement], [waiter]) = (&mut lot.settlements[..], &mut lot.waiters[..]) else {
            self.failed(lot, error);
            return None;
        };
        let message_id = settlement.receipt.message;
        match &mut settlement.disposition {
            Disposition::Done { emit } if !emit.is_empty() => {
                tracing::error!(%message_id, %error, "message was buried, because the store refused its children");
                waiter.attempted.class = DeadLetterClass::ChildrenRefused;
                waiter.refused = Some(Arc::clone(error));
                settlement.disposition = Disposition::dead(Reason::new(error));
                *settlement = self.setup.told(settlement.clone(), waiter.attempted);
            }
            Disposition::Dead { emit, .. } if !emit.is_empty() => {
                tracing::error!(%message_id, %error, "message was buried without its event, because the store refused the event");
                emit.clear();
            }
            _ => {
                self.failed(lot, error);
                return None;
            }
        }
        Some(lot)
    }

    async fn settled(&self, lot: Lot, settled: &[Settled]) {
        let settled = settled.iter().copied();
        self.holdings.conclude(lot.pairs().zip(settled.clone()).map(|((settlement, waiter), settled)| {
            (waiter.ticket, settlement.disposition.event(), Some(settled))
        }));
        for ((settlement, waiter), settled) in lot.pairs().zip(settled.clone()) {
            let event = DeadLetterEvent::of(settlement, waiter.attempted);
            event.filter(|_| settled == Settled::Accepted).iter().for_each(|event| self.setup.tell(event));
        }
        self.wake_for_children(&lot.settlements, settled.clone()).await;
        for (waiter, settled) in lot.waiters.into_iter().zip(settled) {
            waiter.tell(Ok(settled));
        }
    }

    fn failed(&self, lot: Lot, error: &Arc<StoreError>) {
        if lot.settlements.is_empty() {
            return;
        }
        let message_id = lot.only().map(|only| tracing::field::display(only.receipt.message));
        tracing::error!(count = lot.settlements.len(), message_id, %error, "messages were not settled; they are delivered again");
        self.holdings.conclude(
            lot.pairs().map(|(settlement, waiter)| (waiter.ticket, settlement.disposition.event(), None)),
        );
        lot.waiters.into_iter().for_each(|waiter| waiter.tell(Err(Arc::clone(error))));
    }

    /// Says that there may be work wherever children were enqueued; nobody's outcome waits for it longer than a batch
    /// waits to be written.
    async fn wake_for_children(&self, settlements: &[Settlement], settled: impl Iterator<Item = Settled>) {
        let Some(wakeup) = &self.setup.wakeup else { return };
        let accepted = settlements.iter().zip(settled).filter(|(_, settled)| *settled == Settled::Accepted);
        let queues = awaited(accepted.flat_map(|(settlement, _)| settlement.disposition.emitted()));
        if !queues.is_empty() {
            let all = Box::pin(wake_all(&**wakeup, &queues));
            select(all, self.setup.timer.sleep(self.setup.config.settle_age)).await;
        }
    }
}

impl Lot {
    fn of(entries: Vec<Entry>) -> Self {
        let mut lot = Self::default();
        for Entry { ticket, settlement, attempted, deadline, answer } in entries {
            lot.push(settlement, Waiter { ticket, attempted, deadline, answer, refused: None });
        }
        lot
    }

    fn push(&mut self, settlement: Settlement, waiter: Waiter) {
        self.settlements.push(settlement);
        self.waiters.push(waiter);
    }

    fn pairs(&self) -> impl Iterator<Item = (&Settlement, &Waiter)> {
        self.settlements.iter().zip(&self.waiters)
    }

    /// Each settlement in a lot of its own.
    fn apart(self) -> impl Iterator<Item = Self> {
        let pairs = self.settlements.into_iter().zip(self.waiters);
        pairs.map(|(settlement, waiter)| Self { settlements: vec![settlement], waiters: vec![waiter] })
    }

    fn halves(mut self) -> (Self, Self) {
        let half = self.settlements.len() / 2;
        let (settlements, waiters) = (self.settlements.split_off(half), self.waiters.split_off(half));
        (self, Self { settlements, waiters })
    }

    fn earliest_deadline(&self) -> Option<Duration> {
        self.waiters.iter().map(|waiter| waiter.deadline).min()
    }

    /// Those that the store has answered, their answers, and those that it could not say anything about.
    fn known(self, settled: Vec<Settled>) -> (Self, Vec<Settled>, Self) {
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
    fn split(self, now: Duration) -> (Self, Self) {
        let (mut in_time, mut late) = (Self::default(), Self::default());
        for (settlement, waiter) in self.settlements.into_iter().zip(self.waiters) {
            let side = if waiter.deadline > now { &mut in_time } else { &mut late };
            side.push(settlement, waiter);
        }
        (in_time, late)
    }

    fn only(&self) -> Option<&Settlement> {
        match &self.settlements[..] {
            [only] => Some(only),
            _ => None,
        }
    }
}

impl Waiter {
    /// Whoever has stopped waiting is told nothing.
    fn tell(self, outcome: Outcome) {
        let _ = self.answer.send(self.refused.map_or(outcome, Err));
    }
}

fn not_known() -> StoreError {
    StoreError::new(StoreErrorKind::Transient, "settle", "the store does not say yet what became of it")
}

fn one_for_each(settlements: &[Settlement], settled: Vec<Settled>) -> Result<Vec<Settled>, StoreError> {
    if settled.len() == settlements.len() {
        return Ok(settled);
    }
    let what = format!("{} answers to {} settlements", settled.len(), settlements.len());
    Err(StoreError::new(StoreErrorKind::Corrupt, "settle", what))
}
