use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use claimstream::{Enqueue, Transactions};
use claimstream_domain::{
    Due, Enqueued, MessageId, NewMessage,
    saga::{NewSaga, SagaId, SagaRecord},
    step::{Begun, NewStep, Step, StepChange, StepKey},
};
use claimstream_memory::MemoryTransaction;
use claimstream_ports::{
    ServerClock, StoreError,
    saga::{NoteSagas, SagaReports},
    step::{LockWait, Locked, PurgeSteps, StepLedger},
};
use uuid::Uuid;

use crate::{
    sabotage::Sabotage,
    sim::Sim,
    store::{FaultyStore, call, call_here},
};

/// A database over a network that fails: an outbox, a step ledger, and accounts, written in common transactions.
#[derive(Clone)]
pub(crate) struct FaultyDb {
    pub(crate) sim: Sim,
    pub(crate) outbox: FaultyStore,
    accounts: Arc<Mutex<BTreeMap<String, Account>>>,
}

/// What an account holds, and how much of it open transactions have taken.
#[derive(Clone, Copy, Default)]
struct Account {
    balance: i64,
    taken: i64,
}

/// An open transaction; dropped, it is rolled back.
pub(crate) struct FaultyTx {
    tx: Option<MemoryTransaction>,
    db: FaultyDb,
    changes: Mutex<Vec<(String, i64)>>,
    messages: Mutex<Vec<NewMessage>>,
}

impl FaultyDb {
    pub(crate) fn new(outbox: FaultyStore) -> Self {
        Self { sim: outbox.sim.clone(), outbox, accounts: Arc::default() }
    }

    /// Books an amount in a transaction; false if there would be less than nothing in the account.
    pub(crate) fn book(&self, tx: &FaultyTx, name: &str, amount: i64) -> bool {
        let mut accounts = self.accounts();
        let account = accounts.entry(name.to_owned()).or_default();
        if amount < 0 {
            if account.balance - account.taken < -amount {
                return false;
            }
            account.taken -= amount;
        }
        locked(&tx.changes).push((name.to_owned(), amount));
        true
    }

    /// Counts something outside of any transaction.
    pub(crate) fn note(&self, name: &str) {
        self.accounts().entry(name.to_owned()).or_default().balance += 1;
    }

    pub(crate) fn balance(&self, name: &str) -> i64 {
        self.accounts().get(name).map_or(0, |account| account.balance)
    }

    /// Opens an account that holds an amount.
    pub(crate) fn open_account(&self, name: &str, balance: i64) {
        self.accounts().insert(name.to_owned(), Account { balance, taken: 0 });
    }

