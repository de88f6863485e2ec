//! A pipeline whose tables are away for a while, as in a migration that goes wrong and is taken back.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use claimstream::{
    Compose, Handler, Lease, Pacing, PipelineMonitor, PipelineReport, PipelineState, Relay, RelayConfig,
    RelayError, RetryPolicy, Verdict, handler_fn,
};
use claimstream_domain::{
    DeadLetterFilter, Jitter, NewMessage, QueueName, Timestamp,
    notification::{Channel, Content, NotificationMessage, delivery_message},
    step::StepResult,
    timer_event::{Schedule, SchemeName, Tick},
};
use claimstream_notifications::MESSAGE_QUEUE;
use claimstream_ports::{DeadLetters, Observe, Transactions};
use claimstream_sea_orm::SeaOrmOutbox;
use claimstream_steps::{
    inbox::{Consumer, Inbox, Undone},
    saga::{Saga, SagaConfig, SagaId},
    timer_event::{Alarm, EventScheme, TimerEvents},
};
use claimstream_tokio::TokioTimer;
use sea_orm::ConnectionTrait;
use tokio::{
    sync::{Semaphore, oneshot},
    time::{sleep, timeout},
};

use uuid::Uuid;

use crate::{Fixture, Server, Suite, backend::SeaOrmBackend, fixture::Deliveries};

/// Adds it for every store that is here, with each strategy.
pub fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    for strategy in ["preemptive_update", "shard_lease"] {
        add(suite, "sqlite", strategy, move || SeaOrmBackend::sqlite(strategy));
    }
    for server in Server::ALL {
        let Some(url) = server.url(&environment) else { continue };
        for strategy in server.strategies().iter().filter(|strategy| **strategy != "auto") {
            let url = url.clone();
            add(suite, server.name, strategy, move || SeaOrmBackend::server(server.name, &url, strategy));
        }
    }
}

fn add(
    suite: &mut Suite,
    store: &str,
    strategy: &str,
    backend: impl Fn() -> SeaOrmBackend + Clone + Send + 'static,
) {
    let name = |what: &str| format!("{store}::{strategy}::missing_table::{what}");
    let (open, stop) = (backend.clone(), backend.clone());
    suite.add_async_trial(&name("a_pipeline_claims_on_when_the_queue_is_back"), async move {
        claims_on(&open()).await;
    });
    suite.add_async_trial(
        &name("a_pipeline_that_is_stopped_meanwhile_ends_after_its_drain_time"),
        async move {
            ends_after_its_drain_time(&stop()).await;
        },
    );
    let saga = backend.clone();
    suite.add_async_trial(&name("a_saga_goes_on_when_its_steps_are_back"), async move {
        goes_on_with_a_saga(&saga()).await;
    });
    let inbox = backend.clone();
    suite.add_async_trial(&name("an_inbox_uses_up_no_attempts_while_its_steps_are_away"), async move {
        has_effects_later(&inbox()).await;
    });
    let timed = backend.clone();
    suite.add_async_trial(&name("a_timer_uses_up_no_attempts_while_its_steps_are_away"), async move {
        ticks_later(&timed()).await;
    });
    let notified = backend.clone();
    suite.add_async_trial(
        &name("notifications_use_up_no_attempts_while_their_records_are_away"),
        async move {
            delivers_later(&notified()).await;
        },
    );
    suite.add_async_trial(&name("what_was_handled_meanwhile_is_settled_and_not_handled_again"), async move {
        settles_on(&backend()).await;
    });
}

/// No wait takes that long, however busy the machine is.
const LATE: Duration = Duration::from_secs(60);

