use std::{
    process::{Command, ExitCode},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use claimstream::{Claim, LockGuarded, Pacing, Relay, RelayConfig, RelayError, RetryPolicy};
use claimstream_domain::Jitter;
use claimstream_domain::{Lease, Settled};
use claimstream_ports::{DistributedLock, LockGuard, StoreError};
use claimstream_redis::RedisLock;
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};
use claimstream_tokio::TokioTimer;
use futures::StreamExt;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use crate::suite::RUNTIME;

/// The queue that all instances read.
pub(super) const QUEUE: &str = "guarded";

/// Where a process of this binary finds its job, if it is to be an instance and not the suite.
pub(super) const JOB: &str = "CLAIMSTREAM_TEST_HOLDER";

/// What an instance is started with.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub(super) struct Job {
    pub(super) url: String,
    /// `database`, or the URL of a Redis.
    pub(super) lock: String,
    pub(super) fate: Fate,
}

/// What becomes of an instance while it holds the lock.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fate {
    Lives,
    /// It is killed when it has taken the lock so many times.
    Dies(u32),
    /// It is stopped when it has taken the lock so many times, until the test resumes it.
    Pauses(u32),
}

/// How long a lock lasts that is not given back.
pub(super) const LOCK_LEASE: Duration = Duration::from_millis(300);
/// How long a message is worked on, so that an instance that is killed or paused has some in hand.
const WORK: Duration = Duration::from_millis(100);
/// How long a claim lasts.
pub(super) const CLAIM_LEASE: Duration = Duration::from_millis(1500);

/// Lives the life of an instance and answers its exit code, if the environment asks for that.
pub fn run_if_asked() -> Option<ExitCode> {
    let job = std::env::var(JOB).ok()?;
    let lived = RUNTIME.block_on(async { live(serde_json::from_str(&job)?).await });
    Some(match lived {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    })
}

/// It works until its standard input ends.
async fn live(job: Job) -> Result<(), Box<dyn std::error::Error>> {
    let strategy = "preemptive_update".parse()?;
    let options = OpenOptions { strategy, max_connections: 4, ..OpenOptions::default() };
    let outbox = Arc::new(SeaOrmOutbox::open(&job.url, options).await?);
    let lock: Arc<dyn DistributedLock> = match job.lock.as_str() {
        "database" => outbox.clone(),
        url => Arc::new(RedisLock::new(url.parse()?)),
    };
    let lock = Arc::new(Doomed { lock, fate: job.fate, taken: AtomicU32::default() });
    let claiming = LockGuarded::new(outbox.clone(), lock).with_lease(Lease::new(LOCK_LEASE)?);
    let wait = Duration::from_millis(100);
    let config = RelayConfig {
        batch: 20,
        prefetch: 40,
        lease: Lease::new(CLAIM_LEASE)?,
        pacing: Pacing { idle_min: Duration::from_millis(5), idle_max: wait },
        retry: RetryPolicy { base: wait, cap: wait, max_attempts: 1000, jitter: Jitter::None },
        ..RelayConfig::default()
    };
    let relay = Relay::from_ports(Arc::new(claiming), outbox, Arc::new(TokioTimer::new()), config);
    let mut claims = relay.claims(QUEUE)?;
    claims.by_ref().take_until(stop_requested()).for_each_concurrent(40, handle).await;
    claims.close().await?;
    Ok(())
}

async fn stop_requested() {
    let (stop, stopped) = oneshot::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let _ = std::io::stdin().read_line(&mut line);
        let _ = stop.send(());
    });
    let _ = stopped.await;
}

/// Tells what it handles before it settles it, and how that was answered.
async fn handle(claim: Result<Claim, RelayError>) {
    let claim = match claim {
        Ok(claim) => claim,
        Err(error) => return eprintln!("claims: {error}"),
    };
    let id = claim.message().id.uuid();
    println!("handled {id}");
    tokio::time::sleep(WORK).await;
    match claim.ack().await {
        Ok(Settled::Accepted) => println!("accepted {id}"),
        Ok(Settled::Superseded) => println!("superseded {id}"),
        Ok(Settled::Unknown) => eprintln!("{id}: unknown"),
        Err(unknown) => eprintln!("{id}: {unknown}"),
    }
}

/// A lock whose holder the test controls.
struct Doomed {
    lock: Arc<dyn DistributedLock>,
    fate: Fate,
    taken: AtomicU32,
}

#[async_trait]
impl DistributedLock for Doomed {
    async fn try_acquire(&self, key: &str, lease: Lease) -> Result<Option<LockGuard>, StoreError> {
        let guard = self.lock.try_acquire(key, lease).await?;
        if guard.is_some() {
            let taken = self.taken.fetch_add(1, Ordering::SeqCst) + 1;
            match self.fate {
                Fate::Dies(at) if at == taken => signal("-KILL"),
                Fate::Pauses(at) if at == taken => signal("-STOP"),
                _ => {}
            }
        }
        Ok(guard)
    }

    async fn renew(&self, guard: &LockGuard, lease: Lease) -> Result<bool, StoreError> {
        self.lock.renew(guard, lease).await
    }

    async fn release(&self, guard: LockGuard) -> Result<bool, StoreError> {
        self.lock.release(guard).await
    }
}

/// To this very process.
fn signal(which: &str) {
    let _ = Command::new("kill").args([which, &std::process::id().to_string()]).status();
}