    fn accounts(&self) -> MutexGuard<'_, BTreeMap<String, Account>> {
        locked(&self.accounts)
    }

    fn begin_here(&self) -> FaultyTx {
        let tx = Some(self.outbox.store.begin());
        FaultyTx { tx, db: self.clone(), changes: Mutex::default(), messages: Mutex::default() }
    }

    /// An id that the seed decides in place of one that the clock decides.
    fn sure_id(&self, id: MessageId) -> MessageId {
        if id.uuid().get_version_num() != 7 {
            return id;
        }
        MessageId::new(Uuid::from_u64_pair(self.sim.below(u64::MAX), 10_000 + self.sim.next_id()))
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl FaultyTx {
    fn inner(&self) -> &MemoryTransaction {
        self.tx.as_ref().expect("an open transaction")
    }

    fn commit_here(mut self) {
        let Some(tx) = self.tx.take() else { return };
        tx.commit();
        for (name, amount) in std::mem::take(&mut *locked(&self.changes)) {
            let mut accounts = self.db.accounts();
            let account = accounts.entry(name.clone()).or_default();
            account.balance += amount;
            account.taken += amount.min(0);
            let balance = account.balance;
            drop(accounts);
            self.db.sim.trace(|| format!("{name}: {amount:+}, now {balance}"));
            self.db.sim.require(balance >= 0, || format!("{name} has {balance}"));
        }
        for message in std::mem::take(&mut *locked(&self.messages)) {
            self.db.sim.trace(|| format!("enqueued {} in {}", crate::show::short(message.id), message.queue));
            self.db.outbox.journal.enqueued(&message);
        }
    }
}

impl Drop for FaultyTx {
    fn drop(&mut self) {
        let mut accounts = self.db.accounts();
        for (name, amount) in locked(&self.changes).drain(..) {
            if let Some(account) = accounts.get_mut(&name) {
                account.taken += amount.min(0);
            }
        }
    }
}

#[async_trait]
impl Transactions for FaultyDb {
    type Tx = FaultyTx;

    async fn begin_tx(&self) -> Result<FaultyTx, StoreError> {
        call_here(&self.sim, "begin", async { Ok(self.begin_here()) }).await
    }

    async fn commit_tx(&self, tx: FaultyTx) -> Result<(), StoreError> {
        let committed = call(&self.sim, "commit", async move {
            tx.commit_here();
            Ok(())
        })
        .await;
        if self.sim.has(Sabotage::GuessesCommits) { Ok(()) } else { committed }
    }

    async fn roll_back_tx(&self, tx: FaultyTx) -> Result<(), StoreError> {
        drop(tx);
        Ok(())
    }
}

#[async_trait]
impl StepLedger<FaultyTx> for FaultyDb {
    async fn begin(&self, tx: &FaultyTx, step: &NewStep) -> Result<Begun, StoreError> {
        call_here(&self.sim, "begin step", async {
            // The state of a step that is called off before it was taken, in sagas and in TCC.
            let is_tombstone = !step.key.step().is_empty() && step.state > 1;
            if self.sim.has(Sabotage::LeavesNoTombstone)
                && is_tombstone
                && self.outbox.store.find(tx.inner(), &step.key).await?.is_none()
            {
                return Ok(Begun::New(step.begun()));
            }
            if self.sim.has(Sabotage::StepsWithoutEffect) {
                let own = self.begin_here();
                let begun = StepLedger::begin(&self.outbox.store, own.inner(), step).await?;
                own.commit_here();
                return Ok(begun);
            }
            match StepLedger::begin(&self.outbox.store, tx.inner(), step).await? {
                Begun::Found(_) if self.sim.has(Sabotage::BeginsAlwaysNew) => Ok(Begun::New(step.begun())),
                Begun::Found(found) if self.sim.has(Sabotage::KeepsNoFingerprint) => {
                    Ok(Begun::Found(Step { fingerprint: step.fingerprint, ..found }))
                }
                begun => Ok(begun),
            }
        })
        .await
    }

    async fn advance(
        &self,
        tx: &FaultyTx,
        key: &StepKey,
        from: &Step,
        change: &StepChange,
    ) -> Result<Option<Step>, StoreError> {
        call_here(&self.sim, "advance step", async {
            let current = self.outbox.store.find(tx.inner(), key).await?;
            let from = match (self.sim.has(Sabotage::AdvancesAnything), &current) {
                (true, Some(current)) => current,
                _ => from,
            };
            let moved = StepLedger::advance(&self.outbox.store, tx.inner(), key, from, change).await;
            self.sim.trace(|| {
                format!(
                    "{key} advances from {}: {:?}",
                    from.state,
                    moved.as_ref().map(|to| to.as_ref().map(|to| to.state))
                )
            });
            moved
        })
        .await
    }

    async fn find(&self, tx: &FaultyTx, key: &StepKey) -> Result<Option<Step>, StoreError> {
        call_here(&self.sim, "find step", self.outbox.store.find(tx.inner(), key)).await
    }

    async fn lock(&self, tx: &FaultyTx, key: &StepKey, wait: LockWait) -> Result<Locked, StoreError> {
        call_here(&self.sim, "lock step", self.outbox.store.lock(tx.inner(), key, wait)).await
    }
}

#[async_trait]
impl Enqueue<FaultyTx> for FaultyDb {
    async fn enqueue(&self, tx: &FaultyTx, messages: &[NewMessage]) -> Result<Vec<Enqueued>, StoreError> {
        let mut messages = messages.to_vec();
        messages.iter_mut().for_each(|message| message.id = self.sure_id(message.id));
        call_here(&self.sim, "enqueue", async {
            if self.sim.has(Sabotage::EnqueuesNothingLater) && messages.iter().any(|one| one.due != Due::Now)
            {
                return Ok(vec![Enqueued::New; messages.len()]);
            }
            let enqueued = self.outbox.store.enqueue(tx.inner(), &messages).await?;
            let both = messages.iter().zip(&enqueued);
            let new =
                both.filter(|(_, enqueued)| **enqueued == Enqueued::New).map(|(message, _)| message.clone());
            locked(&tx.messages).extend(new);
            Ok(enqueued)
        })
        .await
    }
}

#[async_trait]
impl ServerClock for FaultyDb {
    async fn late(&self, due: Due) -> Result<Duration, StoreError> {
        call_here(&self.sim, "late", self.outbox.store.late(due)).await
    }
}

#[async_trait]
impl NoteSagas<FaultyTx> for FaultyDb {
    async fn note(&self, tx: &FaultyTx, saga: &NewSaga) -> Result<(), StoreError> {
        call_here(&self.sim, "note saga", self.outbox.store.note(tx.inner(), saga)).await
    }
}

#[async_trait]
impl SagaReports for FaultyDb {
    async fn saga(&self, scope: &str, id: SagaId) -> Result<Option<SagaRecord>, StoreError> {
        self.outbox.store.saga(scope, id).await
    }

    async fn sagas_of(
        &self,
        scope: &str,
        owner: &str,
        after: Option<SagaId>,
        limit: u32,
    ) -> Result<Vec<SagaRecord>, StoreError> {
        self.outbox.store.sagas_of(scope, owner, after, limit).await
    }
}

#[async_trait]
impl PurgeSteps for FaultyDb {
    fn step_retention(&self) -> Duration {
        Duration::MAX
    }

    async fn purge_steps(&self) -> Result<u64, StoreError> {
        Ok(0)
    }
}
