//! Promise: handlers of a key never overlap, and the next message of a hot key waits for no claim and no
//! settlement

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use claimstream::{Handler, Relay, RelayConfig, RetryPolicy, handler_fn};
use claimstream_domain::{
    ClaimRequest, Claimed, Lease, MessageId, Receipt, Renewed, Settled, Settlement, Verdict,
};
use claimstream_ports::{LockingStrategy, Settlements, StoreError};
use claimstream_sea_orm::{FrozenClock, SeaOrmOutbox};
use claimstream_testbed::eventually;
use claimstream_tokio::TokioTimer;
use sea_orm::{DatabaseConnection, DbBackend, sqlx};
use tokio::sync::oneshot;

use super::message;
use crate::{
    Fixture, Suite,
    backend::{Backend, SeaOrmBackend},
};

/// Adds pipelines on keys in order to a backend.
pub fn add_pipeline_to(suite: &mut Suite, backend: Arc<SeaOrmBackend>) {
    let prefix = format!("{}::{}::order", backend.name(), backend.strategy());
    let (busy, hot) = (Arc::clone(&backend), backend);
    let name = format!("{prefix}::pipelines_that_fail_stop_and_take_over_handle_each_key_in_order");
    suite.add_async_test(&name, fail_stop_and_take_over(busy));
    suite.add_async_test(&format!("{prefix}::a_hot_key_is_handled_in_runs"), is_handled_in_runs(hot));
}

const KEYS: usize = 8;
const EACH: usize = 60;

/// What the handlers of all pipelines have seen of each key.
#[derive(Default)]
struct Seen {
    sent: HashMap<String, Vec<MessageId>>,
    /// How many of a key's messages have been handled.
    done: HashMap<String, usize>,
    /// The next message of each key that this pipeline is to handle.
    next: HashMap<String, usize>,
    running: HashSet<String>,
    failed: HashSet<MessageId>,
    wrong: Vec<String>,
}

impl Seen {
    /// Begins a message of a key; every seventh or so fails at first.
    fn begin(&mut self, claimed: &Claimed) -> (String, bool) {
        let key = claimed.message.ordering_key.as_ref().expect("a key").as_str().to_owned();
        if !self.running.insert(key.clone()) {
            self.wrong.push(format!("two handlers of {key} at a time"));
        }
        let at = self.place(&key, claimed.message.id);
        let done = self.done.get(&key).copied().unwrap_or_default();
        let next = self.next.get(&key).copied();
        if at > done || next.is_some_and(|next| next != at) {
            self.wrong.push(format!("message {at} of {key} came, where {next:?} or {done} was next"));
        }
        let fails = at % 7 == 3 && self.failed.insert(claimed.message.id);
        (key, fails)
    }

    fn end(&mut self, key: &str, message: MessageId, fails: bool) -> Verdict {
        self.running.remove(key);
        let at = self.place(key, message) + usize::from(!fails);
        self.next.insert(key.to_owned(), at);
        let done = self.done.entry(key.to_owned()).or_default();
        *done = at.max(*done);
        if fails { Verdict::nack("at first") } else { Verdict::ack() }
    }

    fn place(&self, key: &str, message: MessageId) -> usize {
        self.sent[key].iter().position(|id| *id == message).expect("one of ours")
    }

    /// Another pipeline begins; what was not written of the one before comes again.
    fn begin_again(&mut self) {
        self.running.clear();
        self.next.clear();
    }

    fn handled(&self) -> usize {
        self.done.values().sum()
    }

    fn is_done(&self) -> bool {
        self.sent.iter().all(|(key, sent)| self.done.get(key) == Some(&sent.len()))
    }
}

