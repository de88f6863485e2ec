use std::sync::Arc;

use async_trait::async_trait;
use claimstream_domain::Lease;
use claimstream_ports::{DistributedLock, LockGuard, StoreError, StoreErrorKind};
use sea_orm::ConnectionTrait;
use uuid::Uuid;

use crate::{
    database::typed_row::row,
    database::{
        args::{Args, bytes},
        classify::{corrupt, may_have_committed},
        clock::micros,
        held::Held,
        unit::{rows, run},
    },
    outbox::handle::SeaOrmOutbox,
    store::Store,
};

const LOCK: &str = "lock";

/// A lock is a row; the database's clock decides when it lapses.
#[async_trait]
impl DistributedLock for SeaOrmOutbox {
    async fn try_acquire(&self, key: &str, lease: Lease) -> Result<Option<LockGuard>, StoreError> {
        LockGuard::check_key(key)?;
        let (store, key) = (self.store.clone(), key.to_owned());
        let work = async move { Taking::of(&store, key, lease).on(&Held::new(&store)).await };
        self.store.detached(LOCK, work).await
    }

    async fn renew(&self, guard: &LockGuard, lease: Lease) -> Result<bool, StoreError> {
        let (store, guard) = (self.store.clone(), guard.clone());
        self.store.detached(LOCK, async move { store.renew_lock(&guard, lease).await }).await
    }

    async fn release(&self, guard: LockGuard) -> Result<bool, StoreError> {
        let store = self.store.clone();
        self.store.detached(LOCK, async move { store.release_lock(&guard).await }).await
    }
}

/// One attempt to take a lock. The token that it writes says whether it has it: no count of rows does.
struct Taking<'a> {
    store: &'a Arc<Store>,
    key: String,
    args: Args,
}

impl<'a> Taking<'a> {
    fn of(store: &'a Arc<Store>, key: String, lease: Lease) -> Self {
        let args = key_args(store, &key).with("lease", micros(lease.duration()));
        Self { store, key, args }
    }

    /// Takes the row if it is free, makes it if it is not there; whoever comes second finds it held.
    async fn on(self, on: &Held<'_>) -> Result<Option<LockGuard>, StoreError> {
        let sql = &self.store.sql;
        let taken = self.store.restarting(|| run(on, LOCK, sql.locks.take.bind(&self.args))).await;
        match self.looked_at(on, taken).await? {
            Row::Ours(guard) => return Ok(Some(guard)),
            Row::Elsewhere => return Ok(None),
            Row::Absent => {}
        }
        let made = self.store.restarting(|| run(on, LOCK, sql.locks.make.bind(&self.args))).await;
        match made {
            Err(beaten) if beaten.kind() == StoreErrorKind::Conflict => Ok(None),
            made => match self.looked_at(on, made).await? {
                Row::Ours(guard) => Ok(Some(guard)),
                // It has lapsed, and somebody else has taken it or swept it away.
                Row::Elsewhere | Row::Absent => Ok(None),
            },
        }
    }

    /// Reads the row after a write; a write whose answer was lost has taken effect if the row is ours. That is asked on whatever
    /// connection there is, so ours goes back first.
    async fn looked_at(&self, on: &Held<'_>, written: Result<u64, StoreError>) -> Result<Row, StoreError> {
        let store = self.store;
        match written {
            Ok(_) => store.restarting(|| self.read(on)).await,
            Err(lost) if may_have_committed(&lost) => {
                on.rest();
                match store.asking_back(|| self.read(store.relay())).await {
                    Ok(ours @ Row::Ours(_)) => Ok(ours),
                    _ => Err(lost),
                }
            }
            Err(error) => Err(error),
        }
    }

    async fn read(&self, on: &impl ConnectionTrait) -> Result<Row, StoreError> {
        let found = rows(on, LOCK, self.store.sql.locks.read.bind(&self.args)).await?;
        let Some(row) = found.first() else { return Ok(Row::Absent) };
        let LockRow { fence, is_ours } = LockRow::read(row)?;
        if !is_ours {
            return Ok(Row::Elsewhere);
        }
        let fence = u64::try_from(fence).map_err(|e| corrupt(LOCK, e))?;
        Ok(Row::Ours(LockGuard { key: self.key.clone(), fence }))
    }
}

/// What the row of a lock says to whoever has just tried to take it.
enum Row {
    Ours(LockGuard),
    /// It is held, or was until a moment ago.
    Elsewhere,
    Absent,
}

impl Store {
    async fn renew_lock(&self, guard: &LockGuard, lease: Lease) -> Result<bool, StoreError> {
        let args = self.guard_args(guard)?.with("lease", micros(lease.duration()));
        let renewed = self.restarting(|| run(self.relay(), LOCK, self.sql.locks.renew.bind(&args))).await?;
        Ok(renewed == 1)
    }

    async fn release_lock(&self, guard: &LockGuard) -> Result<bool, StoreError> {
        let args = self.guard_args(guard)?;
        let released =
            self.restarting(|| run(self.relay(), LOCK, self.sql.locks.release.bind(&args))).await?;
        Ok(released == 1)
    }

    /// The token is fresh, so that a row that is found is also changed and counts, whatever the driver asks the server to
    /// count.
    fn guard_args(&self, guard: &LockGuard) -> Result<Args, StoreError> {
        let fence = i64::try_from(guard.fence).map_err(|e| corrupt(LOCK, e))?;
        Ok(key_args(self, &guard.key).with("fence", fence))
    }
}

fn key_args(store: &Store, key: &str) -> Args {
    store.args().with("key", key).with("token", bytes(Uuid::now_v7()))
}

row! {
    /// The fence of a lock, and whether the token in its row is the one that was asked for.
    struct LockRow of "locks/read" { fence: i64, is_ours: bool }
}
