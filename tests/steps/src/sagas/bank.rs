use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use claimstream::{in_transaction, work};
use claimstream_domain::{
    ClaimId, ClaimRequest, Claimed, DeadLetterFilter, InstanceId, Lease, NewMessage, Owner, QueueName,
    RetryPolicy, Settlement, Verdict, decide,
    saga::SagaStepState,
    step::{NewStep, Step, StepChange, StepKey, StepResult},
};
use claimstream_ports::{
    Handler, StoreError, StoreErrorKind, Timer,
    step::{LockWait, Locked},
};
use claimstream_steps::saga::{Saga, SagaId, SagaState, StepFailure};
use claimstream_testbed::{Nodes, eventually_some};
use claimstream_tokio::TokioTimer;
use serde::{Serialize, de::DeserializeOwned};
use uuid::Uuid;

use super::{breakable::Breakable, crash::Crash, database::Database};
use crate::Clock;

/// How many databases a bank has.
pub(super) const DATABASES: usize = 5;

pub(super) const HOUR: Duration = Duration::from_secs(3600);

/// Several databases with accounts in them, time that is moved by hand, and names of its own.
///
/// An account is a step of the ledger that holds its balance, so that it is on every store what it is on another.
pub(super) struct Bank<D> {
    pub(super) databases: Vec<D>,
    pub(super) down: Vec<Arc<AtomicBool>>,
    clock: Arc<dyn Clock>,
    prefix: String,
    /// How long a claim of a message lasts.
    lease: Duration,
    users: AtomicU64,
    claims: AtomicU64,
    /// Those of the cluster, if it is one: a read at one of them may lack what was committed at another a moment ago.
    nodes: Option<Nodes>,
}

/// An account: in which database, of which kind, whose.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, serde::Deserialize)]
pub(super) struct Account {
    pub(super) database: usize,
    pub(super) kind: String,
    pub(super) user: String,
}

impl Account {
    fn key(&self) -> StepKey {
        StepKey::new(&format!("account:{}", self.kind), &self.user, "").expect("a key")
    }
}

impl<D: Database> Bank<D> {
    pub(super) fn new(databases: Vec<D>, clock: Arc<dyn Clock>) -> Self {
        let down = databases.iter().map(|_| Arc::default()).collect();
        let (prefix, lease) = (Uuid::now_v7().simple().to_string(), Duration::from_secs(30));
        let (users, claims) = (AtomicU64::new(0), AtomicU64::new(1));
        Self { databases, down, clock, prefix, lease, users, claims, nodes: None }
    }

    /// The same on these nodes.
    pub(super) fn on(mut self, nodes: Nodes) -> Self {
        self.nodes = Some(nodes);
        self
    }

    /// Waits until what was committed anywhere is seen everywhere.
    pub(super) async fn catch_up(&self) {
        if let Some(nodes) = &self.nodes {
            nodes.catch_up().await;
        }
    }

    /// The same with names that another bank of other processes has, and with claims that soon lapse.
    pub(super) fn shared_as(mut self, prefix: &str, lease: Duration) -> Self {
        (self.prefix, self.lease) = (prefix.to_owned(), lease);
        self
    }

    pub(super) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// A unique name of a saga, or of anything else.
    pub(super) fn name(&self, of: &str) -> String {
        format!("{of}-{}", &self.prefix[20..])
    }

    /// The databases as a runner sees them that stops at a point.
    pub(super) fn seen_by(&self, crash: &Crash) -> Vec<Breakable<D>> {
        let all = self.databases.iter().zip(&self.down);
        all.map(|(db, down)| Breakable::new(db.clone(), crash.clone(), Arc::clone(down))).collect()
    }

