use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use claimstream_domain::{
    DedupKey, Enqueued, Headers, MessageId, NewMessage, OrderingKey, Payload, PayloadLimit, QueueName,
    ShardCount, Timestamp, notification::NotificationRequest,
};
use claimstream_ports::{DistributedLock, MessageRepository, NotificationReports, RequestRepository};
use futures::future::BoxFuture;
use uuid::Uuid;

use crate::{Begin, Instance, Ports, StepTransaction, SubmitTransaction};

/// What a clause plays on: two instances on connections of their own, one database, an empty queue, and time that is
/// moved by hand.
pub struct Stage {
    /// One instance.
    pub store: Instance,
    /// The other one.
    pub rival: Instance,
    /// What the store takes and how it cuts queues.
    pub facts: Facts,
    opener: Option<Opener>,
    clock: Arc<dyn Clock>,
    prefix: Uuid,
    messages: AtomicU64,
    opened: AtomicU64,
}

/// Opens one more instance's ports on a stage's database, with its clock.
pub type Opener = Arc<dyn Fn() -> BoxFuture<'static, Ports> + Send + Sync>;

/// What a clause has to know about a store.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// Into how many shards a queue is cut.
    pub shards: ShardCount,
    /// The largest payload.
    pub payload_limit: PayloadLimit,
}

/// The clock of a stage's store: it stands still until it is moved, for every connection of the stage at once.
#[async_trait]
pub trait Clock: Send + Sync {
    /// What it shows.
    fn now(&self) -> Timestamp;

    /// Moves it.
    async fn advance(&self, by: Duration);
}

/// A stage of a store that keeps notification requests; its queue is the one that requests go to.
pub struct NotificationStage {
    /// The outbox beneath.
    pub outbox: Stage,
    /// The first instance's ports.
    pub store: NotificationPorts,
    /// The second instance's ports.
    pub rival: NotificationPorts,
}

/// The notification ports on one instance's connections.
#[derive(Clone)]
pub struct NotificationPorts {
    /// Requests.
    pub requests: Arc<dyn RequestRepository>,
    /// Messages.
    pub messages: Arc<dyn MessageRepository>,
    /// Answers to people.
    pub reports: Arc<dyn NotificationReports>,
    /// Transactions that take requests in.
    pub transactions: Arc<dyn Begin<dyn SubmitTransaction>>,
}

impl NotificationPorts {
    /// Hands requests in and commits.
    pub async fn submit(&self, requests: &[NotificationRequest]) -> Vec<Enqueued> {
        let tx = self.transactions.begin().await.expect("begin");
        let answers = tx.submit(requests).await.expect("submit");
        tx.commit().await.expect("commit");
        answers
    }
}

/// A stage of a store that has a step ledger.
pub struct StepStage {
    /// The outbox beneath.
    pub outbox: Stage,
    /// The first instance's transactions.
    pub store: Arc<dyn Begin<dyn StepTransaction>>,
    /// The second instance's transactions.
    pub rival: Arc<dyn Begin<dyn StepTransaction>>,
}

/// A stage of a store that has locks.
pub struct LockStage {
    /// The first instance's locks.
    pub store: Arc<dyn DistributedLock>,
    /// The second instance's locks.
    pub rival: Arc<dyn DistributedLock>,
    /// The least time that its clock can be moved by.
    pub grain: Duration,
    clock: Arc<dyn Clock>,
    prefix: Uuid,
}

impl Stage {
    /// When time stands still at first; long past, so that a store that looks at the host's clock is found out.
    pub const START: &str = "2021-03-04T05:06:07.000008Z";

    /// A stage on `queue`, which is empty; the two sets of ports use different connections.
    pub fn new(store: Ports, rival: Ports, queue: QueueName, facts: Facts, clock: Arc<dyn Clock>) -> Self {
        let patience = 2 * u32::from(facts.shards.get()) + 2;
        Self {
            store: Instance::new(11, store, queue.clone(), patience),
            rival: Instance::new(22, rival, queue, patience),
            facts,
            opener: None,
            clock,
            prefix: Uuid::now_v7(),
            messages: AtomicU64::new(1),
            opened: AtomicU64::new(1000),
        }
    }

