use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use claimstream::{Lease, Pacing, Relay, RelayConfig, RetryPolicy, Verdict};
use claimstream_domain::Claimed;
use claimstream_ports::Handler;
use claimstream_sea_orm::SeaOrmOutbox;
use claimstream_steps::timer_event::{Alarm, EventScheme, Schedule, TimerEvents};
use claimstream_tokio::TokioTimer;
use futures::FutureExt;
use tokio::sync::watch;

use super::{books::execute, member::Member};
use crate::work::Failure;

/// The queue of the timer.
pub(super) const TIMERS: &str = "flow-timers";

/// Drives sagas, global transactions and the timer at one place until it is to stop.
pub(super) async fn run(
    member: Member,
    ended: Arc<AtomicUsize>,
    stop: watch::Receiver<bool>,
) -> Result<(), Failure> {
    let (payments, orders, timers) = (member.payments()?, member.orders()?, timers(&member)?);
    while timers.start().await.is_err() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let until_stopped = || {
        let mut stop = stop.clone();
        async move {
            let _ = stop.wait_for(|stop| *stop).await;
        }
    };
    let relay = |retry| relay(&member, retry);
    let counted = |handler: Arc<dyn Handler>| Counted { handler, ended: ended.clone() };
    let (queue, config) = (payments.queue(), orders.config().clone());
    let (saga_retry, timer_retry) = (payments.config().pipeline_retry(), timers.pipeline_retry());
    let sagas = relay(saga_retry)?.pipeline(queue, counted(Arc::new(payments)))?;
    let globals = relay(config.retry)?.pipeline(config.queue, counted(Arc::new(orders)))?;
    let ticks = relay(timer_retry)?.pipeline(TIMERS, counted(Arc::new(timers)))?;
    let ran = futures::join!(
        sagas.run_until(until_stopped()),
        globals.run_until(until_stopped()),
        ticks.run_until(until_stopped())
    );
    ran.0.and(ran.1).and(ran.2)?;
    Ok(())
}

fn relay(member: &Member, retry: RetryPolicy) -> Result<Relay, Failure> {
    let config = RelayConfig {
        lease: Lease::new(Duration::from_secs(4))?,
        pacing: Pacing { idle_min: Duration::from_millis(5), idle_max: Duration::from_millis(100) },
        retry,
        ..RelayConfig::default()
    };
    Ok(Relay::new(Arc::new(member.home.clone()), TokioTimer::new(), config))
}

/// A timer that notes each of its occurrences.
fn timers(member: &Member) -> Result<TimerEvents<SeaOrmOutbox>, Failure> {
    let alarm = Alarm::to_queue("flow-alarms".try_into()?);
    let tick = EventScheme::new("flow-tick".parse()?, Schedule::every(Duration::from_secs(1))?, alarm)
        .retry_every(Duration::from_millis(200))
        .decision("note".parse()?, |tx, event| {
            async move {
                let sql = format!("INSERT INTO flow_tick (occurrence) VALUES ('{}')", event.occurrence);
                execute(tx, &sql).await?;
                Ok(())
            }
            .boxed()
        });
    let timers = TimerEvents::new(Arc::new(member.home.clone()), TokioTimer::new(), TIMERS.try_into()?);
    Ok(timers.with(tick)?)
}

/// Counts the messages that have come to an end.
struct Counted {
    handler: Arc<dyn Handler>,
    ended: Arc<AtomicUsize>,
}

#[async_trait]
impl Handler for Counted {
    async fn handle(&self, claimed: &Claimed) -> Verdict {
        let verdict = self.handler.handle(claimed).await;
        if matches!(verdict, Verdict::Ack { .. }) {
            self.ended.fetch_add(1, Ordering::Relaxed);
        }
        verdict
    }
}
