//! Many global transactions at once, for one stock and one pile of coupons that do not suffice for all, under drawn mishaps:
//! coordinators die at any call or are late, participants fail before and after their effect, calls come twice and much too
//! late, and so do messages.
//!
//! Whatever happens: the branches of a transaction end alike, nothing stays reserved, and what was sold is what was confirmed.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use claimstream::{RetryPolicy, in_transaction, work};
use claimstream_domain::{Claimed, Settlement, Verdict, decide};
use claimstream_ports::Handler;
use claimstream_steps::tcc::{
    Branch, BranchCall, BranchState, Coordinator, CoordinatorConfig, CoordinatorError, GlobalState,
    GlobalTransaction, LocalParticipant, Participant, ParticipantError,
};
use futures::future::{join_all, pending};
use serde_json::json;
use tokio::sync::Notify;

use super::{
    shop::{Goods, Stock},
    world::{Place, World, fresh_gid},
};
use crate::{
    fixture::Random,
    sagas::{Draw, Ends},
    suite::STUCK,
};
use BranchState::{Cancelled, Confirmed, EmptyRollback};

const STOCK: &str = "stock";
const COUPON: &str = "coupon";
const PIECES: i64 = 3;
const COURIERS: usize = 3;

/// Runs a draw and answers how the transactions ended; panics if one ended as it must not.
pub(super) async fn run<S: Place>(world: World<S>, draw: Draw) -> Ends {
    let ran = tokio::time::timeout(STUCK, run_draw(world, draw)).await;
    ran.unwrap_or_else(|_| panic!("stuck: {draw:?}"))
}

async fn run_draw<S: Place>(world: World<S>, draw: Draw) -> Ends {
    let setup = Arc::new(Setup::open(world, draw).await);
    let couriers: Vec<_> = (0..COURIERS).map(|n| tokio::spawn(setup.clone().carry(n))).collect();
    let runners: Vec<_> = (0..draw.at_once).map(|n| tokio::spawn(setup.clone().run(n))).collect();
    join_all(runners).await.into_iter().for_each(|ran| ran.expect("a runner"));
    setup.mishaps.begun.store(true, Ordering::SeqCst);
    join_all(couriers).await.into_iter().for_each(|carried| carried.expect("a courier"));
    setup.clear_up().await;
    setup.check().await
}

/// What goes wrong, and what has gone wrong.
struct Mishaps {
    lots: Mutex<Random>,
    count: AtomicUsize,
    /// Calls that are on their way.
    late: Mutex<Vec<(&'static str, BranchCall)>>,
    /// Every runner has ended.
    begun: AtomicBool,
    over: AtomicBool,
}

impl Mishaps {
    fn below(&self, end: usize) -> usize {
        self.lots.lock().unwrap_or_else(PoisonError::into_inner).below(end)
    }

    /// What is drawn out of a hundred; the first `share` are mishaps.
    fn draw(&self, share: usize) -> usize {
        if self.over.load(Ordering::SeqCst) {
            return 99;
        }
        let lot = self.below(100);
        self.count.fetch_add(usize::from(lot < share), Ordering::SeqCst);
        lot
    }

