use std::{sync::Arc, time::Duration};

use claimstream_domain::{MessageId, PayloadLimit, Retention, ShardCount, Timestamp};
use claimstream_ports::{StoreError, StoreErrorKind};

use crate::{
    clock::MemoryClock,
    database::Database,
    tables::{Tables, TransactionId},
    transaction::MemoryTransaction,
};

/// An outbox, its neighbours and their clock, in memory. A clone is another handle on the same data.
///
/// It implements every store port. What it does not have is durability: everything ends with the last handle. Its
/// [`sweep`](Self::sweep) forgets dedup keys and [`sweep_requests`](Self::sweep_requests) notification requests; steps, sagas and
/// what operators did are kept until then, so it is not for a process that runs for months.
/// And where a database ends a wait for another transaction's rows with an error, it waits until that transaction ends, unless it
/// is a request for notifications that both take in.
#[derive(Clone, Debug)]
pub struct MemoryStore {
    pub(crate) database: Arc<Database>,
}

/// How a memory store is set up.
#[derive(Clone, Debug)]
pub struct MemoryOptions {
    /// The clock by which messages come due; the system's by default.
    pub clock: MemoryClock,
    /// Into how many shards each queue is cut, 16 by default.
    pub shards: ShardCount,
    /// The largest payload, by default what a server with packets of 16 MiB takes.
    pub payload_limit: PayloadLimit,
}

impl MemoryOptions {
    /// Where a manual clock stands at first: 2026-01-01 00:00 UTC.
    pub const MANUAL_START: &str = "2026-01-01T00:00:00Z";

    /// The defaults on a given clock.
    pub fn on(clock: MemoryClock) -> Self {
        Self {
            clock,
            shards: ShardCount::default(),
            payload_limit: PayloadLimit::for_packet(16 * 1024 * 1024),
        }
    }
}

impl Default for MemoryOptions {
    fn default() -> Self {
        Self::on(MemoryClock::system())
    }
}

impl MemoryStore {
    /// An empty store on the system's clock.
    pub fn new() -> Self {
        Self::open(MemoryOptions::default())
    }

    /// An empty store whose clock stands still until [`advance`](Self::advance) moves it.
    pub fn with_manual_clock() -> Self {
        let start: Timestamp = MemoryOptions::MANUAL_START.parse().expect("the constant is a valid time");
        Self::open(MemoryOptions::on(MemoryClock::manual(start)))
    }

    /// An empty store.
    pub fn open(options: MemoryOptions) -> Self {
        let MemoryOptions { clock, shards, payload_limit } = options;
        Self { database: Arc::new(Database::new(clock, shards, payload_limit)) }
    }

    /// Another handle on the same data, as another instance of the application would have.
    pub fn rival(&self) -> Self {
        self.clone()
    }

    /// The store's clock.
    pub fn clock(&self) -> &MemoryClock {
        &self.database.clock
    }

    /// Moves the store's clock forward.
    pub fn advance(&self, by: Duration) {
        self.database.clock.advance(by);
    }

    /// Forgets the dedup keys that `retention` does not keep, and says how many; the key of a message that is live or a dead
    /// letter stays. Bodies of finished messages are not kept here, so that their ids are new at once.
    pub fn sweep(&self, retention: Retention) -> u64 {
        let bound = self.bound(retention);
        self.database.tables().outbox.forget_keys(bound)
    }

    /// Forgets the notification requests that `retention` does not keep, with their messages, and says how many; one that is not
    /// settled stays, and one that is a dead letter or has one.
    pub fn sweep_requests(&self, retention: Retention) -> u64 {
        let bound = self.bound(retention);
        let Tables { notifications, outbox, .. } = &mut *self.database.tables();
        notifications.sweep(bound, |id| outbox.is_here(MessageId::new(id)))
    }

    fn bound(&self, retention: Retention) -> Timestamp {
        let micros = i64::try_from(retention.of_keys().as_micros()).unwrap_or(i64::MAX);
        let bound = self.database.now().as_micros().saturating_sub(micros).max(0);
        Timestamp::from_micros(bound).unwrap_or(Timestamp::MAX)
    }

    /// Begins a transaction.
    pub fn begin(&self) -> MemoryTransaction {
        MemoryTransaction::begin(Arc::clone(&self.database))
    }

    /// The same, and which of its transactions it is.
    pub(crate) fn database_and_id<'a>(
        &self,
        tx: &'a MemoryTransaction,
        operation: &'static str,
    ) -> Result<(&'a Arc<Database>, TransactionId), StoreError> {
        Ok((self.database_of(tx, operation)?, tx.id))
    }

    /// The database of a transaction that was begun on this store.
    pub(crate) fn database_of<'a>(
        &self,
        tx: &'a MemoryTransaction,
        operation: &'static str,
    ) -> Result<&'a Arc<Database>, StoreError> {
        if Arc::ptr_eq(&self.database, &tx.database) {
            return Ok(&tx.database);
        }
        let why = "the transaction was begun on another store; begin it on this one";
        Err(StoreError::new(StoreErrorKind::Unsupported, operation, why))
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}
