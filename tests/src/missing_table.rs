//! A pipeline whose tables are away for a while, as in a migration that goes wrong and is taken back.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use claimstream::{
    Compose, Handler, Lease, Pacing, PipelineMonitor, PipelineReport, PipelineState, Relay, RelayConfig,
    RelayError, RetryPolicy, Verdict, handler_fn,
    saga::{Saga, SagaConfig, SagaId},
};
use claimstream_domain::{NewMessage, QueueName};
use claimstream_ports::Transactions;
use claimstream_sea_orm::SeaOrmOutbox;
use claimstream_tokio::TokioTimer;
use sea_orm::ConnectionTrait;
use tokio::{
    sync::{Semaphore, oneshot},
    time::{sleep, timeout},
};

use crate::{Server, Stage, Suite, venue::SeaOrmVenue};

/// Adds it for every store that is here, with each strategy.
pub fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    for strategy in ["preemptive_update", "shard_lease"] {
        add(suite, "sqlite", strategy, move || SeaOrmVenue::sqlite(strategy));
    }
    for server in Server::ALL {
        let Some(url) = server.url(&environment) else { continue };
        for strategy in server.strategies().iter().filter(|strategy| **strategy != "auto") {
            let url = url.clone();
            add(suite, server.name, strategy, move || SeaOrmVenue::server(server.name, &url, strategy));
        }
    }
}

fn add(
    suite: &mut Suite,
    store: &str,
    strategy: &str,
    venue: impl Fn() -> SeaOrmVenue + Clone + Send + 'static,
) {
    let name = |what: &str| format!("{store}::{strategy}::missing_table::{what}");
    let (open, stop) = (venue.clone(), venue.clone());
    suite.add_async_trial(&name("a_pipeline_claims_on_when_the_queue_is_back"), async move {
        claims_on(&open()).await;
    });
    suite.add_async_trial(
        &name("a_pipeline_that_is_stopped_meanwhile_ends_after_its_drain_time"),
        async move {
            ends_after_its_drain_time(&stop()).await;
        },
    );
    let saga = venue.clone();
    suite.add_async_trial(&name("a_saga_goes_on_when_its_steps_are_back"), async move {
        goes_on_with_a_saga(&saga()).await;
    });
    suite.add_async_trial(&name("what_was_handled_meanwhile_is_settled_and_not_handled_again"), async move {
        settles_on(&venue()).await;
    });
}

/// No wait takes that long, however busy the machine is.
const LATE: Duration = Duration::from_secs(60);

async fn claims_on(venue: &SeaOrmVenue) {
    let (outbox, queue) = open(venue).await;
    let counted = Arc::<AtomicUsize>::default();
    let running = Running::start(&outbox, &queue, {
        let counted = counted.clone();
        handler_fn(move |_| {
            counted.fetch_add(1, Ordering::SeqCst);
            async { Verdict::ack() }
        })
    });
    send(&outbox, &queue).await;
    until("the first message is handled", || counted.load(Ordering::SeqCst) == 1).await;
    rename(&outbox, "claimstream_queue", "claimstream_away").await;
    until("claims fail", || fails(&running.monitor, 3)).await;
    assert!(!running.task.is_finished(), "the pipeline has ended");
    rename(&outbox, "claimstream_away", "claimstream_queue").await;
    send(&outbox, &queue).await;
    until("the second message is handled", || counted.load(Ordering::SeqCst) == 2).await;
    assert!(matches!(running.monitor.state(), PipelineState::Running));
    assert_eq!(running.stop().await.acked, 2);
}

async fn settles_on(venue: &SeaOrmVenue) {
    let (outbox, running, begun) = handled_meanwhile(venue).await;
    until("claims fail", || fails(&running.monitor, 3)).await;
    rename(&outbox, "claimstream_away", "claimstream_queue").await;
    until("claims are answered", || matches!(running.monitor.state(), PipelineState::Running)).await;
    let report = running.stop().await;
    assert_eq!((begun.load(Ordering::SeqCst), report.acked, report.unsettled), (1, 1, 0));
}

async fn goes_on_with_a_saga(venue: &SeaOrmVenue) {
    let (outbox, queue) = open(venue).await;
    let wait = Duration::from_millis(50);
    let retry = RetryPolicy { base: wait, cap: wait, ..RetryPolicy::default() };
    let place = outbox.clone();
    let saga: Saga<u32, _> = Saga::list(queue.as_str(), outbox.clone(), Arc::new(TokioTimer::new()))
        .at(move |_| place.clone())
        .step("nothing", |_, _| Box::pin(async { Ok(()) }), |_, _| Box::pin(async { Ok(()) }))
        .build(SagaConfig { retry: retry.clone(), ..SagaConfig::default() })
        .expect("a saga");
    let tx = outbox.begin_tx().await.expect("begin");
    saga.submit(&tx, SagaId::new(uuid::Uuid::now_v7()), "anna", 7).await.expect("submit");
    outbox.commit_tx(tx).await.expect("commit");
    rename(&outbox, "claimstream_step", "claimstream_away").await;
    let running = Running::start_with(&outbox, &saga.queue(), saga.clone(), saga.config().pipeline_retry());
    until("the saga is put off", || saga.tally().put_off >= 3).await;
    rename(&outbox, "claimstream_away", "claimstream_step").await;
    until("the saga is finished", || saga.tally().finished == 1).await;
    assert_eq!(running.stop().await.buried, 0);
}