    pub(super) async fn account(&self, database: usize, kind: &str, amount: i64) -> Account {
        let number = self.users.fetch_add(1, Ordering::SeqCst);
        let account = Account { database, kind: kind.to_owned(), user: format!("{}-{number}", self.prefix) };
        let db = &self.databases[database];
        let step = NewStep::new(account.key(), 0).with_result(money(amount));
        let opened: Result<_, StoreError> =
            in_transaction(db, &*timer(), |tx| work(async { db.begin(tx, &step).await })).await;
        opened.expect("an account");
        account
    }

    pub(super) async fn balance(&self, account: &Account) -> i64 {
        balance_of(&self.step(account.database, account.key()).await.expect("an account"))
    }

    pub(super) async fn pay_in(&self, account: &Account, amount: i64) {
        let db = &self.databases[account.database];
        let paid: Result<(), StepFailure> =
            in_transaction(db, &*timer(), |tx| work(async { book(db, tx, account, amount).await })).await;
        paid.expect("a payment");
    }

    /// A row of the ledger.
    pub(super) async fn step(&self, database: usize, key: StepKey) -> Option<Step> {
        let db = &self.databases[database];
        let found: Result<_, StoreError> =
            in_transaction(db, &*timer(), |tx| work(async { db.find(tx, &key).await })).await;
        found.expect("a look at the ledger")
    }

    /// Writes a row of the ledger as no program should.
    pub(super) async fn forge(&self, database: usize, key: StepKey, state: u8) {
        let db = &self.databases[database];
        let step = NewStep::new(key, state);
        let forged: Result<_, StoreError> = in_transaction(db, &*timer(), |tx| {
            work(async {
                if let claimstream_domain::step::Begun::Found(found) = db.begin(tx, &step).await? {
                    db.advance(tx, &step.key, &found, &StepChange::to(state)).await?;
                }
                Ok(())
            })
        })
        .await;
        forged.expect("a forged row");
    }

    /// Where a saga stands; its home is the first database.
    pub(super) async fn state(&self, queue: &QueueName, id: SagaId) -> Option<SagaState> {
        let key = StepKey::new(queue.as_str(), &id.to_string(), "").expect("a key");
        self.step(0, key).await.map(|row| SagaState::of_code(row.state).expect("a state"))
    }

    pub(super) async fn step_state(
        &self,
        queue: &QueueName,
        id: SagaId,
        database: usize,
        step: &str,
    ) -> Option<SagaStepState> {
        let key = StepKey::new(queue.as_str(), &id.to_string(), step).expect("a key");
        self.step(database, key).await.map(|row| SagaStepState::of_code(row.state).expect("a state"))
    }

    pub(super) async fn pass_time(&self, by: Duration) {
        self.clock.advance(by).await;
    }

    /// What is due in a queue of the home, taken with a lease.
    pub(super) async fn claim(&self, queue: &QueueName) -> Vec<Claimed> {
        self.claim_up_to(100, queue).await
    }

    /// Some of it. What a stream would try again, such as a conflict of two nodes of a cluster, is tried again.
    pub(super) async fn claim_up_to(&self, limit: u32, queue: &QueueName) -> Vec<Claimed> {
        let claim = async || unless_passing(self.databases[0].claim(&self.claim_request(limit, queue)).await);
        eventually_some("a claim", claim).await.expect("a claim")
    }

    fn claim_request(&self, limit: u32, queue: &QueueName) -> ClaimRequest {
        let (me, sequence) =
            (InstanceId(u64::from(std::process::id())), self.claims.fetch_add(1, Ordering::SeqCst));
        ClaimRequest {
            budget: Default::default(),
            queue: queue.clone(),
            limit,
            lease: Lease::new(self.lease).expect("a lease"),
            claim: ClaimId::new(me, sequence),
            owner: Owner::new(me, "sagas").expect("an owner"),
            runs: None,
        }
    }

