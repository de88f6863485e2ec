use std::{slice, sync::Arc, time::Duration};

use claimstream_domain::{Disposition, Pace, QueueName, Settled, Settlement};
use claimstream_ports::{StoreError, StoreErrorKind};

use crate::{
    batch::{Batch, Entry},
    holdings::{Holdings, Ticket},
    settler::Outcome,
    setup::Setup,
};

/// Writes a batch once it is ripe: one outcome for each of its places, in order.
pub(crate) async fn write(setup: Arc<Setup>, holdings: Arc<Holdings>, batch: Arc<Batch>) -> Arc<[Outcome]> {
    batch.ripe(&*setup.timer, setup.config.settle_age).await;
    let (tickets, settlements, deadline) = unpack(batch.take(), setup.timer.now());
    tracing::Span::current().record("count", settlements.len());
    let outcomes = write_all(&setup, &settlements, deadline).await;
    conclude(&holdings, &tickets, &settlements, &outcomes);
    wake_for_children(&setup, &settlements, &outcomes).await;
    outcomes.into()
}

/// The tickets, their settlements in the same order, and the earliest deadline among them that is still to come.
fn unpack(entries: Vec<Entry>, now: Duration) -> (Vec<Ticket>, Vec<Settlement>, Duration) {
    let deadlines = entries.iter().map(|entry| entry.deadline);
    let deadline = deadlines.filter(|deadline| *deadline > now).min().unwrap_or_default();
    let (tickets, settlements) = entries.into_iter().map(|entry| (entry.ticket, entry.settlement)).unzip();
    (tickets, settlements, deadline)
}

async fn write_all(setup: &Setup, settlements: &[Settlement], deadline: Duration) -> Vec<Outcome> {
    match write_together(setup, settlements, deadline).await {
        Ok(settled) => settled.into_iter().map(Ok).collect(),
        // What the store refuses for good is one settlement's fault and must not take the others down with it.
        Err(error) if settlements.len() > 1 && may_be_about_one(&error) => {
            write_one_by_one(setup, settlements, deadline).await
        }
        Err(error) => {
            tracing::error!(count = settlements.len(), %error, "not settled");
            let error = Arc::new(error);
            settlements.iter().map(|_| Err(Arc::clone(&error))).collect()
        }
    }
}

/// Writes settlements in one call; repeats it while that may help and no deadline has passed.
async fn write_together(
    setup: &Setup,
    settlements: &[Settlement],
    deadline: Duration,
) -> Result<Vec<Settled>, StoreError> {
    let mut pace = Pace::default();
    loop {
        let error = match setup.settlements.settle(settlements).await {
            Ok(settled) => return one_for_each(settlements, settled),
            Err(error) => error,
        };
        let left = deadline.saturating_sub(setup.timer.now());
        if !error.is_retryable() || left.is_zero() {
            return Err(error);
        }
        tracing::warn!(count = settlements.len(), %error, "settling again");
        let wait;
        (pace, wait) = setup.wait_after_failure(pace);
        setup.timer.sleep(wait.min(left)).await;
    }
}

async fn write_one_by_one(setup: &Setup, settlements: &[Settlement], deadline: Duration) -> Vec<Outcome> {
    let mut outcomes = Vec::with_capacity(settlements.len());
    for settlement in settlements {
        let settled = write_together(setup, slice::from_ref(settlement), deadline).await;
        outcomes.push(settled.map(|settled| settled[0]).map_err(|error| {
            tracing::error!(message_id = %settlement.receipt.message, %error, "not settled");
            Arc::new(error)
        }));
    }
    outcomes
}

fn may_be_about_one(error: &StoreError) -> bool {
    matches!(error.kind(), StoreErrorKind::Corrupt | StoreErrorKind::Conflict)
}

fn one_for_each(settlements: &[Settlement], settled: Vec<Settled>) -> Result<Vec<Settled>, StoreError> {
    if settled.len() == settlements.len() {
        return Ok(settled);
    }
    let what = format!("{} answers to {} settlements", settled.len(), settlements.len());
    Err(StoreError::new(StoreErrorKind::Corrupt, "settle", what))
}

fn conclude(holdings: &Holdings, tickets: &[Ticket], settlements: &[Settlement], outcomes: &[Outcome]) {
    let written = tickets.iter().zip(settlements).zip(outcomes);
    holdings.conclude(written.map(|((ticket, settlement), outcome)| {
        (*ticket, settlement.disposition.event(), outcome.as_ref().ok().copied())
    }));
}

/// Says that there may be work wherever children were enqueued.
async fn wake_for_children(setup: &Setup, settlements: &[Settlement], outcomes: &[Outcome]) {
    let Some(wakeup) = &setup.wakeup else { return };
    let mut woken: Vec<&QueueName> = Vec::new();
    for (settlement, outcome) in settlements.iter().zip(outcomes) {
        let Disposition::Done { emit } = &settlement.disposition else { continue };
        if !matches!(outcome, Ok(Settled::Accepted)) {
            continue;
        }
        for child in emit {
            if !woken.contains(&&child.queue) {
                woken.push(&child.queue);
            }
        }
    }
    for queue in woken {
        if let Err(error) = wakeup.wake(queue).await {
            tracing::debug!(%queue, %error, "nobody woken");
        }
    }
}
