use std::{sync::Arc, time::Duration};

use claimstream::{
    Enqueue, RetryPolicy, StoreError, Timer, TransactionError, Transactions, in_transaction, work,
};
use claimstream_domain::{PayloadLimit, QueueName, ShardCount, decide};
use claimstream_memory::{MemoryClock, MemoryOptions, MemoryStore};
use claimstream_ports::Handler;
use claimstream_sea_orm::{FrozenClock, SeaOrmOutbox};
use claimstream_steps::{
    PurgeSteps, StepLedger,
    tcc::{
        BranchCall, BranchCallKey, BranchState, Coordinator, CoordinatorConfig, GlobalId, Operation,
        Resource, ResourceError, Tcc, TccError,
    },
};
use claimstream_testbed::Nodes;
use claimstream_tokio::TokioTimer;
use sea_orm::Database;
use serde_json::json;
use uuid::Uuid;

use super::shop::{Goods, MemoryShop, Shop, SqlShop, Stock};
use crate::{Facts, Fixture, Ports, backend::SeaOrmBackend, repetitions};

/// What TCC can be run on.
pub(super) trait Place:
    Transactions
    + StepLedger<<Self as Transactions>::Tx>
    + Enqueue<<Self as Transactions>::Tx>
    + PurgeSteps
    + 'static
{
}

impl<S> Place for S where
    S: Transactions
        + StepLedger<<S as Transactions>::Tx>
        + Enqueue<<S as Transactions>::Tx>
        + PurgeSteps
        + 'static
{
}

/// Two instances on one database, and a shop with ten pieces of a stock and one coupon.
pub(super) struct World<S: Place> {
    pub(super) store: Arc<S>,
    pub(super) rival: Arc<S>,
    pub(super) shop: Arc<dyn Shop<S::Tx>>,
    pub(super) fixture: Fixture,
    pub(super) timer: Arc<dyn Timer>,
    items: Uuid,
    /// Those of the cluster, if it is one: a read at one of them may lack what was committed at another a moment ago.
    nodes: Option<Nodes>,
}

impl World<MemoryStore> {
    pub(super) fn in_memory() -> Self {
        let facts = Facts {
            shards: ShardCount::new(4).expect("a shard count"),
            payload_limit: PayloadLimit::for_packet(PayloadLimit::MARGIN + 100_000),
        };
        let Facts { shards, payload_limit } = facts;
        let clock = MemoryClock::manual(Fixture::start());
        let store = MemoryStore::open(MemoryOptions { clock: clock.clone(), shards, payload_limit });
        let ports = (Ports::of(store.clone()), Ports::of(store.rival()));
        let fixture = Fixture::new(ports.0, ports.1, Fixture::fresh_queue(), facts, Arc::new(clock));
        let shop = Arc::new(MemoryShop(Arc::new(store.clone())));
        Self::new(store.clone(), store.rival(), shop, fixture)
    }
}

impl World<SeaOrmOutbox> {
    pub(super) async fn of(backend: &SeaOrmBackend) -> Self {
        let url = backend.database().await.expect("a database");
        let clock = FrozenClock::at(Fixture::start().as_micros());
        let store = backend.open(&url, Some(clock.clone())).await.expect("open");
        let rival = backend.open(&url, Some(clock.clone())).await.expect("open");
        let shop = SqlShop::open(Database::connect(&url).await.expect("connect")).await;
        Self::of_instances(store, rival, shop, clock)
    }

    pub(super) fn of_instances(
        store: SeaOrmOutbox,
        rival: SeaOrmOutbox,
        shop: SqlShop,
        clock: FrozenClock,
    ) -> Self {
        let facts = Facts { shards: store.shards(), payload_limit: store.payload_limit() };
        let ports = (Ports::of(store.clone()), Ports::of(rival.clone()));
        let fixture = Fixture::new(ports.0, ports.1, Fixture::fresh_queue(), facts, Arc::new(clock));
        Self::new(store, rival, Arc::new(shop), fixture)
    }
}

impl<S: Place> World<S> {
    pub(super) const FULL: Stock = Stock { available: 10, reserved: 0, sold: 0 };

    fn new(store: S, rival: S, shop: Arc<dyn Shop<S::Tx>>, fixture: Fixture) -> Self {
        let (store, rival) = (Arc::new(store), Arc::new(rival));
        let (timer, items) = (Arc::new(TokioTimer::new()), Uuid::now_v7());
        Self { store, rival, shop, fixture, timer, items, nodes: None }
    }

    /// The same on these nodes.
    pub(super) fn on(mut self, nodes: Nodes) -> Self {
        self.nodes = Some(nodes);
        self
    }

    /// Where it is, if that is a cluster.
    pub(super) fn nodes(&self) -> Option<&Nodes> {
        self.nodes.as_ref()
    }

    /// Waits until what was committed anywhere is seen everywhere.
    pub(super) async fn catch_up(&self) {
        if let Some(nodes) = &self.nodes {
            nodes.catch_up().await;
        }
    }

    /// How often a race is run: less often where a commit has to be certified by other nodes.
    pub(super) fn races(&self) -> usize {
        if self.nodes.is_some() { 60 } else { repetitions(1000) as usize }
    }

    /// Opens the shop; says what the stock is called in it.
    pub(super) async fn stock_up(&self) -> String {
        self.stock_up_with("stock", 10).await
    }

    pub(super) async fn stock_up_with(&self, what: &str, pieces: i64) -> String {
        let item = format!("{what}-{}", self.items.simple());
        let stocked =
            in_transaction(&*self.store, &*self.timer, |tx| work(self.shop.stock_up(tx, &item, pieces)));
        stocked.await.expect("an item");
        self.catch_up().await;
        item
    }

