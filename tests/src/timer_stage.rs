use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use claimstream_domain::{
    Begun, Due, Enqueued, MessageId, NewMessage, NewStep, Payload, QueueName, Step, StepChange, StepKey,
    Timestamp,
    notification::{Channel, Content, NotificationRequest, RecipientReference, Requester, RequesterKind},
    timer_event::EventStatus,
};
use claimstream_ports::{
    Enqueue, Handler, Lateness, LockWait, Locked, MessageRepository, NotificationReports, RequestRepository,
    StepLedger, StoreError, StoreErrorKind, SubmitRequests, Transactions,
};
use claimstream_sea_orm::SeaOrmOutbox;
use claimstream_steps::timer_event::{
    Alarm, DecisionError, EventScheme, EventStore, FailurePolicy, RowLock, Schedule, Tick, Ticked,
    TimerEvents,
};
use claimstream_tokio::TokioTimer;
use futures::{FutureExt, future::BoxFuture};
use sea_orm::{DatabaseTransaction, IsolationLevel, TransactionTrait};
use uuid::Uuid;

use crate::{Begin, NotificationPorts, Stage, StepTransaction};

/// A stage of a store that timer events can run on, alone in its database; its queue is the timers'.
pub struct TimerStage {
    /// The outbox beneath.
    pub outbox: Stage,
    /// The first instance's.
    pub store: TimerPorts,
    /// The second instance's.
    pub rival: TimerPorts,
    /// On a server, both in transactions at REPEATABLE READ.
    pub repeatable: Option<[Arc<dyn SetUpEvents>; 2]>,
}

/// What timer events are played with on one instance's connections.
#[derive(Clone)]
pub struct TimerPorts {
    /// Sets up timer events.
    pub events: Arc<dyn SetUpEvents>,
    /// Begins transactions in which steps are taken.
    pub steps: Arc<dyn Begin<dyn StepTransaction>>,
    /// Notifications.
    pub notifications: NotificationPorts,
}

impl TimerPorts {
    /// The ports of one store handle.
    pub fn of<S>(store: S) -> Self
    where
        S: EventStore
            + SubmitRequests<S::Tx>
            + RequestRepository
            + MessageRepository
            + NotificationReports
            + Clone
            + 'static,
    {
        let store = Arc::new(store);
        let notifications = NotificationPorts {
            requests: store.clone(),
            messages: store.clone(),
            reports: store.clone(),
            transactions: store.clone(),
        };
        Self { events: store.clone(), steps: store, notifications }
    }
}

/// Sets up timer events on a store.
pub trait SetUpEvents: Send + Sync {
    /// The timer events of one scheme, with their messages in `queue`.
    fn set_up(&self, queue: &QueueName, play: &Play) -> Arc<dyn Events>;
}

/// Timer events, whatever their store.
#[async_trait]
pub trait Events: Handler {
    /// Starts the timers.
    async fn start(&self) -> Result<(), StoreError>;

    /// Makes one tick's visit.
    async fn visit(&self, tick: &Tick) -> Result<Ticked, StoreError>;
}

/// A scheme to be played.
#[derive(Clone)]
pub struct Play {
    /// When.
    pub schedule: Schedule,
    /// What, in this order.
    pub parts: Vec<Part>,
    /// What a failure means.
    pub policy: FailurePolicy,
    /// What keeps runs apart.
    pub row_lock: RowLock,
    /// Whether the alarm is a notification, or a message in the queue [`Play::ALARMS`].
    pub notifies: bool,
    /// What the hook does, if there is one.
    pub hook: Option<Act>,
}

/// A decision to be played. A local one first writes a message with its name into the queue [`Play::EFFECTS`].
#[derive(Clone)]
pub struct Part {
    /// Its name.
    pub name: &'static str,
    /// Whether its effect is elsewhere.
    pub is_remote: bool,
    /// What it does then.
    pub act: Act,
}

/// What a decision does; it is told the key if its effect is elsewhere.
pub type Act = Arc<dyn Fn(Option<Uuid>) -> BoxFuture<'static, Result<(), DecisionError>> + Send + Sync>;

impl Play {
    /// The scheme's name.
    pub const SCHEME: &str = "monthly-bill";
    /// Where effects can be counted.
    pub const EFFECTS: &str = "effects";
    /// Where alarms go.
    pub const ALARMS: &str = "alarms";
    /// How long an event has.
    pub const DEADLINE: Duration = Duration::from_secs(300);
    /// How long to wait after a failure.
    pub const RETRY: Duration = Duration::from_secs(10);

