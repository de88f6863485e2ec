//! One stream on three executors: the library spawns nothing, so any executor may poll it.
//! Promise: the same stream runs on tokio, smol and a bare `block_on`

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use claimstream::{Compose, Relay, RelayConfig};
use claimstream_domain::{NewMessage, QueueName, Settled};
use claimstream_memory::MemoryStore;
use claimstream_ports::{
    Enqueue, LockingStrategy, Observe, Settlements, Sleep, StoreError, StoreErrorKind, Timer,
};
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};
use claimstream_tokio::TokioTimer;
use futures::{TryStreamExt, channel::oneshot, future::BoxFuture};

use crate::{Fixture, Suite, backend::SeaOrmBackend, suite::STUCK};

const MESSAGES: usize = 200;
/// The second half comes late, so that the stream has to wait by its timer.
const LATE: Duration = Duration::from_millis(300);

/// Adds the stream on memory and on SQLite, under tokio, smol and a bare `block_on`.
pub fn add_to(suite: &mut Suite) {
    for executor in Executor::ALL {
        let name_of = |what: &str| format!("sqlite::runtimes::{what}_under_{}", executor.name());
        suite.add_test(&name_of("a_transaction_enqueues"), move || {
            executor.run_alone(a_transaction_enqueues())
        });
        let name = |store: &str| format!("{store}::runtimes::a_stream_runs_under_{}", executor.name());
        suite.add_test(&name("memory"), move || executor.run("memory", |timer| Box::pin(on_memory(timer))));
        suite.add_test(&name("sqlite"), move || executor.run("sqlite", |timer| Box::pin(on_sqlite(timer))));
    }
}

/// Who polls.
#[derive(Clone, Copy)]
enum Executor {
    Tokio,
    Smol,
    BlockOn,
}

type Stream = fn(Arc<dyn Timer>) -> BoxFuture<'static, usize>;

impl Executor {
    const ALL: [Self; 3] = [Self::Tokio, Self::Smol, Self::BlockOn];

    fn name(self) -> &'static str {
        match self {
            Self::Tokio => "tokio",
            Self::Smol => "smol",
            Self::BlockOn => "block_on",
        }
    }

    /// Runs the stream on a thread of its own, which must come to an end.
    fn run(self, store: &str, stream: Stream) {
        let sleeps = Arc::new(AtomicUsize::new(0));
        let (sender, receiver) = mpsc::channel();
        let counted = Counted { timer: self.timer(), sleeps: sleeps.clone() };
        thread::spawn(move || sender.send(self.block_on(stream(Arc::new(counted)))));
        let acked = receiver.recv_timeout(STUCK).expect("the stream neither panics nor is stuck");
        let (sleeps, name) = (sleeps.load(Ordering::SeqCst), self.name());
        println!("runtimes: {store} under {name}: {acked} acked, {sleeps} sleeps");
        assert_eq!(acked, MESSAGES);
        assert!(sleeps > 0, "the timer was never used");
    }

    /// Runs a test on a thread of its own, which must come to an end.
    fn run_alone(self, test: impl Future<Output = ()> + Send + 'static) {
        let (sender, receiver) = mpsc::channel();
        let test = Box::pin(async move {
            test.await;
            0
        });
        thread::spawn(move || sender.send(self.block_on(test)));
        receiver.recv_timeout(STUCK).expect("it neither panics nor is stuck");
    }

    fn timer(self) -> Box<dyn Timer> {
        match self {
            Self::Tokio => Box::new(TokioTimer::new()),
            Self::Smol => Box::new(SmolTimer(Instant::now())),
            Self::BlockOn => Box::new(ThreadTimer(Instant::now())),
        }
    }

    fn block_on(self, stream: BoxFuture<'static, usize>) -> usize {
        let stream = async move {
            let has_tokio = tokio::runtime::Handle::try_current().is_ok();
            assert_eq!(has_tokio, matches!(self, Self::Tokio), "whether tokio is current");
            stream.await
        };
        match self {
            Self::Smol => smol::block_on(stream),
            Self::BlockOn => futures::executor::block_on(stream),
            Self::Tokio => {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                runtime.expect("a runtime").block_on(stream)
            }
        }
    }
}

async fn on_memory(timer: Arc<dyn Timer>) -> usize {
    let (store, queue) = (MemoryStore::new(), Fixture::fresh_queue());
    let tx = store.begin();
    store.enqueue(&tx, &messages(&queue)).await.expect("enqueue");
    tx.commit();
    read(Arc::new(store), timer, queue).await
}