fn locked(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Each pipeline works for a while and is then stopped or killed; the next one goes on where it was.
async fn fail_stop_and_take_over(backend: Arc<SeaOrmBackend>) {
    let url = backend.shared_database().await.expect("a database");
    let queue = Fixture::fresh_queue();
    let clock = FrozenClock::at(Fixture::start().as_micros());
    let outbox = backend.open(&url, Some(clock.clone())).await.expect("open");
    let seen = Arc::new(Mutex::new(Seen::default()));
    for _ in 0..EACH {
        let some: Vec<_> = (0..KEYS).map(|key| message(&queue, &format!("account-{key}"))).collect();
        for message in some {
            let key = message.ordering_key.as_ref().expect("a key").as_str().to_owned();
            locked(&seen).sent.entry(key).or_default().push(message.id);
            outbox.enqueue_now(&[message]).await.expect("enqueue");
        }
    }
    for round in 0.. {
        locked(&seen).begin_again();
        let (stop, stopped) = oneshot::channel::<()>();
        let outbox = Arc::new(backend.open(&url, Some(clock.clone())).await.expect("open"));
        let pools = [outbox.connection(), outbox.relay_connection()].map(Clone::clone);
        let relay = Relay::new(outbox, TokioTimer::new(), config());
        let pipeline = relay.pipeline(queue.clone(), handler(&seen)).expect("a pipeline");
        let running = tokio::spawn(pipeline.run_until(async {
            let _ = stopped.await;
        }));
        let enough = locked(&seen).handled() + 5 + 20 * round;
        eventually("the pipeline has handled some", || async {
            // What was put off comes again, and no lease ends.
            clock.advance(Duration::from_millis(10));
            let seen = locked(&seen);
            seen.handled() >= enough || seen.is_done() || !seen.wrong.is_empty()
        })
        .await;
        if round % 2 == 1 {
            running.abort();
        }
        drop(stop);
        let _ = running.await;
        end_of_calls(&pools).await;
        clock.advance(LEASE);
        let seen = locked(&seen);
        assert_eq!(seen.wrong, Vec::<String>::new());
        if seen.is_done() && round > 1 {
            return;
        }
    }
}

/// A call goes on without its caller, and a claim or a renewal of a killed pipeline that came after the next move of the clock would last
/// until another one.
async fn end_of_calls(pools: &[DatabaseConnection]) {
    let mut calm = 0;
    eventually("the calls of the pipeline have ended", || {
        let is_idle = pools.iter().all(|pool| match pool.get_database_backend() {
            DbBackend::Sqlite => idle(pool.get_sqlite_connection_pool()),
            _ => idle(pool.get_mysql_connection_pool()),
        });
        calm = if is_idle { calm + 1 } else { 0 };
        std::future::ready(calm == 3)
    })
    .await;
}

fn idle<D: sqlx::Database>(pool: &sqlx::Pool<D>) -> bool {
    pool.num_idle() == pool.size() as usize
}

fn handler(seen: &Arc<Mutex<Seen>>) -> impl Handler + use<> {
    let seen = Arc::clone(seen);
    handler_fn(move |claimed: Claimed| {
        let seen = Arc::clone(&seen);
        async move {
            let (key, fails) = locked(&seen).begin(&claimed);
            tokio::task::yield_now().await;
            locked(&seen).end(&key, claimed.message.id, fails)
        }
    })
}

/// Longer than the test takes: only a clock that is moved ends it.
const LEASE: Duration = Duration::from_secs(3600);

fn config() -> RelayConfig {
    let retry = RetryPolicy { base: Duration::from_millis(1), max_attempts: 20, ..RetryPolicy::default() };
    let lease = Lease::new(LEASE).expect("a lease");
    let drain = Duration::from_millis(500);
    RelayConfig { retry, lease, drain, batch: 20, prefetch: 60, concurrency: 16, ..RelayConfig::default() }
}

/// A store, and how often it was called.
struct Counted {
    store: SeaOrmOutbox,
    calls: AtomicUsize,
}

#[async_trait]
impl LockingStrategy for Counted {
    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<Claimed>, StoreError> {
        let claimed = self.store.claim(request).await?;
        self.calls.fetch_add(usize::from(!claimed.is_empty()), Ordering::SeqCst);
        Ok(claimed)
    }
}

#[async_trait]
impl Settlements for Counted {
    async fn settle(&self, settlements: &[Settlement]) -> Result<Vec<Settled>, StoreError> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        self.store.settle(settlements).await
    }

    async fn renew(&self, receipts: &[Receipt], lease: Lease) -> Result<Vec<Renewed>, StoreError> {
        self.store.renew(receipts, lease).await
    }
}

/// One at a time, each message would take a claim and a settlement of its own.
async fn is_handled_in_runs(backend: Arc<SeaOrmBackend>) {
    const MESSAGES: usize = 400;
    let url = backend.shared_database().await.expect("a database");
    let queue = Fixture::fresh_queue();
    let store = backend.open(&url, None).await.expect("open");
    let sent: Vec<_> = (0..MESSAGES).map(|_| message(&queue, "account-7")).collect();
    let ids: Vec<_> = sent.iter().map(|message| message.id).collect();
    store.enqueue_now(&sent).await.expect("enqueue");
    let counted = Arc::new(Counted { store, calls: AtomicUsize::new(0) });
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (known, (last, all)) = (Arc::clone(&seen), oneshot::channel::<()>());
    let last = Mutex::new(Some(last));
    let handler = handler_fn(move |claimed: Claimed| {
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        known.push(claimed.message.id);
        if known.len() == MESSAGES {
            drop(last.lock().unwrap_or_else(PoisonError::into_inner).take());
        }
        async { Verdict::ack() }
    });
    let relay = Relay::new(counted.clone(), TokioTimer::new(), RelayConfig::default());
    let pipeline = relay.pipeline(queue, handler).expect("a pipeline");
    let done = async {
        let _ = all.await;
    };
    let report = pipeline.run_until(done).await.expect("a run");
    let calls = counted.calls.load(Ordering::SeqCst);
    println!("order: {}: {MESSAGES} of a key with {calls} calls", backend.name());
    assert_eq!(*seen.lock().unwrap_or_else(PoisonError::into_inner), ids);
    assert_eq!(report.acked, MESSAGES as u64);
    assert!(calls <= MESSAGES / 10, "{calls} calls for {MESSAGES} messages");
}