    /// Every ten minutes, these parts; the first failure stops.
    pub fn of(parts: Vec<Part>) -> Self {
        Self {
            schedule: Schedule::every(Duration::from_secs(600)).expect("a schedule"),
            parts,
            policy: FailurePolicy::Stop,
            row_lock: RowLock::None,
            notifies: false,
            hook: None,
        }
    }

    fn scheme<S: EventStore + SubmitRequests<S::Tx> + Clone + 'static>(
        &self,
        store: &S,
    ) -> EventScheme<S::Tx> {
        let alarm = match self.notifies {
            true => Alarm::notification(Arc::new(store.clone()), |timed_out| NotificationRequest {
                content: Some(Content {
                    title: Some(format!("{} timed out", timed_out.scheme)),
                    body: Some(format!("{:?} are unfinished", timed_out.unfinished)),
                    ..Content::default()
                }),
                ..request()
            })
            .expect("an alarm"),
            false => Alarm::to_queue(queue(Self::ALARMS)),
        };
        let name = Self::SCHEME.parse().expect("a name");
        let mut scheme = EventScheme::new(name, self.schedule.clone(), alarm)
            .deadline(Self::DEADLINE)
            .retry_every(Self::RETRY)
            .on_failure(self.policy)
            .row_lock(self.row_lock);
        for part in self.parts.clone() {
            let name = part.name.parse().expect("a name");
            let (store, act) = (store.clone(), part.act);
            scheme = match part.is_remote {
                true => scheme.remote_decision(name, move |_, key| act(Some(key))),
                false => scheme.decision(name, move |tx, _| {
                    let (store, act) = (store.clone(), act.clone());
                    async move {
                        store.enqueue(tx, &[effect(part.name)]).await?;
                        act(None).await
                    }
                    .boxed()
                }),
            };
        }
        if let Some(act) = self.hook.clone() {
            let store = store.clone();
            scheme = scheme.on_timeout(move |tx, _| {
                let (store, act) = (store.clone(), act.clone());
                async move {
                    store.enqueue(tx, &[effect("hook")]).await?;
                    act(None).await
                }
                .boxed()
            });
        }
        scheme
    }
}

impl TimerStage {
    /// The first occurrence of a schedule of every ten minutes.
    pub const FIRST: &str = "2021-03-04T05:10:00Z";

    /// Moves time until this moment.
    pub async fn advance_to(&self, moment: &str) {
        let moment: Timestamp = moment.parse().expect("a moment");
        let by = u64::try_from(moment.as_micros() - self.outbox.now().as_micros()).expect("a later moment");
        self.outbox.advance(Duration::from_micros(by)).await;
    }

    /// The tick of the first occurrence.
    pub fn tick() -> Tick {
        Tick {
            scheme: Play::SCHEME.parse().expect("a name"),
            occurrence: Self::FIRST.parse().expect("a moment"),
        }
    }

    /// The key of the first occurrence's event.
    pub fn event_key() -> StepKey {
        Self::key_of(&Self::tick())
    }

    fn key_of(tick: &Tick) -> StepKey {
        StepKey::new(&format!("timer:{}", tick.scheme), &tick.unique_code(), "").expect("a key")
    }

    /// Goes to the next occurrence, and makes its tick.
    pub async fn next_tick(&self) -> Tick {
        let schedule = Play::of(vec![]).schedule;
        let occurrence = schedule.next_after(self.outbox.now()).expect("a moment");
        self.advance_to(&occurrence.to_string()).await;
        Tick { occurrence, ..Self::tick() }
    }

    /// Where the first occurrence's event stands; `None` if nobody has begun it.
    pub async fn status(&self) -> Option<EventStatus> {
        self.status_of(&Self::tick()).await
    }

    /// Where an event stands.
    pub async fn status_of(&self, tick: &Tick) -> Option<EventStatus> {
        let tx = self.rival.steps.begin().await.expect("begin");
        let found = tx.find_step(&Self::key_of(tick)).await.expect("find");
        tx.roll_back().await.expect("roll back");
        found.map(|step| EventStatus::from_code(step.state).expect("a status"))
    }

