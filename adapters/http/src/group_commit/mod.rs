use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
};

use claimstream_domain::notification::{NotificationRequest, Submitted};
use claimstream_ports::{StoreError, notification::BeingTakenIn};
use futures::{StreamExt, stream};
use tokio::{
    sync::{
        Mutex as AsyncMutex,
        mpsc::{self, error::TrySendError},
        oneshot,
    },
    task::JoinSet,
};
use uuid::Uuid;

use crate::intake::Intake;

/// Takes requests of many callers in by few transactions: those that arrive while one commits share the next.
///
/// Each caller gets the answer of its own request, after the commit. A request that the store refuses fails alone. A request
/// that was accepted is carried out even if its caller stops waiting.
pub(crate) struct GroupCommit {
    /// Gone when nothing is accepted any more.
    entries: Mutex<Option<mpsc::Sender<PendingRequest>>>,
    running: Arc<InProgress>,
    writers: AsyncMutex<JoinSet<()>>,
}

/// Why a request was not taken in, or may not have been.
#[derive(Debug, thiserror::Error)]
pub(crate) enum IntakeError {
    #[error("a request of this id is being taken in")]
    InProgress,
    #[error("too many requests wait to be taken in")]
    Full,
    #[error("the server stops")]
    Stopped,
    #[error("the transaction ended without an answer")]
    Lost,
    #[error(transparent)]
    Store(Arc<StoreError>),
}

/// A request on its way, and its caller.
struct PendingRequest {
    request: NotificationRequest,
    bytes: usize,
    caller: Caller,
}

struct Caller {
    answer: oneshot::Sender<Result<Submitted, IntakeError>>,
    /// The id is free again when the answer has been given.
    _mark: Mark,
}

impl GroupCommit {
    /// The most requests of a transaction, and the most bytes of their bodies: one statement carries them.
    const MOST: usize = 100;
    const MOST_BYTES: usize = 1024 * 1024;

    /// Starts writers; `queue` requests wait for them at most.
    pub(crate) fn start(intake: Arc<dyn Intake>, writers: usize, queue: usize) -> Self {
        let (sender, receiver) = mpsc::channel(queue.max(1));
        let receiver = Arc::new(AsyncMutex::new(receiver));
        let mut tasks = JoinSet::new();
        for _ in 0..writers.max(1) {
            tasks.spawn(write_all(Arc::clone(&intake), Arc::clone(&receiver)));
        }
        Self { entries: Mutex::new(Some(sender)), running: Arc::default(), writers: AsyncMutex::new(tasks) }
    }

    /// Takes a request in, together with those of other callers; `bytes` is the length of its body.
    pub(crate) async fn take(
        &self,
        request: NotificationRequest,
        bytes: usize,
    ) -> Result<Submitted, IntakeError> {
        let mark = InProgress::mark(&self.running, request.id).ok_or(IntakeError::InProgress)?;
        let (answer, answered) = oneshot::channel();
        let entry = PendingRequest { request, bytes, caller: Caller { answer, _mark: mark } };
        let sender = self.entries.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match sender.ok_or(IntakeError::Stopped)?.try_send(entry) {
            Ok(()) => answered.await.unwrap_or(Err(IntakeError::Lost)),
            Err(TrySendError::Full(_)) => Err(IntakeError::Full),
            Err(TrySendError::Closed(_)) => Err(IntakeError::Stopped),
        }
    }

    /// Accepts nothing more, and ends when all that was accepted has been answered.
    pub(crate) async fn finish(&self) {
        drop(self.entries.lock().unwrap_or_else(PoisonError::into_inner).take());
        let mut writers = self.writers.lock().await;
        while writers.join_next().await.is_some() {}
    }
}

/// Ids of requests that are being taken in.
#[derive(Default)]
struct InProgress(Mutex<HashSet<Uuid>>);

struct Mark {
    of: Arc<InProgress>,
    id: Uuid,
}

impl InProgress {
    /// Marks an id, unless it is marked.
    fn mark(this: &Arc<Self>, id: Uuid) -> Option<Mark> {
        let new = this.0.lock().unwrap_or_else(PoisonError::into_inner).insert(id);
        new.then(|| Mark { of: Arc::clone(this), id })
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        self.of.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
    }
}