    /// Hands everything that is due to the saga, as a pipeline would, and says what it said.
    pub(super) async fn deliver<I, H>(&self, saga: &Saga<I, H>) -> Vec<Verdict>
    where
        I: Serialize + DeserializeOwned + Send + Sync + 'static,
        H: claimstream_steps::saga::SagaHome + 'static,
    {
        let mut verdicts = Vec::new();
        for claimed in self.claim(&saga.queue()).await {
            let verdict = saga.handle(&claimed).await;
            self.settle(&claimed, &verdict, &saga.config().pipeline_retry()).await;
            verdicts.push(verdict);
        }
        verdicts
    }

    pub(super) async fn settle(&self, claimed: &Claimed, verdict: &Verdict, retry: &RetryPolicy) {
        let disposition = decide(verdict.clone(), claimed.attempt, retry, 1);
        let settlement = Settlement { receipt: claimed.receipt.clone(), disposition };
        let settle =
            async || unless_passing(self.databases[0].settle(std::slice::from_ref(&settlement)).await);
        eventually_some("a settlement", settle).await.expect("a settlement");
    }

    /// Lets an hour pass and delivers until nothing of the saga's queue is left.
    pub(super) async fn settle_all<I, H>(&self, saga: &Saga<I, H>) -> Vec<Verdict>
    where
        I: Serialize + DeserializeOwned + Send + Sync + 'static,
        H: claimstream_steps::saga::SagaHome + 'static,
    {
        let mut verdicts = Vec::new();
        for _ in 0..20 {
            self.pass_time(Duration::from_secs(3600)).await;
            self.catch_up().await;
            let more = self.deliver(saga).await;
            if more.is_empty() {
                return verdicts;
            }
            verdicts.extend(more);
        }
        panic!("messages of the saga come again and again: {verdicts:?}");
    }

    /// Puts a message into the home's outbox.
    pub(super) async fn enqueue(&self, message: NewMessage) {
        let home = &self.databases[0];
        let enqueued: Result<_, StoreError> = in_transaction(home, &*timer(), |tx| {
            work(async { home.enqueue(tx, std::slice::from_ref(&message)).await })
        })
        .await;
        enqueued.expect("a message");
    }

    pub(super) async fn dead_letters(&self, queue: &QueueName) -> usize {
        let filter = DeadLetterFilter { queue: Some(queue.clone()), ..DeadLetterFilter::default() };
        self.databases[0].list(&filter, 100).await.expect("dead letters").len()
    }
}

/// Books an amount on an account in the step's own transaction; refuses to go below zero.
pub(super) async fn book<D: Database>(
    db: &D,
    tx: &D::Tx,
    account: &Account,
    amount: i64,
) -> Result<(), StepFailure> {
    let row = match db.lock(tx, &account.key(), LockWait::Wait).await? {
        Locked::Held(row) => row,
        Locked::Absent => return Err(StepFailure::invariant("there is no such account")),
        Locked::Busy => return Err(StepFailure::transient("the account is locked")),
    };
    let balance = balance_of(&row) + amount;
    if balance < 0 {
        return Err(StepFailure::business("balance too small"));
    }
    let change = StepChange::to(0).with_result(money(balance));
    match db.advance(tx, &account.key(), &row, &change).await? {
        Some(_) => Ok(()),
        None => Err(StoreError::new(StoreErrorKind::Transient, "book", "changed meanwhile").into()),
    }
}

pub(super) fn timer() -> Arc<dyn Timer> {
    Arc::new(TokioTimer::new())
}

pub(super) fn fresh_saga() -> SagaId {
    SagaId::new(Uuid::now_v7())
}

fn money(amount: i64) -> StepResult {
    StepResult::new(amount.to_string().into_bytes()).expect("an amount")
}

fn balance_of(row: &Step) -> i64 {
    let result = row.result.as_ref().expect("a balance");
    std::str::from_utf8(result.as_bytes()).expect("text").parse().expect("an amount")
}

fn unless_passing<T>(answer: Result<T, StoreError>) -> Option<Result<T, StoreError>> {
    let is_passing = answer.as_ref().is_err_and(|error| error.kind() == StoreErrorKind::Transient);
    (!is_passing).then_some(answer)
}
