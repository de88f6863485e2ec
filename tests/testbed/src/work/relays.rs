use std::{sync::Arc, time::Duration};

use claimstream::{
    Claim, Jitter, Lease, LockGuarded, Pacing, Relay, RelayConfig, RelayError, RetryPolicy, Verdict,
};
use claimstream_domain::{Claimed, QueueName, Settled, step::StepResult};
use claimstream_ports::{Handler, LockingStrategy};
use claimstream_sea_orm::{SeaOrmOutbox, store_error};
use claimstream_steps::inbox::{Consumer, Inbox, StepError};
use claimstream_tokio::TokioTimer;
use futures::{FutureExt, StreamExt, future::BoxFuture};
use sea_orm::{ConnectionTrait, DatabaseTransaction};
use tokio::sync::watch;

use super::{Failure, LOCK_GUARDED, Plan, tally::Tally};

/// A relay that gives each message its effect through the inbox, and tells the tally.
pub(super) struct Relaying {
    pub(super) outbox: Arc<SeaOrmOutbox>,
    pub(super) tally: Arc<Tally>,
    pub(super) plan: Plan,
}

impl Relaying {
    const AT_ONCE: usize = 8;
    /// A test has many more faults than a day has.
    const ATTEMPTS: u32 = 10_000;

    pub(super) async fn run(self, queue: QueueName, mut stop: watch::Receiver<bool>) -> Result<(), Failure> {
        let config = self.config()?;
        let inbox = Inbox::new(self.outbox.clone(), &config)?;
        let handler = inbox.handler(Consumer::new("faults")?, TokioTimer::new(), write_effect);
        let claiming: Arc<dyn LockingStrategy> = match self.plan.strategy {
            LOCK_GUARDED => Arc::new(LockGuarded::new(self.outbox.clone(), self.outbox.clone())),
            _ => self.outbox.clone(),
        };
        let timer = Arc::new(TokioTimer::new());
        let relay = Relay::from_ports(claiming, self.outbox.clone(), timer, config);
        let mut claims = relay.claims(queue)?;
        let stopped = async move {
            let _ = stop.wait_for(|stop| *stop).await;
        };
        let handling = claims.by_ref().take_until(stopped);
        handling.for_each_concurrent(Self::AT_ONCE, |claim| self.handle(&handler, claim)).await;
        // What cannot be given back comes when its lease ends; nothing is left to come here.
        let _ = claims.close().await;
        Ok(())
    }

    fn config(&self) -> Result<RelayConfig, Failure> {
        let wait = Duration::from_millis(100);
        Ok(RelayConfig {
            batch: 20,
            prefetch: 40,
            lease: Lease::new(self.plan.lease)?,
            pacing: Pacing { idle_min: Duration::from_millis(5), idle_max: wait },
            handle_timeout: Duration::from_secs(30),
            retry: RetryPolicy { base: wait, cap: wait, max_attempts: Self::ATTEMPTS, jitter: Jitter::None },
            ..RelayConfig::default()
        })
    }

    async fn handle(&self, handler: &impl Handler, claim: Result<Claim, RelayError>) {
        // The stream goes on after an error.
        let Ok(claim) = claim else { return };
        let id = claim.message().id.uuid();
        let verdict = handler.handle(claim.claimed()).await;
        let is_done = matches!(verdict, Verdict::Ack { .. });
        if is_done {
            self.tally.delivered(id);
        }
        if let Ok(Settled::Accepted) = claim.settle(verdict).await
            && is_done
        {
            self.tally.accepted(id);
        }
    }
}

fn write_effect<'tx>(
    tx: &'tx DatabaseTransaction,
    claimed: &'tx Claimed,
) -> BoxFuture<'tx, Result<StepResult, StepError>> {
    async move {
        let insert = format!("INSERT INTO fault_effect (message) VALUES ('{}')", claimed.message.id);
        tx.execute_unprepared(&insert).await.map_err(|e| store_error("effect", e))?;
        Ok(StepResult::default())
    }
    .boxed()
}