    /// Takes all that is in a queue, and tells what was in it as text, in order of the text.
    pub async fn emptied(&self, name: &str) -> Vec<String> {
        let side = self.outbox.rival.on(&queue(name));
        let mut texts = Vec::new();
        for claimed in side.take_all().await {
            side.ack(&claimed).await;
            texts.push(String::from_utf8_lossy(claimed.message.payload.bytes()).into_owned());
        }
        texts.sort();
        texts
    }
}

#[async_trait]
impl<S: EventStore + 'static> Events for TimerEvents<S> {
    async fn start(&self) -> Result<(), StoreError> {
        self.start().await
    }

    async fn visit(&self, tick: &Tick) -> Result<Ticked, StoreError> {
        Ok(self.visit(tick).await?.expect("a scheme that is known"))
    }
}

impl<S: EventStore + SubmitRequests<S::Tx> + Clone + 'static> SetUpEvents for S {
    fn set_up(&self, queue: &QueueName, play: &Play) -> Arc<dyn Events> {
        let events = TimerEvents::new(Arc::new(self.clone()), TokioTimer::new(), queue.clone());
        Arc::new(events.with(play.scheme(self)).expect("a good scheme"))
    }
}

/// An outbox whose transactions for callers are at REPEATABLE READ, as those of an application's own pool may be.
#[derive(Clone)]
pub(crate) struct RepeatableRead(pub(crate) SeaOrmOutbox);

#[async_trait]
impl Transactions for RepeatableRead {
    type Tx = DatabaseTransaction;

    async fn begin_tx(&self) -> Result<DatabaseTransaction, StoreError> {
        let begun = self.0.connection().begin_with_config(Some(IsolationLevel::RepeatableRead), None).await;
        begun.map_err(|e| StoreError::new(StoreErrorKind::Unavailable, "begin", e))
    }

    async fn commit_tx(&self, tx: DatabaseTransaction) -> Result<(), StoreError> {
        self.0.commit_tx(tx).await
    }

    async fn roll_back_tx(&self, tx: DatabaseTransaction) -> Result<(), StoreError> {
        self.0.roll_back_tx(tx).await
    }
}

#[async_trait]
impl StepLedger<DatabaseTransaction> for RepeatableRead {
    async fn begin(&self, tx: &DatabaseTransaction, step: &NewStep) -> Result<Begun, StoreError> {
        StepLedger::begin(&self.0, tx, step).await
    }

    async fn advance(
        &self,
        tx: &DatabaseTransaction,
        key: &StepKey,
        from: &Step,
        change: &StepChange,
    ) -> Result<Option<Step>, StoreError> {
        self.0.advance(tx, key, from, change).await
    }

    async fn find(&self, tx: &DatabaseTransaction, key: &StepKey) -> Result<Option<Step>, StoreError> {
        self.0.find(tx, key).await
    }

    async fn lock(
        &self,
        tx: &DatabaseTransaction,
        key: &StepKey,
        wait: LockWait,
    ) -> Result<Locked, StoreError> {
        self.0.lock(tx, key, wait).await
    }
}

#[async_trait]
impl Enqueue<DatabaseTransaction> for RepeatableRead {
    async fn enqueue(
        &self,
        tx: &DatabaseTransaction,
        all: &[NewMessage],
    ) -> Result<Vec<Enqueued>, StoreError> {
        self.0.enqueue(tx, all).await
    }
}

#[async_trait]
impl SubmitRequests<DatabaseTransaction> for RepeatableRead {
    async fn submit(
        &self,
        tx: &DatabaseTransaction,
        requests: &[NotificationRequest],
    ) -> Result<Vec<Enqueued>, StoreError> {
        self.0.submit(tx, requests).await
    }
}

#[async_trait]
impl Lateness for RepeatableRead {
    async fn late(&self, due: Due) -> Result<Duration, StoreError> {
        self.0.late(due).await
    }
}

/// A queue.
pub(crate) fn queue(name: &str) -> QueueName {
    QueueName::new(name).expect("a queue name")
}

fn effect(name: &str) -> NewMessage {
    NewMessage::new(MessageId::new(Uuid::now_v7()), queue(Play::EFFECTS), Payload::json(name.to_owned()))
}

fn request() -> NotificationRequest {
    NotificationRequest {
        headers: Default::default(),
        id: Uuid::now_v7(),
        requester: Requester { kind: RequesterKind::Service, id: "timers".into() },
        recipients: vec![RecipientReference::User { user: "on-call".into() }],
        channels: vec![Channel::Email],
        content: None,
        template: None,
        scheduled_at: None,
        delay_ms: None,
        memo: None,
    }
}