    pub(super) async fn stock(&self, item: &str) -> Stock {
        self.catch_up().await;
        let counted = in_transaction(&*self.rival, &*self.timer, |tx| work(self.shop.stock(tx, item)));
        counted.await.expect("a count")
    }

    pub(super) fn goods(&self, item: &str) -> Goods<S::Tx> {
        Goods { shop: self.shop.clone(), item: item.to_owned() }
    }

    /// Carries out one operation of the branch `stock`, three pieces of `item`, in a transaction of its own, once.
    pub(super) async fn once(
        &self,
        side: &Arc<S>,
        gid: &GlobalId,
        operation: Operation,
        item: &str,
    ) -> Result<(), TccError<ResourceError>> {
        self.catch_up().await;
        self.once_now(side, gid, operation, item).await
    }

    async fn once_now(
        &self,
        side: &Arc<S>,
        gid: &GlobalId,
        operation: Operation,
        item: &str,
    ) -> Result<(), TccError<ResourceError>> {
        let tx = side.begin_tx().await?;
        let done = self.in_tx(side, &tx, &call(gid, operation), item).await;
        match done {
            Ok(()) => side.commit_tx(tx).await?,
            Err(_) => side.roll_back_tx(tx).await?,
        }
        done
    }

    async fn in_tx(
        &self,
        side: &Arc<S>,
        tx: &S::Tx,
        call: &BranchCall,
        item: &str,
    ) -> Result<(), TccError<ResourceError>> {
        let (tcc, goods) = (Tcc::new(side.clone()), self.goods(item));
        let (gid, branch) = (&call.key.gid, &call.key.branch);
        match call.key.operation {
            Operation::Try => return tcc.try_(tx, gid, branch, |tx| goods.reserve(tx, call)).await,
            Operation::Confirm => tcc.confirm(tx, gid, branch, |tx| goods.confirm(tx, call)).await?,
            Operation::Cancel => tcc.cancel(tx, gid, branch, |tx| goods.release(tx, call)).await?,
        };
        Ok(())
    }

    /// The same, again and again while a retryable error comes; each such error is noted.
    pub(super) async fn carry_out(
        &self,
        side: &Arc<S>,
        gid: &GlobalId,
        operation: Operation,
        item: &str,
        errors: &mut Vec<String>,
    ) -> Result<(), TccError<ResourceError>> {
        loop {
            match self.once_now(side, gid, operation, item).await {
                Err(error) if error.store_error().is_some_and(StoreError::is_retryable) => {
                    errors.push(error.to_string());
                }
                done => return done,
            }
        }
    }

    /// Where the branch stands.
    pub(super) async fn state(&self, gid: &GlobalId, branch: &str) -> Option<BranchState> {
        self.catch_up().await;
        let (tcc, branch) = (Tcc::new(self.rival.clone()), branch.parse().expect("a name"));
        let found = in_transaction(&*self.rival, &*self.timer, |tx| work(tcc.state(tx, gid, &branch)));
        found.await.expect("a state")
    }

    /// A coordinator without participants, whose messages go to the fixture's queue.
    pub(super) fn coordinator(&self, side: &Arc<S>) -> Coordinator<S> {
        self.coordinator_as(side, self.config())
    }

    /// The same, configured so.
    pub(super) fn coordinator_as(&self, side: &Arc<S>, config: CoordinatorConfig) -> Coordinator<S> {
        Coordinator::new(side.clone(), self.timer.clone(), config).expect("a coordinator")
    }

    pub(super) fn config(&self) -> CoordinatorConfig {
        let alarms = QueueName::new(&format!("{}-alarms", self.fixture.queue())).expect("a name");
        CoordinatorConfig { queue: self.fixture.queue().clone(), alarms, ..CoordinatorConfig::default() }
    }

    /// Hands everything that is due to a coordinator and settles it; says how many messages there were.
    pub(super) async fn drive(&self, coordinator: &Coordinator<S>) -> usize {
        self.catch_up().await;
        let due = self.fixture.store.take_all().await;
        for claimed in &due {
            let verdict = coordinator.handle(claimed).await;
            let retry: &RetryPolicy = &coordinator.config().retry;
            let disposition = decide(verdict, claimed.attempt, retry, 7);
            self.fixture.store.settle(&claimed.receipt, disposition).await;
        }
        due.len()
    }

    /// Lets time pass until the coordinator has had nothing to do for longer than it ever waits.
    pub(super) async fn drive_to_the_end(&self, coordinator: &Coordinator<S>) {
        let step = Duration::from_secs(30);
        let longest = coordinator.config().deadline + coordinator.config().retry.cap;
        let (mut idle, mut rounds) = (Duration::ZERO, 0);
        while idle <= longest {
            idle = if self.drive(coordinator).await == 0 { idle + step } else { Duration::ZERO };
            self.fixture.advance(step).await;
            rounds += 1;
            assert!(rounds < 200, "it never comes to an end");
        }
        self.catch_up().await;
        assert_eq!(self.fixture.store.status().await.map_or(0, |status| status.depth + status.dead), 0);
    }
}

/// A unique global id.
pub(super) fn fresh_gid() -> GlobalId {
    GlobalId::new(&Uuid::now_v7().to_string()).expect("an id")
}

pub(super) fn call(gid: &GlobalId, operation: Operation) -> BranchCall {
    let key = BranchCallKey { gid: gid.clone(), branch: "stock".parse().expect("a name"), operation };
    BranchCall { key, payload: json!({"pieces": 3}) }
}
