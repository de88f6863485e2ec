use std::{
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard},
};

use async_trait::async_trait;
use claimstream_domain::{
    Claimed, MessageId, NewMessage, Reason, RetryPolicy, Verdict,
    notification::{
        Channel, DeliveryStatus, NotificationMessage, NotificationRecord, NotificationRequest, Recipient,
        RecipientReference, RequestStatus, Template, request_message,
    },
};
use claimstream_ports::{
    StoreError,
    notification::{
        Cancelled, ChannelProvider, Delivered, DeliveryError, MessageOutcome, MessageRepository,
        OpenedRequest, RecipientDirectory, RequestRepository, TemplateSource,
    },
};
use futures::pending;
use uuid::Uuid;

use super::{
    super::{
        MESSAGE_QUEUE, MessageConfig, MessageHandler, Providers, REQUEST_QUEUE, RequestConfig, RequestHandler,
    },
    fixture::{claimed, reachable},
};

/// A store, a directory and a provider in one, for one request. Every call stops once before and once after its effect,
/// so that a test can crash there.
#[derive(Clone)]
pub(super) struct World(Arc<Mutex<State>>);

struct State {
    request: NotificationRequest,
    status: RequestStatus,
    /// The members of the segment `all`, by user id; they may repeat.
    members: Vec<String>,
    records: HashMap<Uuid, DeliveryStatus>,
    queues: BTreeMap<&'static str, VecDeque<Waiting>>,
    known: HashSet<MessageId>,
    enqueued: HashMap<Uuid, u32>,
    delivered: HashMap<Uuid, u32>,
    dead: u32,
}

struct Waiting {
    message: NewMessage,
    attempts: u32,
}

impl World {
    /// A request that has been submitted, to `members` and on its channels.
    pub(super) fn new(request: NotificationRequest, members: Vec<String>) -> Self {
        let first = request_message(&request).expect("a good request");
        let world = Self(Arc::new(Mutex::new(State {
            request,
            status: RequestStatus::Pending,
            members,
            records: HashMap::new(),
            queues: BTreeMap::new(),
            known: HashSet::new(),
            enqueued: HashMap::new(),
            delivered: HashMap::new(),
            dead: 0,
        })));
        world.state().enqueue(vec![first]);
        world
    }

    /// A handler that makes at most so many attempts at a chunk.
    pub(super) fn fan_out(&self, chunk: u32, max_attempts: u32) -> RequestHandler {
        let port = || Arc::new(self.clone());
        let retry = RetryPolicy { max_attempts, ..RetryPolicy::default() };
        let config = RequestConfig { chunk, retry };
        RequestHandler::new(port(), port(), port(), port(), config).expect("a good configuration")
    }

    pub(super) fn delivery(&self) -> MessageHandler {
        let port = || Arc::new(self.clone());
        let providers = Providers::new().with(Channel::Email, port()).with(Channel::Push, port());
        let retry = RetryPolicy { max_attempts: u32::MAX, ..RetryPolicy::default() };
        MessageHandler::new(port(), providers, MessageConfig { retry }).expect("a good configuration")
    }

    /// Takes the next message of a queue; it stays there until it is settled, and goes to the end if it is not.
    pub(super) fn claim(&self, queue: &'static str) -> Option<Claimed> {
        let mut state = self.state();
        let waiting = state.queues.get_mut(queue)?;
        let mut next = waiting.pop_front()?;
        next.attempts += 1;
        let mut taken = claimed(queue, next.message.payload.clone(), next.attempts);
        taken.message.id = next.message.id;
        taken.receipt.message = next.message.id;
        waiting.push_back(next);
        Some(taken)
    }

    /// Accepts an ack or a burial: the message goes and its children come, in one step.
    pub(super) fn accept(&self, claimed: &Claimed, verdict: Verdict) {
        let mut state = self.state();
        let id = claimed.message.id;
        for waiting in state.queues.values_mut() {
            waiting.retain(|waiting| waiting.message.id != id);
        }
        state.known.remove(&id);
        match verdict {
            Verdict::Ack { emit } => state.enqueue(emit),
            Verdict::Bury { .. } => state.dead += 1,
            other => panic!("neither an ack nor a burial: {other:?}"),
        }
    }

    /// How many messages were buried.
    pub(super) fn dead(&self) -> u32 {
        self.state().dead
    }

    pub(super) fn status(&self) -> RequestStatus {
        self.state().status
    }

