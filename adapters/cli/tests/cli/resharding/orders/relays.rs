use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use claimstream::{Claim, Jitter, Lease, LockGuarded, Relay, RelayConfig, RetryPolicy};
use claimstream_domain::Settled;
use claimstream_ports::LockingStrategy;
use claimstream_sea_orm::SeaOrmOutbox;
use claimstream_tokio::TokioTimer;
use futures::TryStreamExt;
use tokio::{runtime::Runtime, sync::Semaphore, task::JoinHandle, time::sleep};

use super::{
    Plan, QUEUE,
    ledger::{Ledger, Message},
    slow_message,
};

/// A relay to begin.
pub(super) struct Relaying {
    pub(super) number: usize,
    pub(super) url: String,
    pub(super) plan: Plan,
    pub(super) ledger: Arc<Ledger>,
}

/// A relay that has a runtime to itself, so that it can be ended amid anything.
pub(super) struct Running {
    number: usize,
    url: String,
    runtime: Runtime,
    is_over: Arc<AtomicBool>,
    work: JoinHandle<()>,
}

impl Running {
    pub(super) fn number(&self) -> usize {
        self.number
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Ends it in order.
    pub(super) async fn end(self) {
        self.is_over.store(true, Ordering::SeqCst);
        self.work.await.unwrap();
        self.runtime.shutdown_background();
    }

    /// Ends it at once: its handlers stop where they are, and its connections are closed.
    pub(super) async fn kill(self) {
        let runtime = self.runtime;
        let ended = tokio::task::spawn_blocking(|| runtime.shutdown_timeout(Duration::from_secs(1)));
        ended.await.unwrap();
    }
}

impl Relaying {
    const AT_ONCE: u32 = 8;
    /// Kills use attempts up.
    const ATTEMPTS: u32 = 1_000;

    pub(super) async fn begin(self) -> Running {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(2).enable_all().build().unwrap();
        let (number, url) = (self.number, self.url.clone());
        let is_over = Arc::<AtomicBool>::default();
        let work = runtime.spawn(self.run(Arc::clone(&is_over)));
        Running { number, url, runtime, is_over, work }
    }

    async fn run(self, is_over: Arc<AtomicBool>) {
        let outbox = Arc::new(SeaOrmOutbox::open(&self.url, self.plan.options()).await.unwrap());
        let claiming: Arc<dyn LockingStrategy> = match self.plan.strategy {
            "lock_guarded" => Arc::new(LockGuarded::new(outbox.clone(), outbox.clone())),
            _ => outbox.clone(),
        };
        let wait = Duration::from_millis(100);
        let config = RelayConfig {
            lease: Lease::new(self.plan.lease).unwrap(),
            retry: RetryPolicy { base: wait, cap: wait, max_attempts: Self::ATTEMPTS, jitter: Jitter::None },
            ..RelayConfig::default()
        };
        let relay = Relay::from_ports(claiming, outbox, Arc::new(TokioTimer::new()), config);
        let mut claims = relay.claims(QUEUE).unwrap();
        let places = Arc::new(Semaphore::new(Self::AT_ONCE as usize));
        let relaying = Arc::new(self);
        while !is_over.load(Ordering::SeqCst) {
            let next = tokio::time::timeout(Duration::from_millis(200), claims.try_next()).await;
            let Ok(next) = next else { continue };
            let claim = match next {
                Ok(Some(claim)) => claim,
                Ok(None) => break,
                // A node has rolled a claim back; a stream goes on after that.
                Err(_) if relaying.plan.tries > 1 => continue,
                Err(other) => panic!("{other}"),
            };
            let place = Arc::clone(&places).acquire_owned().await.unwrap();
            let relaying = Arc::clone(&relaying);
            tokio::spawn(async move {
                relaying.handle(claim).await;
                drop(place);
            });
        }
        let _ = places.acquire_many(Self::AT_ONCE).await;
        let closed = claims.close().await;
        assert!(closed.is_ok() || relaying.plan.tries > 1, "{closed:?}");
    }

    async fn handle(&self, mut claim: Claim) {
        let text = String::from_utf8(claim.message().payload.bytes().to_vec()).unwrap();
        let (key, number) = text.rsplit_once(' ').unwrap();
        let message = (key.to_owned(), number.parse().unwrap());
        let begun = self.ledger.begin(&message, self.number);
        self.take_time(&message, begun, &mut claim).await;
        if begun == 1 && self.plan.handling.one_fails_of.is_some_and(|of| message.1 % of == 5) {
            self.ledger.fail(&message, self.number);
            let settled = claim.nack("it fails at first").await;
            self.ledger.failed(&message);
            assert!(settled.is_ok() || self.plan.tries > 1, "{settled:?}");
            return;
        }
        self.ledger.acknowledge(&message, self.number);
        match claim.ack().await {
            Ok(Settled::Accepted) => self.ledger.accepted(&message),
            Ok(Settled::Superseded) if message == slow_message() => self.ledger.superseded(&message),
            Err(_) if self.plan.tries > 1 => self.ledger.not_accepted(&message),
            other => panic!("{message:?}: {other:?}"),
        }
    }

    async fn take_time(&self, message: &Message, begun: usize, claim: &mut Claim) {
        let Some(slow) = self.plan.handling.slow.filter(|_| begun == 1 && *message == slow_message()) else {
            let is_longer = message.1.is_multiple_of(29);
            return sleep(Duration::from_millis(if is_longer { 150 } else { 1 })).await;
        };
        if slow.renewed.is_none() {
            self.ledger.comes_again(message);
        }
        let until = Instant::now() + slow.takes;
        while let Some(left) = until.checked_duration_since(Instant::now()) {
            sleep(slow.renewed.unwrap_or(left).min(left)).await;
            if slow.renewed.is_some() {
                // One that is not answered is followed by the next.
                let _ = claim.renew().await;
            }
        }
    }
}
