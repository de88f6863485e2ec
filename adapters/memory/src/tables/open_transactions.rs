use std::{
    collections::HashMap,
    task::{Context, Poll, Waker},
};

use claimstream_domain::{
    notification::NotificationRequest,
    step::{Step, StepKey},
};
use claimstream_ports::{StoreError, StoreErrorKind};
use uuid::Uuid;

use super::change::{Change, Identity, TransactionId};

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

    /// A request that a transaction has taken in.
    pub(crate) fn request(&self, id: TransactionId, request: Uuid) -> Option<&NotificationRequest> {
        self.changes.get(&id)?.iter().find_map(|change| match change {
            Change::Submit(taken) if taken.id == request => Some(&**taken),
            _ => None,
        })
    }

    /// Another transaction that has written one of `identities`.
    pub(crate) fn other_writer(
        &self,
        writer: Option<TransactionId>,
        identities: &[Identity],
    ) -> Option<TransactionId> {
        let writers = identities.iter().filter_map(|identity| self.writers.get(identity).copied());
        writers.into_iter().find(|other| Some(*other) != writer)
    }

    /// Notes that `writer` waits for `other`, unless that one waits for it already.
    pub(crate) fn wait_for<T>(
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

    /// Forgets that a transaction waits.
    pub(crate) fn stop_waiting(&mut self, writer: TransactionId) {
        self.waiting.remove(&writer);
    }

    /// Ends a transaction, and answers with its writes and with those that waited.
    pub(crate) fn end(&mut self, id: TransactionId) -> (Vec<Change>, Vec<Waker>) {
        self.writers.retain(|_, writer| *writer != id);
        (self.changes.remove(&id).unwrap_or_default(), std::mem::take(&mut self.wakers))
    }
}

#[cfg(test)]
mod tests {
    use claimstream_domain::{MessageId, NewMessage, Payload, QueueName};
    use claimstream_ports::Enqueue;
    use futures::{FutureExt, executor::block_on};
    use uuid::Uuid;

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