type Entries = Arc<AsyncMutex<mpsc::Receiver<PendingRequest>>>;

async fn write_all(intake: Arc<dyn Intake>, entries: Entries) {
    while let Some(group) = RequestBatch::next(&entries).await {
        // A task of its own: a panic of the store costs this group its answers, and no more.
        let written = tokio::spawn(group.write(Arc::clone(&intake))).await;
        if let Err(lost) = written {
            tracing::error!(%lost, "requests were not taken in: the store panicked");
        }
    }
}

/// Requests of one transaction, and their callers.
#[derive(Default)]
struct RequestBatch {
    requests: Vec<NotificationRequest>,
    callers: Vec<Caller>,
    bytes: usize,
}

impl RequestBatch {
    /// How many requests of a group that was taken apart are taken in at a time.
    const ALONE: usize = 8;

    /// Waits for a request and takes what has gathered behind it; `None` when nothing will come any more.
    async fn next(entries: &AsyncMutex<mpsc::Receiver<PendingRequest>>) -> Option<Self> {
        let mut entries = entries.lock().await;
        let mut group = Self::default();
        group.push(entries.recv().await?);
        while group.requests.len() < GroupCommit::MOST && group.bytes < GroupCommit::MOST_BYTES {
            match entries.try_recv() {
                Ok(entry) => group.push(entry),
                Err(_) => break,
            }
        }
        Some(group)
    }

    fn push(&mut self, PendingRequest { request, bytes, caller }: PendingRequest) {
        self.requests.push(request);
        self.callers.push(caller);
        self.bytes += bytes;
    }

    /// Takes the group in. One that the store refuses for what is in it is halved until the request stands alone that it refuses.
    /// One that meets a request which another transaction takes in is taken apart, so that this request alone waits once more.
    async fn write(self, intake: Arc<dyn Intake>) {
        let mut parts = vec![self];
        while let Some(mut part) = parts.pop() {
            match intake.take(&part.requests).await {
                Ok(taken) => part.answer(taken),
                Err(error) if part.requests.len() > 1 && error.get_ref().is::<BeingTakenIn>() => {
                    let alone = part.apart().map(|one| one.write_alone(&*intake));
                    stream::iter(alone).buffer_unordered(Self::ALONE).collect::<()>().await;
                }
                Err(error) if error.is_about_the_store() || part.requests.len() == 1 => part.fail(error),
                Err(_) => {
                    parts.push(part.split_off_half());
                    parts.push(part);
                }
            }
        }
    }

    /// Each request as a group of its own.
    fn apart(self) -> impl Iterator<Item = Self> {
        let entries = self.requests.into_iter().zip(self.callers);
        entries.map(|(request, caller)| Self { requests: vec![request], callers: vec![caller], bytes: 0 })
    }

    async fn write_alone(self, intake: &dyn Intake) {
        match intake.take(&self.requests).await {
            Ok(taken) => self.answer(taken),
            Err(error) => self.fail(error),
        }
    }

    fn split_off_half(&mut self) -> Self {
        let half = self.requests.len() / 2;
        Self { requests: self.requests.split_off(half), callers: self.callers.split_off(half), bytes: 0 }
    }

    fn answer(self, taken: Vec<Submitted>) {
        // A caller that is left over gets no answer, and so hears that its own was lost.
        for (Caller { answer, _mark }, taken) in self.callers.into_iter().zip(taken) {
            drop(_mark);
            // The send fails if the caller has gone away.
            let _ = answer.send(Ok(taken));
        }
    }

    fn fail(self, error: StoreError) {
        let requests = self.requests.len();
        let is_being_taken_in = requests == 1 && error.get_ref().is::<BeingTakenIn>();
        if error.is_about_the_store() {
            tracing::warn!(%error, requests, "requests were not taken in");
        }
        let error = Arc::new(error);
        for Caller { answer, _mark } in self.callers {
            drop(_mark);
            let refused = match is_being_taken_in {
                true => IntakeError::InProgress,
                false => IntakeError::Store(Arc::clone(&error)),
            };
            let _ = answer.send(Err(refused));
        }
    }
}

#[cfg(test)]
mod tests;
