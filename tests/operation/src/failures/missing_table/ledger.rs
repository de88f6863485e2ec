//! A table that handlers write to is away: steps, or records of notifications.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use claimstream::{RelayConfig, RetryPolicy};
use claimstream_domain::{
    QueueName, Timestamp,
    notification::{Channel, Content, NotificationMessage, delivery_message},
    step::StepResult,
    timer_event::{Schedule, SchemeName, Tick},
};
use claimstream_notifications::MESSAGE_QUEUE;
use claimstream_ports::Transactions;
use claimstream_steps::{
    inbox::{Consumer, Inbox, StepError},
    saga::{Saga, SagaConfig, SagaId},
    timer_event::{Alarm, EventScheme, TimerEvents},
};
use claimstream_tokio::TokioTimer;
use uuid::Uuid;

use super::{
    running::Running,
    table::{open, rename, send, until},
    uncounted::{waits_for_table, waits_uncounted},
};
use crate::{backend::SeaOrmBackend, fixture::Deliveries};

pub(super) async fn goes_on_with_a_saga(backend: &SeaOrmBackend) {
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

pub(super) async fn has_effects_later(backend: &SeaOrmBackend) {
    let (outbox, queue) = open(backend).await;
    let store = Arc::new(outbox.clone());
    let inbox = Inbox::new(store, &RelayConfig::default()).expect("an inbox");
    let consumer = Consumer::new("billing").expect("a consumer");
    let handler = inbox.handler(consumer, TokioTimer::new(), |_, _| {
        Box::pin(async { Ok::<_, StepError>(StepResult::default()) })
    });
    for _ in 0..3 {
        send(&outbox, &queue).await;
    }
    waits_uncounted(&outbox, &queue, handler, "claimstream_step").await;
}

pub(super) async fn delivers_later(backend: &SeaOrmBackend) {
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
        category: None,
        priority: Default::default(),
        unsubscribe_url: None,
        time_zone: None,
        content: Content { title: Some("news".into()), ..Content::default() },
        sender: None,
        expires_at: None,
        digest: None,
        traceparent: None,
    }
}

pub(super) async fn ticks_later(backend: &SeaOrmBackend) {
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
    let running = waits_for_table(&outbox, &queue, timer, "claimstream_step", 4).await;
    until("the decision is made", || decided.load(Ordering::SeqCst) == 1).await;
    assert_eq!(running.stop().await.buried, 0);
}
