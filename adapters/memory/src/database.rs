use std::{
    future::poll_fn,
    sync::{Mutex, MutexGuard, PoisonError},
    task::{Poll, Waker},
};

use claimstream_domain::{Invalid, NewMessage, PayloadLimit, ShardCount, Timestamp};
use claimstream_ports::{StoreError, StoreErrorKind};

use crate::{
    clock::MemoryClock,
    tables::{Identity, Tables, TransactionId},
};

/// Everything that the handles on one store share.
#[derive(Debug)]
pub(crate) struct Database {
    pub(crate) clock: MemoryClock,
    pub(crate) shards: ShardCount,
    pub(crate) payload_limit: PayloadLimit,
    tables: Mutex<Tables>,
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

/// Ends the note that a transaction waits, also if its caller gives up.
struct Waiting<'a> {
    database: &'a Database,
    writer: Option<TransactionId>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(writer) = self.writer {
            self.database.tables().open.stop_waiting(writer);
        }
    }
}

pub(crate) fn corrupt(
    operation: &'static str,
    source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> StoreError {
    StoreError::new(StoreErrorKind::Corrupt, operation, source)
}
