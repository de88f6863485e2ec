use std::{sync::Arc, time::Duration};

use claimstream_domain::{Disposition, Pace, Reason, Settled, Settlement};
use claimstream_ports::{Measured, StoreCall, StoreError, StoreErrorKind};
use futures::{
    FutureExt,
    future::{BoxFuture, join, join_all, select},
};

use super::{
    settled_counts::SettledCounts,
    settlement_batch::{SettlementBatch, WriteGroup},
    settlement_health::SettlementHealth,
};
use crate::{
    enqueue::{awaited, wake_all},
    in_flight::OpenClaims,
    report::{DeadLetterClass, DeadLetterEvent},
    setup::Setup,
};

/// Writes a batch of settlements and answers each of them.
pub(crate) struct SettlementWriter {
    setup: Arc<Setup>,
    open_claims: Arc<OpenClaims>,
    health: Arc<SettlementHealth>,
}

/// How a group that was not written goes on.
enum Unwritten {
    /// The store refuses it for good: that is one settlement's fault and must not take the others down with it.
    Refused(WriteGroup, StoreError),
    /// It has failed again and again, with an error that may pass, and may also be one settlement's fault.
    Failing(WriteGroup, RetryBudget),
}

/// How often a group has failed, and how long it waits after the next time.
#[derive(Clone, Copy, Default)]
struct RetryBudget {
    failures: u32,
    pace: Pace,
}

impl RetryBudget {
    /// From this failure on a group is halved each time, so that a settlement the store never takes soon stands alone.
    const TOGETHER: u32 = 3;
}

impl SettlementWriter {
    pub(crate) fn new(
        setup: &Arc<Setup>,
        open_claims: &Arc<OpenClaims>,
        health: &Arc<SettlementHealth>,
    ) -> Self {
        Self { setup: Arc::clone(setup), open_claims: Arc::clone(open_claims), health: Arc::clone(health) }
    }

    /// Writes a batch once it is ripe and answers each settlement in it, all at the same time; one whose deadline passes
    /// before the store answers is answered then.
    pub(crate) async fn write(self, batch: Arc<SettlementBatch>) {
        batch.ripe(&*self.setup.timer, self.setup.config.settle_age).await;
        let group = batch.take();
        tracing::Span::current().record("count", group.len());
        self.write_all(group, RetryBudget::default()).await;
    }