    fn late(&self) -> std::sync::MutexGuard<'_, Vec<(&'static str, BranchCall)>> {
        self.late.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A participant to which things happen, in a process that may die.
struct Drawn<P> {
    name: &'static str,
    participant: P,
    mishaps: Arc<Mishaps>,
    death: Arc<Notify>,
}

impl<P> Drawn<P> {
    async fn die(&self) -> Result<(), ParticipantError> {
        self.death.notify_one();
        pending().await
    }
}

#[async_trait]
impl<P: Participant> Participant for Drawn<P> {
    async fn carry_out(&self, call: &BranchCall) -> Result<(), ParticipantError> {
        match self.mishaps.draw(48) {
            0..10 => Err(ParticipantError::failed("it cannot be reached")),
            10..18 => {
                let _ = self.participant.carry_out(call).await;
                Err(ParticipantError::failed("its answer is lost"))
            }
            18..24 => self.die().await,
            24..30 => {
                let _ = self.participant.carry_out(call).await;
                self.die().await
            }
            30..40 => futures::join!(self.participant.carry_out(call), self.participant.carry_out(call)).1,
            40..48 => {
                self.mishaps.late().push((self.name, call.clone()));
                Err(ParticipantError::failed("it is on its way"))
            }
            _ => self.participant.carry_out(call).await,
        }
    }
}

struct Setup<S: Place> {
    world: World<S>,
    items: [String; 2],
    before: [i64; 2],
    globals: Vec<GlobalTransaction>,
    mishaps: Arc<Mishaps>,
}

impl<S: Place> Setup<S> {
    async fn open(world: World<S>, draw: Draw) -> Self {
        // Enough of the one for three of four, and of the other for two of three.
        let before = [PIECES * (draw.at_once * 3 / 4) as i64, (draw.at_once * 2 / 3) as i64];
        let items =
            [world.stock_up_with(STOCK, before[0]).await, world.stock_up_with(COUPON, before[1]).await];
        let mishaps = Mishaps {
            lots: Mutex::new(Random(draw.seed)),
            count: AtomicUsize::new(0),
            late: Mutex::default(),
            begun: AtomicBool::new(false),
            over: AtomicBool::new(false),
        };
        let globals = (0..draw.at_once).map(|_| global()).collect();
        Self { world, items, before, globals, mishaps: Arc::new(mishaps) }
    }

    fn participant(&self, name: &str) -> LocalParticipant<S, Goods<S::Tx>> {
        let item = &self.items[usize::from(name != STOCK)];
        let (store, timer) = (self.world.rival.clone(), self.world.timer.clone());
        LocalParticipant::new(store, timer, self.world.goods(item), &CoordinatorConfig::default())
            .expect("a participant")
    }

    /// A coordinator of a process that dies when it says so.
    fn coordinator(&self, side: &Arc<S>, death: &Arc<Notify>) -> Coordinator<S> {
        let drawn = |name| Drawn {
            name,
            participant: self.participant(name),
            mishaps: self.mishaps.clone(),
            death: death.clone(),
        };
        let named =
            |coordinator: Coordinator<S>, name| coordinator.with(name, drawn(name)).expect("a new name");
        // A run waits by the clock of the machine before it tries again.
        let pause = Duration::from_millis(1);
        let retry = RetryPolicy { base: pause, cap: pause, ..self.world.config().retry };
        let config = CoordinatorConfig { retry, ..self.world.config() };
        named(named(self.world.coordinator_as(side, config), STOCK), COUPON)
    }

    /// Begins a transaction: here and now, by two processes at once, or over the outbox.
    async fn run(self: Arc<Self>, n: usize) {
        let global = &self.globals[n];
        match self.mishaps.below(100) {
            0..60 => self.run_in(&self.world.store, global).await,
            60..75 => {
                futures::join!(
                    self.run_in(&self.world.store, global),
                    self.run_in(&self.world.rival, global)
                );
            }
            _ => {
                let coordinator = self.coordinator(&self.world.store, &Arc::default());
                let (store, timer) = (&*self.world.store, &*self.world.timer);
                let begun = in_transaction(store, timer, |tx| work(coordinator.begin(tx, global)));
                begun.await.expect("begin");
            }
        }
    }

    async fn run_in(&self, side: &Arc<S>, global: &GlobalTransaction) {
        let death = Arc::new(Notify::new());
        let coordinator = self.coordinator(side, &death);
        let ran = tokio::select! {
            ran = coordinator.run(global) => ran,
            () = death.notified() => return,
        };
        assert!(matches!(ran, Ok(_) | Err(CoordinatorError::Store(_))), "{ran:?}");
    }

    /// Brings messages to coordinators, and late calls to participants, until every runner is done and nothing comes.
    async fn carry(self: Arc<Self>, n: usize) {
        let side = if n.is_multiple_of(2) { &self.world.fixture.store } else { &self.world.fixture.rival };
        let mut idle = 0;
        while idle < 10 {
            let Some(claimed) = side.try_claim(1 + self.mishaps.below(4) as u32).await else { continue };
            let ends = claimed.is_empty() && self.mishaps.begun.load(Ordering::SeqCst);
            idle = if ends { idle + 1 } else { 0 };
            for one in &claimed {
                self.bring(side, one).await;
            }
            if self.mishaps.below(3) == 0 {
                self.bring_a_late_call().await;
            }
            self.world.fixture.advance(Duration::from_secs(self.mishaps.below(25) as u64)).await;
            tokio::task::yield_now().await;
        }
    }

    async fn bring(&self, side: &crate::Instance, one: &Claimed) {
        let verdict = match self.mishaps.draw(30) {
            0..15 => futures::join!(self.handle(one), self.handle(one)).1,
            15..30 => {
                let verdict = self.handle(one).await;
                // Beyond the claim's lease.
                self.world.fixture.advance(crate::LEASE + crate::LEASE / 2).await;
                verdict
            }
            _ => self.handle(one).await,
        };
        let Some(verdict) = verdict else { return };
        assert!(!matches!(verdict, Verdict::Bury { .. }), "{one:?}: {verdict:?}");
        let retry = self.world.coordinator(&self.world.store).config().retry.clone();
        // If that fails, the message comes again when its claim has ended.
        let disposition = decide(verdict, one.attempt, &retry, 7);
        side.try_settle(vec![Settlement { receipt: one.receipt.clone(), disposition }]).await;
    }

    /// What a coordinator says; nothing if it died.
    async fn handle(&self, one: &Claimed) -> Option<Verdict> {
        let death = Arc::new(Notify::new());
        let coordinator = self.coordinator(&self.world.rival, &death);
        tokio::select! {
            verdict = coordinator.handle(one) => Some(verdict),
            () = death.notified() => None,
        }
    }

    async fn bring_a_late_call(&self) {
        let late = self.mishaps.late().pop();
        if let Some((name, call)) = late {
            let _ = self.participant(name).carry_out(&call).await;
        }
    }

    /// Nothing goes wrong any more; calls that are on their way arrive before and after the end.
    async fn clear_up(&self) {
        self.mishaps.over.store(true, Ordering::SeqCst);
        let late = self.mishaps.late().clone();
        for _ in 0..late.len() / 2 {
            self.bring_a_late_call().await;
        }
        let coordinator = self.coordinator(&self.world.store, &Arc::default());
        self.world.drive_to_the_end(&coordinator).await;
        for (name, call) in late {
            let _ = self.participant(name).carry_out(&call).await;
        }
        assert_eq!(self.world.drive(&coordinator).await, 0);
    }

    async fn check(&self) -> Ends {
        self.world.catch_up().await;
        let coordinator = self.coordinator(&self.world.store, &Arc::default());
        let mut ends = Ends { mishaps: self.mishaps.count.load(Ordering::SeqCst), ..Ends::default() };
        for GlobalTransaction { gid, .. } in &self.globals {
            let state = coordinator.state(gid).await.expect("a state");
            let branches = [self.world.state(gid, STOCK).await, self.world.state(gid, COUPON).await];
            match state {
                Some(GlobalState::Confirmed) => {
                    ends.made += 1;
                    assert_eq!(branches, [Some(Confirmed), Some(Confirmed)], "{gid}");
                }
                Some(GlobalState::Cancelled) => {
                    ends.called_off += 1;
                    let undone = |branch: &_| matches!(branch, Some(Cancelled | EmptyRollback));
                    assert!(branches.iter().all(undone), "{gid}: {branches:?}");
                }
                other => panic!("{gid} has not ended: {other:?}, {branches:?}"),
            }
        }
        let made = ends.made as i64;
        for ((item, before), each) in self.items.iter().zip(self.before).zip([PIECES, 1]) {
            let sold = each * made;
            let expected = Stock { available: before - sold, reserved: 0, sold };
            assert_eq!(self.world.stock(item).await, expected, "{item} after {ends}");
        }
        ends
    }
}

fn global() -> GlobalTransaction {
    let branches = [(STOCK, PIECES), (COUPON, 1)];
    let branches =
        branches.map(|(name, pieces)| Branch::new(name, json!({ "pieces": pieces })).expect("a branch"));
    GlobalTransaction::new(fresh_gid(), branches).expect("a transaction")
}
