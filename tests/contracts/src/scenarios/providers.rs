//! Messages whose providers fail, attempt by attempt.
//! Promise: a message is tried again after 30 s, 60 s and so on, at most eleven times (A1.9), on every store

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use claimstream_domain::{
    Jitter, QueueName, RetryPolicy, Settled, decide,
    notification::{
        Channel, DeliveryStatus, NotificationMessage, NotificationRecord, NotificationRequest,
        RecipientReference, RequestStatus, SegmentPlace,
    },
};
use claimstream_memory::MemoryTemplates;
use claimstream_notifications::{
    MESSAGE_QUEUE, MessageConfig, MessageHandler, Providers, RequestConfig, RequestHandler,
};
use claimstream_ports::{
    Handler, StoreError, StoreErrorKind,
    notification::{ChannelProvider, Delivered, DeliveryError, FoundUsers, RecipientDirectory, SegmentPage},
};
use uuid::Uuid;

use crate::{
    Instance, NotificationFixture,
    fixture::{fan_out_to, mail_to},
    suite::{Case, cases},
};

pub const SCENARIOS: &[Case<NotificationFixture>] = cases!["scenarios" needs [Notifications]:
    a1_9_503_503_ok_is_three_attempts_after_30_and_60_seconds,
    a1_9_a_refusal_for_good_fails_the_message_at_its_first_attempt,
    a1_9_the_eleventh_passing_failure_is_dead,
    a1_9_while_the_primary_is_down_the_secondary_delivers_the_same_message_within_the_attempt,
    a1_9_the_sixth_failure_of_a_request_fails_it_and_its_message_is_dead,
];

pub async fn a1_9_503_503_ok_is_three_attempts_after_30_and_60_seconds(fixture: NotificationFixture) {
    let provider = Provider::answering([Err(busy()), Err(busy()), delivered()]);
    let sending = Sending::begin(&fixture, &[&provider]).await;
    sending.attempt(1).await;
    sending.waits(Duration::from_secs(30)).await;
    sending.attempt(2).await;
    sending.waits(Duration::from_secs(60)).await;
    sending.attempt(3).await;
    let record = sending.record().await;
    assert_eq!((record.status, record.reference.as_deref()), (DeliveryStatus::Delivered, Some("it")));
    assert_eq!(provider.asked().len(), 3);
    assert_eq!(sending.rival.status().await.map_or(0, |status| status.depth), 0);
}

pub async fn a1_9_a_refusal_for_good_fails_the_message_at_its_first_attempt(fixture: NotificationFixture) {
    let provider = Provider::answering([Err(DeliveryError::permanent("HTTP 400"))]);
    let sending = Sending::begin(&fixture, &[&provider]).await;
    sending.attempt(1).await;
    let record = sending.record().await;
    assert_eq!(record.status, DeliveryStatus::Failed);
    assert!(record.reason.is_some_and(|reason| reason.as_str().contains("HTTP 400")));
    assert_eq!((provider.asked().len(), sending.rival.dead().await.len()), (1, 1));
}

pub async fn a1_9_the_eleventh_passing_failure_is_dead(fixture: NotificationFixture) {
    let provider = Provider::answering((0..11).map(|_| Err(busy())));
    let sending = Sending::begin(&fixture, &[&provider]).await;
    for attempt in 1..=10 {
        sending.attempt(attempt).await;
        sending.waits(Duration::from_secs(30 << (attempt - 1))).await;
    }
    assert_eq!(sending.record().await.status, DeliveryStatus::Pending);
    sending.attempt(11).await;
    assert_eq!(sending.record().await.status, DeliveryStatus::Failed);
    let dead = sending.rival.dead().await;
    assert_eq!((dead.len(), provider.asked().len()), (1, 11));
}

pub async fn a1_9_while_the_primary_is_down_the_secondary_delivers_the_same_message_within_the_attempt(
    fixture: NotificationFixture,
) {
    let primary = Provider::answering([Err(busy())]);
    let secondary = Provider::answering([delivered()]);
    let sending = Sending::begin(&fixture, &[&primary, &secondary]).await;
    sending.attempt(1).await;
    assert_eq!(sending.record().await.status, DeliveryStatus::Delivered);
    assert_eq!(primary.asked(), secondary.asked());
    assert_eq!(secondary.asked(), [sending.record().await.id]);
}

pub async fn a1_9_the_sixth_failure_of_a_request_fails_it_and_its_message_is_dead(
    fixture: NotificationFixture,
) {
    let request = mail_to(RecipientReference::User { user: "u-1".into() });
    fixture.store.submit(std::slice::from_ref(&request)).await;
    let retry = RetryPolicy { jitter: Jitter::None, ..RequestConfig::default().retry };
    let config = RequestConfig { retry, ..RequestConfig::default() };
    let (ports, pipeline) = (&fixture.store, config.pipeline_retry());
    let (directory, templates) = (Arc::new(NoDirectory::default()), Arc::new(MemoryTemplates::new("en")));
    let asked = directory.0.clone();
    let fan_out =
        RequestHandler::new(ports.requests.clone(), ports.messages.clone(), directory, templates, config);
    let fan_out = fan_out.expect("a handler");
    let (store, rival) = (&fixture.outbox.store, &fixture.outbox.rival);
    for attempt in 1..=5 {
        handle(store, &fan_out, attempt, &pipeline).await;
        waits(&fixture, rival, Duration::from_secs(30 << (attempt - 1))).await;
        let progress = ports.reports.progress(request.id).await.expect("progress").expect("a request");
        assert_eq!(progress.status(), RequestStatus::Pending);
    }
    handle(store, &fan_out, 6, &pipeline).await;
    let progress = fixture.rival.reports.progress(request.id).await.expect("progress").expect("a request");
    assert_eq!((progress.status(), progress.total()), (RequestStatus::Failed, 0));
    assert!(progress.reason.is_some_and(|reason| reason.contains("no directory today")));
    assert_eq!((rival.dead().await.len(), asked.load(Ordering::SeqCst)), (1, 6));
}