    /// How often each notification was enqueued by an accepted ack.
    pub(super) fn enqueued(&self) -> HashMap<Uuid, u32> {
        self.state().enqueued.clone()
    }

    /// How often each notification was delivered.
    pub(super) fn delivered(&self) -> HashMap<Uuid, u32> {
        self.state().delivered.clone()
    }

    pub(super) fn records(&self) -> HashMap<Uuid, DeliveryStatus> {
        self.state().records.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no panic elsewhere")
    }

    async fn call<T>(&self, effect: impl FnOnce(&mut State) -> T + Send) -> Result<T, StoreError> {
        pending!();
        let value = effect(&mut self.state());
        pending!();
        Ok(value)
    }
}

impl State {
    /// Enqueues the messages that are not there yet, as a store does.
    fn enqueue(&mut self, messages: Vec<NewMessage>) {
        for message in messages.into_iter() {
            if !self.known.insert(message.id) {
                continue;
            }
            let queue = match message.queue.as_str() {
                REQUEST_QUEUE => REQUEST_QUEUE,
                _ => MESSAGE_QUEUE,
            };
            if queue == MESSAGE_QUEUE {
                *self.enqueued.entry(message.id.uuid()).or_default() += 1;
            }
            self.queues.entry(queue).or_default().push_back(Waiting { message, attempts: 0 });
        }
    }
}

#[async_trait]
impl RequestRepository for World {
    async fn open(&self, _: Uuid) -> Result<Option<OpenedRequest>, StoreError> {
        self.call(|state| {
            if state.status == RequestStatus::Pending {
                state.status = RequestStatus::Processing;
            }
            Some(OpenedRequest { request: state.request.clone(), status: state.status })
        })
        .await
    }

    async fn close(&self, _: Uuid, failure: Option<Reason>) -> Result<(), StoreError> {
        self.call(|state| match (state.status, failure) {
            (RequestStatus::Processing, None) => state.status = RequestStatus::Dispatched,
            (RequestStatus::Processing, Some(_)) => state.status = RequestStatus::Failed,
            _ => (),
        })
        .await
    }

    async fn reopen(&self, _: Uuid) -> Result<(), StoreError> {
        self.call(|state| {
            if state.status == RequestStatus::Failed {
                state.status = RequestStatus::Processing;
            }
        })
        .await
    }

    async fn cancel(&self, _: Uuid) -> Result<Cancelled, StoreError> {
        Ok(Cancelled::Unknown)
    }
}

#[async_trait]
impl MessageRepository for World {
    async fn record(&self, records: &[NotificationRecord]) -> Result<Vec<DeliveryStatus>, StoreError> {
        self.call(|state| {
            let mut keep = |r: &NotificationRecord| *state.records.entry(r.id).or_insert(r.status);
            records.iter().map(&mut keep).collect()
        })
        .await
    }

    async fn status(&self, ids: &[Uuid]) -> Result<Vec<Option<DeliveryStatus>>, StoreError> {
        self.call(|state| ids.iter().map(|id| state.records.get(id).copied()).collect()).await
    }

    async fn conclude(&self, outcomes: &[MessageOutcome]) -> Result<(), StoreError> {
        self.call(|state| {
            for outcome in outcomes {
                let record = state.records.get_mut(&outcome.id);
                if let Some(status @ DeliveryStatus::Pending) = record {
                    *status = outcome.status;
                }
            }
        })
        .await
    }

    async fn reopen(&self, id: Uuid) -> Result<(), StoreError> {
        self.call(|state| {
            if let Some(status @ DeliveryStatus::Failed) = state.records.get_mut(&id) {
                *status = DeliveryStatus::Pending;
            }
        })
        .await
    }
}

#[async_trait]
impl RecipientDirectory for World {
    async fn resolve(
        &self,
        _: &RecipientReference,
        offset: u64,
        limit: u32,
    ) -> Result<Option<Vec<Recipient>>, StoreError> {
        self.call(|state| {
            let page = state.members.iter().skip(offset as usize).take(limit as usize);
            Some(page.map(|id| reachable(id)).collect())
        })
        .await
    }
}

#[async_trait]
impl TemplateSource for World {
    async fn template(&self, _: &str, _: Channel, _: Option<String>) -> Result<Option<Template>, StoreError> {
        Ok(None)
    }
}

#[async_trait]
impl ChannelProvider for World {
    async fn deliver(&self, message: &NotificationMessage) -> Result<Delivered, DeliveryError> {
        *self.state().delivered.entry(message.id).or_default() += 1;
        Ok(Delivered::default())
    }
}