    /// The same on which more instances can be opened.
    pub fn with_opener(self, opener: Opener) -> Self {
        Self { opener: Some(opener), ..self }
    }

    /// One more instance, on connections of its own, as a process has that takes another's place.
    pub async fn another(&self) -> Instance {
        let open = self.opener.as_ref().expect("a stage on which instances can be opened");
        self.store.of(self.opened.fetch_add(1, Ordering::SeqCst), open().await)
    }

    /// A queue name that nobody else uses.
    pub fn fresh_queue() -> QueueName {
        QueueName::new(&format!("q-{}", Uuid::now_v7().simple())).expect("a valid name")
    }

    /// The moment that stages begin at.
    pub fn start() -> Timestamp {
        Self::START.parse().expect("a valid time")
    }

    /// The queue of both instances.
    pub fn queue(&self) -> &QueueName {
        self.store.queue()
    }

    /// What the store's clock shows.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The moment `micros` from now, which may be negative.
    pub fn moment(&self, micros: i64) -> Timestamp {
        Timestamp::from_micros(self.now().as_micros() + micros).expect("a moment")
    }

    /// Moves time.
    pub async fn advance(&self, by: Duration) {
        self.clock.advance(by).await;
    }

    /// A message unlike any other, in one shard with all others of the stage.
    pub fn message(&self) -> NewMessage {
        let (id, n) = self.next_id();
        let mut headers = Headers::new();
        headers.insert("x-number", &format!("header {n}")).expect("a valid header");
        let payload = Payload::new("text/plain", format!("payload {n}").into_bytes()).expect("a payload");
        NewMessage::new(id, self.queue().clone(), payload)
            .ordered_by(OrderingKey::new("account-7").expect("a key"))
            .with_headers(headers)
    }

    /// A message that goes to a shard of its own choice.
    pub fn loose_message(&self) -> NewMessage {
        NewMessage { ordering_key: None, ..self.message() }
    }

    /// A message that is to be the only one with this key.
    pub fn unique_message(&self, key: &str) -> NewMessage {
        self.message().unique_by(DedupKey::new(key).expect("a key"))
    }

    /// A message with `len` bytes to carry.
    pub fn message_of(&self, len: usize) -> NewMessage {
        let bytes = (0..len).map(|n| (n % 251) as u8).collect();
        let payload = Payload::new("application/octet-stream", bytes).expect("a payload");
        NewMessage { payload, ..self.message() }
    }

    /// Enqueues `count` messages, each due one microsecond after the one before, and says which; the last is due as well.
    pub async fn enqueue(&self, count: usize) -> Vec<MessageId> {
        let due = |n| self.message().deliver_at(self.moment(n));
        let messages: Vec<NewMessage> = (0..count as i64).map(due).collect();
        self.store.enqueue(&messages).await;
        self.advance(Duration::from_micros(count as u64)).await;
        messages.iter().map(|message| message.id).collect()
    }

    fn next_id(&self) -> (MessageId, u64) {
        let n = self.messages.fetch_add(1, Ordering::SeqCst);
        (MessageId::new(numbered(self.prefix, n)), n)
    }
}

impl LockStage {
    /// A stage; the two locks use different connections.
    pub fn new(
        store: Arc<dyn DistributedLock>,
        rival: Arc<dyn DistributedLock>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { store, rival, grain: Duration::from_micros(1), clock, prefix: Uuid::now_v7() }
    }

    /// The same on a clock that is moved by no less than `grain`.
    pub fn with_grain(self, grain: Duration) -> Self {
        Self { grain, ..self }
    }

    /// A key that no other stage uses.
    pub fn key(&self, name: &str) -> String {
        format!("{}/{name}", self.prefix.simple())
    }

    /// Moves time.
    pub async fn advance(&self, by: Duration) {
        self.clock.advance(by).await;
    }
}

/// The `n`-th id that begins like `prefix`; a larger number is a larger id.
fn numbered(prefix: Uuid, n: u64) -> Uuid {
    let (high, low) = prefix.as_u64_pair();
    Uuid::from_u64_pair(high, (low & 0xffff_ffff_0000_0000) | n)
}