async fn claims_on(backend: &SeaOrmBackend) {
    let (outbox, queue) = open(backend).await;
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

async fn settles_on(backend: &SeaOrmBackend) {
    let (outbox, running, begun) = handled_meanwhile(backend).await;
    until("claims fail", || fails(&running.monitor, 3)).await;
    rename(&outbox, "claimstream_away", "claimstream_queue").await;
    until("claims are answered", || matches!(running.monitor.state(), PipelineState::Running)).await;
    let report = running.stop().await;
    assert_eq!((begun.load(Ordering::SeqCst), report.acked, report.unsettled), (1, 1, 0));
}

async fn goes_on_with_a_saga(backend: &SeaOrmBackend) {
    let (outbox, queue) = open(backend).await;
    let wait = Duration::from_millis(50);
    let retry = RetryPolicy { base: wait, cap: wait, ..RetryPolicy::default() };
    let place = outbox.clone();
    let saga: Saga<u32, _> = Saga::list(queue.as_str(), outbox.clone(), Arc::new(TokioTimer::new()))
        .at(move |_| place.clone())
        .step("nothing", |_, _| Box::pin(async { Ok(()) }), |_, _| Box::pin(async { Ok(()) }))
        .build(SagaConfig { retry: retry.clone(), ..SagaConfig::default() })
        .expect("a saga");
    let tx = outbox.begin_tx().await.expect("begin");
    saga.submit(&tx, SagaId::new(Uuid::now_v7()), "anna", 7).await.expect("submit");
    outbox.commit_tx(tx).await.expect("commit");
    rename(&outbox, "claimstream_step", "claimstream_away").await;
    let running = Running::start_with(&outbox, &saga.queue(), saga.clone(), saga.config().pipeline_retry());
    until("the saga is put off", || saga.tally().put_off >= 3).await;
    rename(&outbox, "claimstream_away", "claimstream_step").await;
    until("the saga is finished", || saga.tally().finished == 1).await;
    assert_eq!(running.stop().await.buried, 0);
}

/// So few attempts are allowed that each message would be buried if they were counted.
const TWO_ATTEMPTS: RetryPolicy = RetryPolicy {
    base: Duration::from_millis(1),
    cap: Duration::from_millis(1),
    max_attempts: 2,
    jitter: Jitter::None,
};

async fn has_effects_later(backend: &SeaOrmBackend) {
    let (outbox, queue) = open(backend).await;
    let store = Arc::new(outbox.clone());
    let inbox = Inbox::new(store, &RelayConfig::default()).expect("an inbox");
    let consumer = Consumer::new("billing").expect("a consumer");
    let handler = inbox.handler(consumer, TokioTimer::new(), |_, _| {
        Box::pin(async { Ok::<_, Undone>(StepResult::default()) })
    });
    for _ in 0..3 {
        send(&outbox, &queue).await;
    }
    waits_uncounted(&outbox, &queue, handler, "claimstream_step").await;
}

async fn delivers_later(backend: &SeaOrmBackend) {
    let (outbox, _) = open(backend).await;
    let queue = QueueName::new(MESSAGE_QUEUE).expect("a queue name");
    let messages: Vec<_> = (0..3).map(|n| delivery_message(&notification(n)).expect("a message")).collect();
    outbox.enqueue_now(&messages).await.expect("enqueue");
    let deliveries = Deliveries::default();
    let handler = deliveries.handler(Arc::new(outbox.clone()));
    waits_uncounted(&outbox, &queue, handler, "claimstream_notification_message").await;
    assert_eq!(deliveries.of(Uuid::nil()).len(), 3);
}

fn notification(n: u128) -> NotificationMessage {
    NotificationMessage {
        id: Uuid::from_u128(n + 1),
        request_id: Uuid::nil(),
        channel: Channel::Email,
        recipient: "user:anna".into(),
        address: "anna@example.com".into(),
        content: Content { title: Some("news".into()), ..Content::default() },
    }
}

async fn ticks_later(backend: &SeaOrmBackend) {
    const EVERY: Duration = Duration::from_secs(600);
    let (outbox, queue) = open(backend).await;
    let decided = Arc::<AtomicUsize>::default();
    let alarm = Alarm::to_queue(QueueName::new("alarms").expect("a queue name"));
    let scheme: SchemeName = "nightly".parse().expect("a name");
    let events = EventScheme::new(scheme.clone(), Schedule::every(EVERY).expect("a schedule"), alarm);
    let counted = decided.clone();
    let events = events.decision("count".parse().expect("a name"), move |_, _| {
        counted.fetch_add(1, Ordering::SeqCst);
        Box::pin(async { Ok(()) })
    });
    let timer = TimerEvents::new(Arc::new(outbox.clone()), TokioTimer::new(), queue.clone());
    let timer = timer.with(events).expect("a scheme");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_secs();
    let begun = now - now % EVERY.as_secs();
    let occurrence = Timestamp::from_micros(begun as i64 * 1_000_000).expect("a time");
    let tick = Tick { scheme, occurrence }.message(&queue).expect("a message");
    outbox.enqueue_now(&[tick]).await.expect("enqueue");
    let running = in_vain(&outbox, &queue, timer, "claimstream_step", 4).await;
    until("the decision is made", || decided.load(Ordering::SeqCst) == 1).await;
    assert_eq!(running.stop().await.buried, 0);
}

/// Three messages of which each is handled more often than it may be while `table` is away, and is acked when it is back.
async fn waits_uncounted(
    outbox: &SeaOrmOutbox,
    queue: &QueueName,
    handler: impl Handler + 'static,
    table: &str,
) {
    let running = in_vain(outbox, queue, handler, table, 12).await;
    let left =
        || async { outbox.observe().await.expect("a look").iter().any(|one| one.due + one.leased > 0) };
    timeout(LATE, async {
        while left().await {
            sleep(Duration::from_millis(5)).await;
        }
    })
    .await
    .expect("an empty queue");
    let report = running.stop().await;
    assert_eq!((report.acked, report.buried), (3, 0));
}

/// A pipeline that was allowed two attempts at a message and has handled messages so many `times` while `table` was away; now
/// it is back.
async fn in_vain(
    outbox: &SeaOrmOutbox,
    queue: &QueueName,
    handler: impl Handler + 'static,
    table: &str,
    times: usize,
) -> Running {
    rename(outbox, table, "claimstream_away").await;
    let (handler, handled) = (Arc::new(handler), Arc::<AtomicUsize>::default());
    let counting = {
        let handled = handled.clone();
        handler_fn(move |claimed| {
            let handler = handler.clone();
            handled.fetch_add(1, Ordering::SeqCst);
            async move { handler.handle(&claimed).await }
        })
    };
    let running = Running::start_with(outbox, queue, counting, TWO_ATTEMPTS);
    let dead = || async { outbox.list(&DeadLetterFilter::default(), 10).await.expect("dead letters").len() };
    timeout(LATE, async {
        while handled.load(Ordering::SeqCst) < times && dead().await == 0 {
            sleep(Duration::from_millis(5)).await;
        }
    })
    .await
    .expect("four times each");
    assert_eq!(dead().await, 0, "buried for a table that was away");
    rename(outbox, "claimstream_away", table).await;
    running
}

/// The queue stays away: what was handled cannot be settled, and the lease is longer than this trial may take.
async fn ends_after_its_drain_time(backend: &SeaOrmBackend) {
    let (_outbox, running, _) = handled_meanwhile(backend).await;
    until("claims fail", || fails(&running.monitor, 1)).await;
    let report = running.stop().await;
    assert_eq!((report.claimed, report.unsettled), (1, 1));
}

/// A pipeline whose one handler ends when the queue is away, and how many handlers have begun.
async fn handled_meanwhile(backend: &SeaOrmBackend) -> (SeaOrmOutbox, Running, Arc<AtomicUsize>) {
    let (outbox, queue) = open(backend).await;
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

async fn open(backend: &SeaOrmBackend) -> (SeaOrmOutbox, QueueName) {
    let url = backend.fresh_database().await.expect("a database");
    (backend.open(&url, None).await.expect("open"), Fixture::fresh_queue())
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
