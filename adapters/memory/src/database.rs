use std::{
    collections::HashMap,
    future::poll_fn,
    sync::{Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use claimstream_domain::{
    DedupKey, Invalid, MessageId, NewMessage, PayloadLimit, QueueName, ShardCount, Step, StepKey, Timestamp,
    notification::NotificationRequest,
    saga::{NewSaga, SagaId},
};
use claimstream_ports::{StoreError, StoreErrorKind};
use uuid::Uuid;

use crate::{
    clock::MemoryClock,
    lock::Locks,
    notification::Notifications,
    outbox::{Outbox, Row},
    saga::Sagas,
    step::Steps,
};

/// Everything that the handles on one store share.
#[derive(Debug)]
pub(crate) struct Database {
    pub(crate) clock: MemoryClock,
    pub(crate) shards: ShardCount,
    pub(crate) payload_limit: PayloadLimit,
    tables: Mutex<Tables>,
}

/// What has been committed, and what open transactions mean to change.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    pub(crate) outbox: Outbox,
    pub(crate) notifications: Notifications,
    pub(crate) steps: Steps,
    pub(crate) sagas: Sagas,
    pub(crate) locks: Locks,
    pub(crate) open: OpenTransactions,
}

/// The transactions that have begun and not ended.
#[derive(Debug, Default)]
pub(crate) struct OpenTransactions {
    last: u64,
    changes: HashMap<TransactionId, Vec<Change>>,
    /// Which of them has written what; a second writer waits until the first has ended.
    writers: HashMap<Identity, TransactionId>,
    waiting: HashMap<TransactionId, TransactionId>,
    wakers: Vec<Waker>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct TransactionId(u64);

/// What at most one row can be.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Identity {
    Message(MessageId),
    Key(QueueName, DedupKey),
    Request(Uuid),
    Step(StepKey),
    Saga(Box<str>, SagaId),
}

/// A write that takes effect when its transaction commits.
#[derive(Debug)]
pub(crate) enum Change {
    Enqueue(Row),
    Submit(NotificationRequest),
    Step(StepKey, Step),
    Saga(NewSaga, Timestamp),
}

impl Database {
    pub(crate) fn new(clock: MemoryClock, shards: ShardCount, payload_limit: PayloadLimit) -> Self {
        Self { clock, shards, payload_limit, tables: Mutex::default() }
    }

    pub(crate) fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Refuses messages that carry more than the store takes.
    pub(crate) fn check_payloads<'a>(
        &self,
        operation: &'static str,
        messages: impl IntoIterator<Item = &'a NewMessage>,
    ) -> Result<(), StoreError> {
        let mut messages = messages.into_iter();
        let checked: Result<(), Invalid> =
            messages.try_for_each(|message| self.payload_limit.check(&message.payload));
        checked.map_err(|invalid| corrupt(operation, invalid))
    }

    /// Takes one step on the tables as soon as no other open transaction has written any of `identities`.
    ///
    /// The step is taken whole or, if the caller stops waiting, not at all.
    pub(crate) async fn when_free<T>(
        &self,
        operation: &'static str,
        writer: Option<TransactionId>,
        identities: &[Identity],
        step: impl FnOnce(&mut Tables) -> T,
    ) -> Result<T, StoreError> {
        let _waiting = Waiting { database: self, writer };
        let mut step = Some(step);
        poll_fn(|cx| {
            let mut tables = self.tables();
            match tables.open.other_writer(writer, identities) {
                Some(other) => tables.open.wait_for(operation, writer, other, cx),
                None => match step.take() {
                    Some(step) => Poll::Ready(Ok(step(&mut tables))),
                    None => Poll::Pending,
                },
            }
        })
        .await
    }

    pub(crate) fn commit(&self, id: TransactionId) {
        let now = self.now();
        let wakers = self.tables().commit(id, now);
        wakers.into_iter().for_each(Waker::wake);
    }

    pub(crate) fn roll_back(&self, id: TransactionId) {
        let (_, wakers) = self.tables().open.end(id);
        wakers.into_iter().for_each(Waker::wake);
    }
}

impl Tables {
    fn commit(&mut self, id: TransactionId, now: Timestamp) -> Vec<Waker> {
        let (changes, wakers) = self.open.end(id);
        for change in changes {
            match change {
                Change::Enqueue(row) => self.outbox.enqueue(row, now),
                Change::Submit(request) => self.notifications.insert(request),
                Change::Step(key, step) => self.steps.put(key, step),
                Change::Saga(saga, at) => self.sagas.insert(saga, at),
            }
        }
        wakers
    }
}

