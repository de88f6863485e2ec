use std::{
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    future::poll_fn,
    sync::{Arc, Mutex, MutexGuard},
    task::Poll,
    time::Duration,
};

use async_trait::async_trait;
use claimstream_domain::{
    Claimed, MessageId, NewMessage, RetryPolicy, Verdict,
    notification::{
        Channel, DeliveryStatus, NotificationMessage, NotificationRecord, NotificationRequest, RequestStatus,
        SegmentPlace, TemplateVersion, request_message,
    },
};
use claimstream_ports::{
    StoreError,
    notification::{
        Cancelled, ChannelProvider, Delivered, DeliveryError, DeliveryState, FanOutStep, FoundUsers,
        MessageOutcome, MessageRepository, MissingRecord, RecipientDirectory, RequestRead, RequestRepository,
        SegmentPage, StepNoted, TemplateSource, restoring,
    },
};
use uuid::Uuid;

use super::{
    super::{
        MESSAGE_QUEUE, MessageConfig, MessageHandler, Providers, REQUEST_QUEUE, RequestConfig, RequestHandler,
    },
    fixture::{claimed, reachable},
};

/// A store, a directory and a provider in one. Every call stops once before and once after its effect,
/// so that a test can crash there.
#[derive(Clone)]
pub(super) struct World(Arc<Mutex<State>>);

struct State {
    requests: BTreeMap<Uuid, RequestRead>,
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
    /// Requests that have been submitted, to `members` and on their channels.
    pub(super) fn new(requests: Vec<NotificationRequest>, members: Vec<String>) -> Self {
        let first =
            requests.iter().map(|request| request_message(request).expect("a good request")).collect();
        let pending = |request: NotificationRequest| RequestRead { request, status: RequestStatus::Pending };
        let world = Self(Arc::new(Mutex::new(State {
            requests: requests.into_iter().map(|request| (request.id, pending(request))).collect(),
            members,
            records: HashMap::new(),
            queues: BTreeMap::new(),
            known: HashSet::new(),
            enqueued: HashMap::new(),
            delivered: HashMap::new(),
            dead: 0,
        })));
        world.state().enqueue(first);
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

    /// Takes the next messages of a queue, at most so many; they stay there until they are settled, and go to the end if they
    /// are not.
    pub(super) fn claim(&self, queue: &'static str, most: usize) -> Vec<Claimed> {
        let mut state = self.state();
        let Some(waiting) = state.queues.get_mut(queue) else { return Vec::new() };
        let count = most.min(waiting.len());
        let take = |next: &mut Waiting| {
            next.attempts += 1;
            let mut taken = claimed(queue, next.message.payload.clone(), next.attempts);
            taken.message.id = next.message.id;
            taken.receipt.message = next.message.id;
            taken
        };
        let taken = waiting.iter_mut().take(count).map(take).collect();
        waiting.rotate_left(count);
        taken
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

    /// Where each request stands.
    pub(super) fn statuses(&self) -> Vec<RequestStatus> {
        self.state().requests.values().map(|read| read.status).collect()
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
        stop().await;
        let value = effect(&mut self.state());
        stop().await;
        Ok(value)
    }
}

/// Waits for the next poll.
async fn stop() {
    let mut stopped = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut stopped, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await
}

impl State {
    /// Notes a step of a fan-out.
    fn note(&mut self, step: &FanOutStep) -> StepNoted {
        let Some(read) = self.requests.get_mut(&step.request) else {
            return StepNoted { status: None, records: vec![], outdated: false };
        };
        read.status = step.end.moves(read.status, step.takes_up).unwrap_or(read.status);
        let kept = if read.status.has_messages() { &step.records[..] } else { &[] };
        let keep = |r: &NotificationRecord| *self.records.entry(r.id).or_insert(r.status);
        StepNoted { status: Some(read.status), records: kept.iter().map(keep).collect(), outdated: false }
    }

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
    async fn read(&self, ids: &[Uuid]) -> Result<Vec<Option<RequestRead>>, StoreError> {
        self.call(|state| ids.iter().map(|id| state.requests.get(id).cloned()).collect()).await
    }

    async fn note_steps(&self, steps: &[FanOutStep]) -> Result<Vec<StepNoted>, StoreError> {
        self.call(|state| steps.iter().map(|step| state.note(step)).collect()).await
    }

    async fn cancel(&self, _: Uuid) -> Result<Cancelled, StoreError> {
        Ok(Cancelled::Unknown)
    }
}

#[async_trait]
impl MessageRepository for World {
    async fn status(&self, ids: &[Uuid]) -> Result<Vec<Option<DeliveryStatus>>, StoreError> {
        self.call(|state| ids.iter().map(|id| state.records.get(id).copied()).collect()).await
    }

    async fn delivery_states(&self, ids: &[Uuid]) -> Result<Vec<DeliveryState>, StoreError> {
        let known = self.status(ids).await?;
        Ok(known.into_iter().map(|status| DeliveryState { status, in_doubt: Vec::new() }).collect())
    }

    async fn since_1970(&self) -> Result<Duration, StoreError> {
        Ok(Duration::ZERO)
    }

    async fn conclude(&self, outcomes: &[MessageOutcome]) -> Result<(), StoreError> {
        self.call(|state| {
            for outcome in outcomes {
                if let Some(status) = state.records.get_mut(&outcome.id) {
                    *status = status.after(outcome.status).unwrap_or(*status);
                }
            }
        })
        .await
    }

    async fn restore(&self, missing: &[MissingRecord]) -> Result<Vec<Option<DeliveryStatus>>, StoreError> {
        self.call(|state| {
            for step in restoring(missing) {
                let of_step =
                    missing.iter().map(|one| &one.record).filter(|record| record.request_id == step.request);
                state.note(&FanOutStep { records: of_step.cloned().collect(), ..step });
            }
        })
        .await?;
        let ids: Vec<Uuid> = missing.iter().map(|one| one.record.id).collect();
        self.status(&ids).await
    }

    async fn reopen(&self, id: Uuid) -> Result<Option<DeliveryStatus>, StoreError> {
        self.call(|state| {
            let status = state.records.get_mut(&id)?;
            if *status == DeliveryStatus::Failed {
                *status = DeliveryStatus::Pending;
            }
            Some(*status)
        })
        .await
    }
}

#[async_trait]
impl RecipientDirectory for World {
    async fn users(&self, ids: &[String]) -> Result<FoundUsers, StoreError> {
        Ok(vec![None; ids.len()].into())
    }

    async fn members(
        &self,
        _: &str,
        from: &SegmentPlace,
        limit: u32,
    ) -> Result<Option<SegmentPage>, StoreError> {
        let behind: usize = from.key().map_or(0, |key| key.parse().expect("a number"));
        self.call(|state| {
            let page = state.members.iter().skip(behind).take(limit as usize);
            let members: Vec<_> = page.map(|id| reachable(id)).collect();
            let end = behind + members.len();
            let next = (end < state.members.len()).then(|| end.to_string());
            Some(SegmentPage { members, next, ..SegmentPage::default() })
        })
        .await
    }
}

#[async_trait]
impl TemplateSource for World {
    async fn published(&self, _: &str) -> Result<Option<Arc<TemplateVersion>>, StoreError> {
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