/// The queue stays away: what was handled cannot be settled, and the lease is longer than this trial may take.
async fn ends_after_its_drain_time(venue: &SeaOrmVenue) {
    let (_outbox, running, _) = handled_meanwhile(venue).await;
    until("claims fail", || fails(&running.monitor, 1)).await;
    let report = running.stop().await;
    assert_eq!((report.claimed, report.unsettled), (1, 1));
}

/// A pipeline whose one handler ends when the queue is away, and how many handlers have begun.
async fn handled_meanwhile(venue: &SeaOrmVenue) -> (SeaOrmOutbox, Running, Arc<AtomicUsize>) {
    let (outbox, queue) = open(venue).await;
    let (begun, go_on) = (Arc::<AtomicUsize>::default(), Arc::new(Semaphore::new(0)));
    let running = Running::start(&outbox, &queue, waiting(&begun, &go_on));
    send(&outbox, &queue).await;
    until("the handler has begun", || begun.load(Ordering::SeqCst) == 1).await;
    rename(&outbox, "claimstream_queue", "claimstream_away").await;
    go_on.add_permits(1);
    (outbox, running, begun)
}

/// Counts each message and waits for a permit.
fn waiting(begun: &Arc<AtomicUsize>, go_on: &Arc<Semaphore>) -> impl Handler + use<> {
    let (begun, go_on) = (begun.clone(), go_on.clone());
    handler_fn(move |_| {
        begun.fetch_add(1, Ordering::SeqCst);
        let go_on = go_on.clone();
        async move {
            go_on.acquire().await.expect("a permit").forget();
            Verdict::ack()
        }
    })
}

async fn open(venue: &SeaOrmVenue) -> (SeaOrmOutbox, QueueName) {
    let url = venue.fresh_database().await.expect("a database");
    (venue.open(&url, None).await.expect("open"), Stage::fresh_queue())
}

async fn send(outbox: &SeaOrmOutbox, queue: &QueueName) {
    let message = NewMessage::json(queue.clone(), &7).expect("a message");
    outbox.enqueue_now(&[message]).await.expect("enqueue");
}

async fn rename(outbox: &SeaOrmOutbox, from: &str, to: &str) {
    let rename = format!("ALTER TABLE {from} RENAME TO {to}");
    outbox.connection().execute_unprepared(&rename).await.expect("a table renamed");
}

fn fails(monitor: &PipelineMonitor, times: u32) -> bool {
    matches!(monitor.state(), PipelineState::Failing { failures, .. } if failures >= times)
}

async fn until(what: &str, is_so: impl Fn() -> bool) {
    let waiting = async {
        while !is_so() {
            sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(timeout(LATE, waiting).await.is_ok(), "in vain until {what}");
}

/// A pipeline in a task.
struct Running {
    monitor: PipelineMonitor,
    stop: oneshot::Sender<()>,
    task: tokio::task::JoinHandle<Result<PipelineReport, RelayError>>,
}

impl Running {
    fn start(outbox: &SeaOrmOutbox, queue: &QueueName, handler: impl Handler + 'static) -> Self {
        Self::start_with(outbox, queue, handler, RetryPolicy::default())
    }

    fn start_with(
        outbox: &SeaOrmOutbox,
        queue: &QueueName,
        handler: impl Handler + 'static,
        retry: RetryPolicy,
    ) -> Self {
        let config = RelayConfig {
            // Longer than the trial, so that nothing comes back by itself.
            lease: Lease::new(2 * LATE).expect("a lease"),
            drain: Duration::from_secs(1),
            pacing: Pacing { idle_max: Duration::from_millis(200), ..Pacing::default() },
            retry,
            ..RelayConfig::default()
        };
        let relay = Relay::new(Arc::new(outbox.clone()), TokioTimer::new(), config);
        let pipeline = relay.pipeline(queue.clone(), handler).expect("a pipeline");
        let monitor = pipeline.monitor();
        let (stop, stopped) = oneshot::channel::<()>();
        let task = tokio::spawn(pipeline.run_until(async move {
            let _ = stopped.await;
        }));
        Self { monitor, stop, task }
    }

    async fn stop(self) -> PipelineReport {
        let _ = self.stop.send(());
        timeout(LATE, self.task).await.expect("an end in time").expect("no panic").expect("a report")
    }
}