impl OpenTransactions {
    pub(crate) fn begin(&mut self) -> TransactionId {
        self.last += 1;
        let id = TransactionId(self.last);
        self.changes.insert(id, Vec::new());
        id
    }

    /// Notes a write and makes its identities this transaction's own.
    pub(crate) fn write(&mut self, id: TransactionId, identities: Vec<Identity>, change: Change) {
        self.writers.extend(identities.into_iter().map(|identity| (identity, id)));
        self.changes.entry(id).or_default().push(change);
    }

    /// Makes an identity this transaction's own without a write.
    pub(crate) fn hold(&mut self, id: TransactionId, identity: Identity) {
        self.writers.insert(identity, id);
    }

    pub(crate) fn is_held_by_another(&self, id: TransactionId, identity: &Identity) -> bool {
        self.writers.get(identity).is_some_and(|writer| *writer != id)
    }

    pub(crate) fn has_written(&self, id: TransactionId, identities: &[Identity]) -> bool {
        identities.iter().any(|identity| self.writers.get(identity) == Some(&id))
    }

    /// What a transaction has last written about a step.
    pub(crate) fn step(&self, id: TransactionId, key: &StepKey) -> Option<Step> {
        let changes = self.changes.get(&id)?;
        changes.iter().rev().find_map(|change| match change {
            Change::Step(of, step) if of == key => Some(step.clone()),
            _ => None,
        })
    }

    fn other_writer(&self, writer: Option<TransactionId>, identities: &[Identity]) -> Option<TransactionId> {
        let writers = identities.iter().filter_map(|identity| self.writers.get(identity).copied());
        writers.into_iter().find(|other| Some(*other) != writer)
    }

    fn wait_for<T>(
        &mut self,
        operation: &'static str,
        writer: Option<TransactionId>,
        other: TransactionId,
        cx: &Context<'_>,
    ) -> Poll<Result<T, StoreError>> {
        if let Some(writer) = writer {
            if self.waits_for(other, writer) {
                let why = "deadlock: this transaction and another one wait for each other";
                return Poll::Ready(Err(StoreError::new(StoreErrorKind::Transient, operation, why)));
            }
            self.waiting.insert(writer, other);
        }
        if !self.wakers.iter().any(|known| known.will_wake(cx.waker())) {
            self.wakers.push(cx.waker().clone());
        }
        Poll::Pending
    }

    fn waits_for(&self, waiting: TransactionId, other: TransactionId) -> bool {
        let next = |id: &TransactionId| self.waiting.get(id).copied();
        std::iter::successors(Some(waiting), next).any(|id| id == other)
    }

    fn end(&mut self, id: TransactionId) -> (Vec<Change>, Vec<Waker>) {
        self.writers.retain(|_, writer| *writer != id);
        (self.changes.remove(&id).unwrap_or_default(), std::mem::take(&mut self.wakers))
    }
}

/// Ends the note that a transaction waits, also if its caller gives up.
struct Waiting<'a> {
    database: &'a Database,
    writer: Option<TransactionId>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(writer) = self.writer {
            self.database.tables().open.waiting.remove(&writer);
        }
    }
}

/// The identities that a message takes.
pub(crate) fn identities(message: &NewMessage) -> Vec<Identity> {
    let key = message.dedup_key.clone().map(|key| Identity::Key(message.queue.clone(), key));
    key.into_iter().chain([Identity::Message(message.id)]).collect()
}

pub(crate) fn corrupt(
    operation: &'static str,
    source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> StoreError {
    StoreError::new(StoreErrorKind::Corrupt, operation, source)
}

#[cfg(test)]
mod tests {
    use claimstream_domain::Payload;
    use claimstream_ports::Enqueue;
    use futures::{FutureExt, executor::block_on};

    use super::*;
    use crate::MemoryStore;

    #[test]
    fn one_who_waits_leaves_one_waker_however_often_it_is_polled() {
        let store = MemoryStore::new();
        let (first, second) = (store.begin(), store.begin());
        let queue = QueueName::new("orders").unwrap();
        let message = [NewMessage::new(MessageId::new(Uuid::from_u128(1)), queue, Payload::json("{}"))];
        block_on(store.enqueue(&first, &message)).unwrap();
        let mut waiting = store.enqueue(&second, &message).boxed();
        for _ in 0..100 {
            assert!((&mut waiting).now_or_never().is_none());
        }
        assert_eq!(store.database.tables().open.wakers.len(), 1);
    }
}