    fn write_all(&self, group: WriteGroup, budget: RetryBudget) -> BoxFuture<'_, ()> {
        async move {
            match self.write_together(group, budget).await {
                None => {}
                Some(Unwritten::Failing(group, budget)) => {
                    let (some, others) = group.halves();
                    join(self.write_all(some, budget), self.write_all(others, budget)).await;
                }
                Some(Unwritten::Refused(group, _)) if group.len() > 1 => {
                    join_all(group.apart().map(|one| self.write_all(one, RetryBudget::default()))).await;
                }
                Some(Unwritten::Refused(group, error)) => self.refused(group, error).await,
            }
        }
        .boxed()
    }

    /// Writes a group in one call and repeats it unless the fault may be one of the settlements'; one whose deadline passes is
    /// answered so and leaves it. Returns those that the store refuses for good, and those that have failed together too often.
    ///
    /// An error that an operator has to mend, such as a table that is missing, may be mended while the claims last.
    async fn write_together(&self, mut group: WriteGroup, mut budget: RetryBudget) -> Option<Unwritten> {
        let timer = &self.setup.timer;
        loop {
            let sent = timer.now();
            let settled = self.setup.settlements.settle(&group.settlements).await;
            self.measure(&group, sent, &settled);
            let error = match settled.and_then(|settled| one_for_each(&group.settlements, settled)) {
                Ok(settled) => {
                    let (known, answers, unknown) = group.known(settled);
                    if !answers.is_empty() {
                        self.health.answered();
                    }
                    self.settled(known, &answers).await;
                    if unknown.is_empty() {
                        return None;
                    }
                    group = unknown;
                    let error = Arc::new(not_known());
                    if answers.is_empty() {
                        self.health.failed(&error, sent);
                    }
                    error
                }
                Err(error) if !error.is_about_the_store() => return Some(Unwritten::Refused(group, error)),
                Err(error) => {
                    let error = Arc::new(error);
                    self.health.failed(&error, sent);
                    error
                }
            };
            let (in_time, late) = group.split(timer.now());
            self.failed(late, &error);
            group = in_time;
            let left = group.earliest_deadline()?.saturating_sub(timer.now());
            self.health.tried_again(group.len(), &error);
            let wait;
            (budget.pace, wait) = self.setup.wait_after_failure(budget.pace);
            timer.sleep(wait.min(left)).await;
            budget.failures += 1;
            if budget.failures >= RetryBudget::TOGETHER && group.len() > 1 {
                return Some(Unwritten::Failing(group, budget));
            }
        }
    }

    /// Notes how long a call took that wrote `group`, or failed to.
    fn measure(&self, group: &WriteGroup, sent: Duration, settled: &Result<Vec<Settled>, StoreError>) {
        let Some(queue) = group.settlements.first().map(|first| &first.receipt.queue) else { return };
        match settled {
            Ok(_) => {
                let (messages, took) = (group.len(), self.setup.since(sent));
                self.setup.measure(Measured::Settling { queue, messages, took });
            }
            Err(error) => self.setup.measure_failure(queue, StoreCall::Settle, sent, error),
        }
    }

    /// Answers what the store refuses for good. One whose children are refused is buried for it, because handling it again
    /// would end the same way; one whose event is refused is buried without it.
    async fn refused(&self, group: WriteGroup, error: StoreError) {
        if let Some(group) = self.buried(group, &Arc::new(error)) {
            self.write_all(group, RetryBudget::default()).await;
        }
    }

    /// The one settlement of a group without the messages that the store refuses; its message is to be buried for them. `None`
    /// if there are none, after every caller has its answer.
    fn buried(&self, mut group: WriteGroup, error: &Arc<StoreError>) -> Option<WriteGroup> {
        let ([settlement], [pending]) = (&mut group.settlements[..], &mut group.pending[..]) else {
            self.failed(group, error);
            return None;
        };
        let message_id = settlement.receipt.message;
        match &mut settlement.disposition {
            Disposition::Done { emit } if !emit.is_empty() => {
                tracing::error!(%message_id, %error, "message was buried, because the store refused its children");
                pending.attempted.class = DeadLetterClass::ChildrenRefused;
                pending.refused = Some(Arc::clone(error));
                settlement.disposition = Disposition::dead(Reason::new(error));
                *settlement = self.setup.recorded(settlement.clone(), pending.attempted);
            }
            Disposition::Dead { emit, .. } if !emit.is_empty() => {
                tracing::error!(%message_id, %error, "message was buried without its event, because the store refused the event");
                emit.clear();
            }
            _ => {
                self.failed(group, error);
                return None;
            }
        }
        Some(group)
    }

    async fn settled(&self, group: WriteGroup, settled: &[Settled]) {
        let settled = settled.iter().copied();
        self.open_claims.conclude(group.iter().zip(settled.clone()).map(
            |((settlement, pending), settled)| {
                (pending.ticket, settlement.disposition.event(), Some(settled))
            },
        ));
        if self.setup.telemetry.is_some() {
            SettledCounts::of(&group.settlements, settled.clone())
                .each(|measured| self.setup.measure(measured));
        }
        for ((settlement, pending), settled) in group.iter().zip(settled.clone()) {
            let event = DeadLetterEvent::of(settlement, pending.attempted);
            event.filter(|_| settled == Settled::Accepted).iter().for_each(|event| self.setup.report(event));
        }
        self.wake_for_children(&group.settlements, settled.clone()).await;
        for (pending, settled) in group.pending.into_iter().zip(settled) {
            pending.answer(Ok(settled));
        }
    }

    fn failed(&self, group: WriteGroup, error: &Arc<StoreError>) {
        if group.is_empty() {
            return;
        }
        let message_id = group.only().map(|only| tracing::field::display(only.receipt.message));
        tracing::error!(count = group.len(), message_id, %error, "messages were not settled; they are delivered again");
        self.open_claims.conclude(
            group.iter().map(|(settlement, pending)| (pending.ticket, settlement.disposition.event(), None)),
        );
        group.pending.into_iter().for_each(|pending| pending.answer(Err(Arc::clone(error))));
    }

    /// Says that there may be work wherever children were enqueued; no outcome waits for it longer than a batch
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