/// A directory that is never there, and how often it was asked.
#[derive(Default)]
struct NoDirectory(Arc<AtomicU32>);

#[async_trait]
impl RecipientDirectory for NoDirectory {
    async fn users(&self, _: &[String]) -> Result<FoundUsers, StoreError> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Err(StoreError::new(StoreErrorKind::Unavailable, "users", "no directory today"))
    }

    async fn members(&self, _: &str, _: &SegmentPlace, _: u32) -> Result<Option<SegmentPage>, StoreError> {
        Ok(None)
    }
}

/// A message on its way, with the handler that tries it.
struct Sending<'a> {
    fixture: &'a NotificationFixture,
    request: NotificationRequest,
    store: Instance,
    rival: Instance,
    handler: MessageHandler,
    retry: RetryPolicy,
}

impl<'a> Sending<'a> {
    /// A request of one recipient that is fanned out.
    async fn begin(fixture: &'a NotificationFixture, providers: &[&Provider]) -> Self {
        let request = mail_to(RecipientReference::User { user: "u-1".into() });
        fixture.store.submit(std::slice::from_ref(&request)).await;
        let ports = &fixture.store;
        let fan_out = fan_out_to("u-1", ports.requests.clone(), ports.messages.clone());
        handle(&fixture.outbox.store, &fan_out, 1, &RetryPolicy::default()).await;
        let add = |all: Providers, one: &&Provider| all.with(Channel::Email, Arc::new((*one).clone()));
        let providers = providers.iter().fold(Providers::new(), add);
        let usual = MessageConfig::default().retry;
        let config = MessageConfig { retry: RetryPolicy { jitter: Jitter::None, ..usual } };
        let retry = config.pipeline_retry();
        let queue = QueueName::new(MESSAGE_QUEUE).expect("a queue name");
        Self {
            request,
            store: fixture.outbox.store.on(&queue),
            rival: fixture.outbox.rival.on(&queue),
            handler: MessageHandler::new(ports.messages.clone(), providers, config).expect("a handler"),
            retry,
            fixture,
        }
    }

    /// One attempt, which is this one.
    async fn attempt(&self, number: u32) {
        handle(&self.store, &self.handler, number, &self.retry).await;
    }

    /// The next attempt begins after this time and not before.
    async fn waits(&self, time: Duration) {
        waits(self.fixture, &self.rival, time).await;
    }

    async fn record(&self) -> NotificationRecord {
        let reports = &self.fixture.rival.reports;
        let mut records = reports.messages(self.request.id, None, 2).await.expect("messages");
        assert_eq!(records.len(), 1);
        records.remove(0)
    }
}

/// Something is due after this time and not before.
async fn waits(fixture: &NotificationFixture, rival: &Instance, time: Duration) {
    fixture.outbox.advance(time - Duration::from_secs(1)).await;
    rival.finds_nothing().await;
    fixture.outbox.advance(Duration::from_secs(1)).await;
}

async fn handle(side: &Instance, handler: &dyn Handler, attempt: u32, retry: &RetryPolicy) {
    let claimed = side.take_one().await;
    assert_eq!(claimed.attempt, attempt);
    let disposition = decide(handler.handle(&claimed).await, attempt, retry, 0);
    assert_eq!(side.settle(&claimed.receipt, disposition).await, Settled::Accepted);
}

/// A provider that answers as it is written down.
#[derive(Clone)]
struct Provider {
    answers: Arc<Mutex<VecDeque<Result<Delivered, DeliveryError>>>>,
    asked: Arc<Mutex<Vec<Uuid>>>,
}

impl Provider {
    fn answering(answers: impl IntoIterator<Item = Result<Delivered, DeliveryError>>) -> Self {
        Self { answers: Arc::new(Mutex::new(answers.into_iter().collect())), asked: Arc::default() }
    }

    /// The messages that it was asked to deliver, in order.
    fn asked(&self) -> Vec<Uuid> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[async_trait]
impl ChannelProvider for Provider {
    async fn deliver(&self, message: &NotificationMessage) -> Result<Delivered, DeliveryError> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(message.id);
        let next = self.answers.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        next.expect("no more answers than were written down")
    }
}

fn busy() -> DeliveryError {
    DeliveryError::transient("HTTP 503")
}

fn delivered() -> Result<Delivered, DeliveryError> {
    Ok(Delivered { reference: Some("it".into()) })
}
