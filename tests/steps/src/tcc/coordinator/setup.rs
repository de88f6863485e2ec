use claimstream::{in_transaction, work};
use claimstream_steps::tcc::{
    Branch, BranchCall, BranchState, Coordinator, CoordinatorConfig, GlobalId, GlobalTransaction,
    LocalParticipant, Operation,
};
use serde_json::json;

use super::script::{Script, Scripted};
use crate::tcc::{
    shop::{Goods, Stock},
    world::{Place, World, fresh_gid},
};

pub(super) const STOCK: &str = "stock";

pub(super) const COUPON: &str = "coupon";

pub(super) fn sold(of: i64, sold: i64) -> Stock {
    Stock { available: of - sold, reserved: 0, sold }
}

/// A shop that sells three pieces and a coupon together.
pub(super) struct Setup<S: Place> {
    pub(super) world: World<S>,
    items: [String; 2],
}

impl<S: Place> Setup<S> {
    pub(super) async fn open(world: World<S>, stock: i64, coupons: i64) -> Self {
        let items = [world.stock_up_with(STOCK, stock).await, world.stock_up_with(COUPON, coupons).await];
        Self { world, items }
    }

    pub(super) fn global(&self) -> GlobalTransaction {
        let branches = [(STOCK, 3), (COUPON, 1)];
        let branches =
            branches.map(|(name, pieces)| Branch::new(name, json!({ "pieces": pieces })).expect("a branch"));
        GlobalTransaction::new(fresh_gid(), branches).expect("a transaction")
    }

    pub(super) fn call(&self, global: &GlobalTransaction, branch: usize, operation: Operation) -> BranchCall {
        BranchCall::new(&global.gid, &global.branches[branch], operation)
    }

    pub(super) fn participant(&self, name: &str) -> LocalParticipant<S, Goods<S::Tx>> {
        let item = &self.items[if name == STOCK { 0 } else { 1 }];
        let goods = self.world.goods(item);
        let (store, timer) = (self.world.rival.clone(), self.world.timer.clone());
        LocalParticipant::new(store, timer, goods, &CoordinatorConfig::default()).expect("a participant")
    }

    pub(super) fn coordinator(&self, script: &Script) -> Coordinator<S> {
        self.coordinator_as(script, self.world.config())
    }

    pub(super) fn coordinator_as(&self, script: &Script, config: CoordinatorConfig) -> Coordinator<S> {
        let scripted = |name| Scripted { name, participant: self.participant(name), script: script.clone() };
        let coordinator = self.world.coordinator_as(&self.world.store, config);
        let coordinator = coordinator.with(STOCK, scripted(STOCK)).expect("a participant");
        coordinator.with(COUPON, scripted(COUPON)).expect("a participant")
    }

    pub(super) async fn begin(&self, coordinator: &Coordinator<S>, global: &GlobalTransaction) {
        let begun =
            in_transaction(&*self.world.store, &*self.world.timer, |tx| work(coordinator.begin(tx, global)));
        begun.await.expect("begin");
    }

    /// Runs a transaction in a process that dies when the script says so.
    pub(super) async fn run_and_die(&self, script: &Script, global: &GlobalTransaction) {
        let coordinator = self.coordinator(script);
        let died = tokio::select! {
            _ = coordinator.run(global) => false,
            () = script.has_died() => true,
        };
        assert_eq!(died, script.dies_in_run());
    }

    /// Takes what is due and dies in the middle of it; its lease ends.
    pub(super) async fn die_driving(&self, script: &Script, coordinator: &Coordinator<S>) {
        tokio::select! {
            _ = self.world.drive(coordinator) => {}
            () = script.has_died() => {}
        }
        self.world.fixture.advance(crate::LEASE).await;
    }

    pub(super) async fn states(&self, gid: &GlobalId) -> [Option<BranchState>; 2] {
        [self.world.state(gid, STOCK).await, self.world.state(gid, COUPON).await]
    }

    pub(super) async fn stocks(&self) -> [Stock; 2] {
        [self.world.stock(&self.items[0]).await, self.world.stock(&self.items[1]).await]
    }
}