async fn on_sqlite(timer: Arc<dyn Timer>) -> usize {
    let backend = SeaOrmBackend::sqlite("preemptive_update");
    let url = backend.fresh_database().await.expect("a folder");
    let outbox = SeaOrmOutbox::open(&url, OpenOptions::default()).await.expect("open");
    let queue = Fixture::fresh_queue();
    outbox.enqueue_now(&messages(&queue)).await.expect("enqueue");
    read(Arc::new(outbox), timer, queue).await
}

/// Business data and a message, together, under every executor; what needs tokio is refused without it.
async fn a_transaction_enqueues() {
    let backend = SeaOrmBackend::sqlite("preemptive_update");
    let url = backend.fresh_database().await.expect("a folder");
    let outbox = SeaOrmOutbox::open(&url, OpenOptions::default()).await.expect("open");
    let queue = Fixture::fresh_queue();
    for fails in [false, true] {
        let (enqueueing, message) = (outbox.clone(), NewMessage::json(queue.clone(), &7).expect("a message"));
        let done = outbox.transaction(move |tx| {
            Box::pin(async move {
                enqueueing.enqueue(tx, &[message]).await?;
                if fails {
                    Err(StoreError::new(StoreErrorKind::Conflict, "order", "sold out"))
                } else {
                    Ok(7)
                }
            })
        });
        assert_eq!(done.await.ok(), (!fails).then_some(7));
    }
    let status = outbox.observe().await.expect("observe");
    assert_eq!(
        status.iter().map(|status| status.depth).collect::<Vec<_>>(),
        [1],
        "what failed has left nothing"
    );
    match (outbox.begin().await, tokio::runtime::Handle::try_current()) {
        (Ok(tx), Ok(_)) => tx.rollback().await.expect("roll back"),
        (Err(error), Err(_)) => assert_eq!(error.kind(), StoreErrorKind::Unsupported, "{error}"),
        (begun, current) => panic!("begun {begun:?}, tokio {current:?}"),
    }
}

fn messages(queue: &QueueName) -> Vec<NewMessage> {
    let message = |n: usize| {
        let message = NewMessage::json(queue.clone(), &n).expect("a message");
        if n < MESSAGES / 2 { message } else { message.deliver_after(LATE) }
    };
    (0..MESSAGES).map(message).collect()
}

/// Acknowledges every message that the stream brings, each once, and leaves nothing behind.
async fn read<S>(store: Arc<S>, timer: Arc<dyn Timer>, queue: QueueName) -> usize
where
    S: LockingStrategy + Settlements + Observe + 'static,
{
    let relay = Relay::from_ports(store.clone(), store.clone(), timer, RelayConfig::default());
    let mut claims = relay.claims(queue.clone()).expect("a stream");
    let mut acked = HashSet::new();
    while acked.len() < MESSAGES {
        let claim = claims.try_next().await.expect("the store works").expect("the stream has no end");
        assert!(acked.insert(claim.message().id), "a message came twice");
        assert_eq!(claim.ack().await.expect("ack"), Settled::Accepted);
    }
    claims.close().await.expect("close");
    let left = store.observe().await.expect("observe").into_iter().find(|status| status.queue == queue);
    assert!(left.is_none_or(|status| status.depth == 0), "something is left");
    acked.len()
}

/// A timer that counts how often a caller slept.
struct Counted {
    timer: Box<dyn Timer>,
    sleeps: Arc<AtomicUsize>,
}

impl Timer for Counted {
    fn now(&self) -> Duration {
        self.timer.now()
    }

    fn sleep(&self, duration: Duration) -> Sleep<'_> {
        self.sleeps.fetch_add(1, Ordering::SeqCst);
        self.timer.sleep(duration)
    }
}

/// Smol's timer.
struct SmolTimer(Instant);

impl Timer for SmolTimer {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }

    fn sleep(&self, duration: Duration) -> Sleep<'_> {
        Box::pin(async move {
            smol::Timer::after(duration).await;
        })
    }
}

/// A timer that needs no runtime: a thread for each sleep, which ends when the sleep is dropped.
struct ThreadTimer(Instant);

impl Timer for ThreadTimer {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }

    fn sleep(&self, duration: Duration) -> Sleep<'_> {
        Box::pin(async move {
            let (_held, dropped) = mpsc::channel::<()>();
            let (wake, woken) = oneshot::channel();
            thread::spawn(move || {
                let _ = dropped.recv_timeout(duration);
                let _ = wake.send(());
            });
            let _ = woken.await;
        })
    }
}
