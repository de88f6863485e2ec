use std::{
    future::poll_fn,
    pin::pin,
    sync::{Mutex, MutexGuard, PoisonError},
    task::{Poll, Waker},
    time::{Duration, Instant},
};

use claimstream_domain::{Invalid, NewMessage, PayloadLimit, ShardCount, Timestamp};
use claimstream_ports::{StoreError, StoreErrorKind, notification::BeingTakenIn};

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
        let _waiting = WaitNote { database: self, writer };
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

    /// The same, but no longer than [`LOCK_WAIT`]; the error says that a request is being taken in.
    pub(crate) async fn when_free_soon<T>(
        &self,
        operation: &'static str,
        writer: TransactionId,
        identities: &[Identity],
        step: impl FnOnce(&mut Tables) -> T,
    ) -> Result<T, StoreError> {
        let mut waiting = pin!(self.when_free(operation, Some(writer), identities, step));
        let mut alarm: Option<Alarm> = None;
        poll_fn(|cx| match waiting.as_mut().poll(cx) {
            Poll::Pending => match alarm.get_or_insert_with(|| Alarm::after(LOCK_WAIT, cx.waker())) {
                alarm if alarm.is_over() => {
                    let why = BeingTakenIn(format!("waited for {LOCK_WAIT:?}"));
                    Poll::Ready(Err(StoreError::new(StoreErrorKind::Transient, operation, why)))
                }
                _ => Poll::Pending,
            },
            done => done,
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

/// How long a submission waits for a transaction that takes in the same request, as servers do.
const LOCK_WAIT: Duration = Duration::from_secs(5);

/// Wakes a waiting call at a moment of real time; a thread sleeps for it, because no runtime is known here.
struct Alarm(Instant);

impl Alarm {
    fn after(wait: Duration, waker: &Waker) -> Self {
        // The moment first: a thread that wakes the call a little before it would be the last to do so.
        let (end, waker) = (Instant::now() + wait, waker.clone());
        std::thread::spawn(move || {
            std::thread::sleep(end.saturating_duration_since(Instant::now()));
            waker.wake();
        });
        Self(end)
    }

    fn is_over(&self) -> bool {
        Instant::now() >= self.0
    }
}

/// Ends the note that a transaction waits, also if its caller gives up.
struct WaitNote<'a> {
    database: &'a Database,
    writer: Option<TransactionId>,
}

impl Drop for WaitNote<'_> {
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
