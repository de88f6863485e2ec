use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use claimstream::{in_transaction, work};
use claimstream_steps::tcc::{
    Branch, BranchCall, BranchState, Coordinator, CoordinatorError, Decision, GlobalId, GlobalState,
    GlobalTransaction, LocalParticipant, Operation, Participant, ParticipantError, TccAlarm,
};
use serde_json::json;

use super::{
    Scenario, listed,
    shop::{Goods, Stock},
    world::{Place, World, fresh_gid},
};
use BranchState::{Cancelled, Confirmed, EmptyRollback, Tried};

pub(super) fn scenarios<S: Place>() -> Vec<Scenario<S>> {
    listed![
        a3_6_all_branches_that_can_be_tried_are_confirmed,
        a3_6_one_refused_try_cancels_every_branch_and_the_refused_one_is_an_empty_rollback,
        a3_6_a_coordinator_that_dies_after_a_try_is_cleaned_up_by_its_check_message_at_the_deadline,
        a3_6_wherever_a_coordinator_dies_all_branches_end_alike,
        a3_6_a_try_that_fails_is_made_again_until_the_deadline_cancels,
        a3_6_confirm_is_repeated_past_the_deadline_until_it_succeeds,
        a3_6_a_refusal_after_the_decision_raises_one_alarm_and_is_repeated,
        a3_6_a_second_participant_of_one_name_is_refused,
        a3_6_a_check_that_decides_while_branches_are_tried_wins,
        a3_6_a_check_that_decides_when_every_branch_is_tried_wins,
        a3_6_what_a_run_has_decided_is_carried_out_at_once,
        a3_6_a_transaction_that_was_not_committed_is_not_driven,
        a3_6_an_id_that_is_used_again_is_the_same_transaction_or_refused,
    ]
}

async fn a3_6_all_branches_that_can_be_tried_are_confirmed<S: Place>(world: World<S>) {
    let setup = Setup::open(world, 10, 1).await;
    let coordinator = setup.coordinator(&Script::default());
    let (over_the_outbox, here) = (setup.global(), setup.global());
    setup.begin(&coordinator, &over_the_outbox).await;
    let gid = &over_the_outbox.gid;
    assert_eq!(setup.world.drive(&coordinator).await, 1, "the check message comes later");
    assert_eq!(coordinator.state(gid).await.expect("a state"), Some(GlobalState::Confirmed));
    assert_eq!(setup.states(gid).await, [Some(Confirmed), Some(Confirmed)]);
    assert_eq!(setup.stocks().await, [sold(10, 3), sold(1, 1)]);
    let refused = coordinator.run(&here).await.expect("a decision");
    assert!(matches!(refused, Decision::Cancel(Some(ParticipantError::Refused { .. }))), "{refused:?}");
    setup.world.drive_to_the_end(&coordinator).await;
    assert_eq!(setup.states(&here.gid).await, [Some(Cancelled), Some(EmptyRollback)]);
    assert_eq!(setup.states(gid).await, [Some(Confirmed), Some(Confirmed)]);
    assert_eq!(setup.stocks().await, [sold(10, 3), sold(1, 1)]);
}

async fn a3_6_one_refused_try_cancels_every_branch_and_the_refused_one_is_an_empty_rollback<S: Place>(
    world: World<S>,
) {
    let setup = Setup::open(world, 10, 0).await;
    let coordinator = setup.coordinator(&Script::default());
    let global = setup.global();
    setup.begin(&coordinator, &global).await;
    setup.world.drive(&coordinator).await;
    assert_eq!(coordinator.state(&global.gid).await.expect("a state"), Some(GlobalState::Cancelled));
    assert_eq!(setup.states(&global.gid).await, [Some(Cancelled), Some(EmptyRollback)]);
    assert_eq!(setup.stocks().await, [sold(10, 0), sold(0, 0)]);
    setup.world.drive_to_the_end(&coordinator).await;
    assert_eq!(setup.stocks().await, [sold(10, 0), sold(0, 0)]);
}

async fn a3_6_a_coordinator_that_dies_after_a_try_is_cleaned_up_by_its_check_message_at_the_deadline<
    S: Place,
>(
    world: World<S>,
) {
    let setup = Setup::open(world, 10, 1).await;
    let global = setup.global();
    let script = Script { dies_at: Some((2, Moment::Before)), ..Script::default() };
    setup.run_and_die(&script, &global).await;
    assert_eq!(setup.states(&global.gid).await, [Some(Tried), None]);
    let other = setup.coordinator(&Script::default());
    setup.world.fixture.advance(other.config().deadline - Duration::from_micros(1)).await;
    assert_eq!(setup.world.drive(&other).await, 0, "the deadline has not passed");
    setup.world.fixture.advance(Duration::from_micros(1)).await;
    assert_eq!(setup.world.drive(&other).await, 1);
    assert_eq!(other.state(&global.gid).await.expect("a state"), Some(GlobalState::Cancelled));
    assert_eq!(setup.states(&global.gid).await, [Some(Cancelled), Some(EmptyRollback)]);
    assert_eq!(setup.stocks().await, [sold(10, 0), sold(1, 0)]);
    let late = setup.participant(COUPON).carry_out(&setup.call(&global, 1, Operation::Try)).await;
    assert!(matches!(late, Err(ParticipantError::Refused { .. })), "the Try that was under way: {late:?}");
    assert_eq!(setup.stocks().await, [sold(10, 0), sold(1, 0)]);
}

async fn a3_6_wherever_a_coordinator_dies_all_branches_end_alike<S: Place>(world: World<S>) {
    let setup = Setup::open(world, 100, 100).await;
    let (mut confirmed, mut cancelled) = (0, 0);
    for call in 1..=4 {
        for moment in [Moment::Before, Moment::After] {
            let global = setup.global();
            let script = Script { dies_at: Some((call, moment)), ..Script::default() };
            setup.run_and_die(&script, &global).await;
            let doomed = setup.coordinator(&script.clone().after(2));
            setup.die_driving(&doomed).await;
            let other = setup.coordinator(&Script::default());
            setup.world.drive_to_the_end(&other).await;
            match other.state(&global.gid).await.expect("a state") {
                Some(GlobalState::Confirmed) => {
                    confirmed += 1;
                    assert_eq!(setup.states(&global.gid).await, [Some(Confirmed), Some(Confirmed)]);
                }
                Some(GlobalState::Cancelled) => {
                    cancelled += 1;
                    let states = setup.states(&global.gid).await;
                    assert!(
                        states.iter().all(|state| matches!(state, Some(Cancelled | EmptyRollback))),
                        "{states:?}"
                    );
                }
                other => panic!("died {moment:?} call {call}: {other:?}"),
            }
            assert_eq!(setup.stocks().await, [sold(100, 3 * confirmed), sold(100, confirmed)]);
        }
    }
    assert_eq!((confirmed, cancelled), (4, 4), "a death while confirming does not cancel");
}

async fn a3_6_a_try_that_fails_is_made_again_until_the_deadline_cancels<S: Place>(world: World<S>) {
    let setup = Setup::open(world, 10, 1).await;
    let script = Script { fails: Some((COUPON, Operation::Try, u32::MAX)), ..Script::default() };
    let coordinator = setup.coordinator(&script);
    let global = setup.global();
    setup.begin(&coordinator, &global).await;
    assert_eq!(setup.world.drive(&coordinator).await, 1);
    assert_eq!(coordinator.state(&global.gid).await.expect("a state"), Some(GlobalState::Trying));
    assert_eq!(setup.states(&global.gid).await, [Some(Tried), None]);
    setup.world.drive_to_the_end(&coordinator).await;
    assert!(script.calls(COUPON, Operation::Try) >= 2, "it was tried once only");
    assert_eq!(setup.states(&global.gid).await, [Some(Cancelled), Some(EmptyRollback)]);
    assert_eq!(setup.stocks().await, [sold(10, 0), sold(1, 0)]);
}

async fn a3_6_confirm_is_repeated_past_the_deadline_until_it_succeeds<S: Place>(world: World<S>) {
    let setup = Setup::open(world, 10, 1).await;
    let script = Script { fails: Some((COUPON, Operation::Confirm, 30)), ..Script::default() };
    let coordinator = setup.coordinator(&script);
    let global = setup.global();
    assert_eq!(coordinator.run(&global).await.expect("a decision"), Decision::Confirm);
    setup.world.drive(&coordinator).await;
    setup.world.fixture.advance(2 * coordinator.config().deadline).await;
    setup.world.drive(&coordinator).await;
    assert_eq!(coordinator.state(&global.gid).await.expect("a state"), Some(GlobalState::Confirming));
    assert_eq!(setup.states(&global.gid).await, [Some(Confirmed), Some(Tried)]);
    setup.world.drive_to_the_end(&coordinator).await;
    assert!(script.calls(COUPON, Operation::Confirm) > 30);
    assert_eq!(setup.states(&global.gid).await, [Some(Confirmed), Some(Confirmed)]);
    assert_eq!(setup.stocks().await, [sold(10, 3), sold(1, 1)]);
    assert_eq!(script.calls(COUPON, Operation::Cancel), 0);
}

async fn a3_6_a_refusal_after_the_decision_raises_one_alarm_and_is_repeated<S: Place>(world: World<S>) {
    let setup = Setup::open(world, 10, 1).await;
    let script = Script { refuses: Some((COUPON, Operation::Confirm, 5)), ..Script::default() };
    let coordinator = setup.coordinator(&script);
    let global = setup.global();
    assert_eq!(coordinator.run(&global).await.expect("a decision"), Decision::Confirm);
    setup.world.drive_to_the_end(&coordinator).await;
    assert!(script.calls(COUPON, Operation::Confirm) > 5);
    assert_eq!(setup.states(&global.gid).await, [Some(Confirmed), Some(Confirmed)]);
    let alarms = setup.world.fixture.store.on(&coordinator.config().alarms).take_all().await;
    let alarms: Vec<TccAlarm> = alarms
        .iter()
        .map(|alarm| serde_json::from_slice(alarm.message.payload.bytes()).expect("an alarm"))
        .filter(|alarm: &TccAlarm| alarm.gid == global.gid.as_str())
        .collect();
    let expected = TccAlarm {
        gid: global.gid.to_string(),
        branch: COUPON.into(),
        participant: COUPON.into(),
        operation: "confirm".into(),
        reason: "it has changed its mind".into(),
    };
    assert_eq!(alarms, [expected]);
}

async fn a3_6_a_second_participant_of_one_name_is_refused<S: Place>(world: World<S>) {
    let setup = Setup::open(world, 10, 1).await;
    let coordinator = setup.coordinator(&Script::default());
    let refused = coordinator.with(COUPON, setup.participant(STOCK)).expect_err("a name that is taken");
    assert!(refused.to_string().contains(&format!("a participant {COUPON:?} already")), "{refused}");
}

async fn a3_6_a_check_that_decides_while_branches_are_tried_wins<S: Place>(world: World<S>) {
    let setup = Arc::new(Setup::open(world, 10, 1).await);
    let slow = Script::default();
    let (coordinator, global) = (setup.coordinator(&slow), setup.global());
    slow.check_meanwhile(&setup, Moment::Before);
    let decision = coordinator.run(&global).await.expect("a decision");
    assert!(matches!(decision, Decision::Cancel(_)), "{decision:?}");
    setup.world.drive_to_the_end(&coordinator).await;
    assert_eq!(coordinator.state(&global.gid).await.expect("a state"), Some(GlobalState::Cancelled));
    assert_eq!(setup.states(&global.gid).await, [Some(Cancelled), Some(EmptyRollback)]);
    assert_eq!(setup.stocks().await, [sold(10, 0), sold(1, 0)]);
}

/// The run has tried everything and has read that nothing is decided.
async fn a3_6_a_check_that_decides_when_every_branch_is_tried_wins<S: Place>(world: World<S>) {
    let setup = Arc::new(Setup::open(world, 10, 1).await);
    let slow = Script::default();
    let (coordinator, global) = (setup.coordinator(&slow), setup.global());
    slow.check_meanwhile(&setup, Moment::After);
    assert_eq!(coordinator.run(&global).await.expect("a decision"), Decision::Cancel(None));
    setup.world.drive_to_the_end(&coordinator).await;
    assert_eq!(coordinator.state(&global.gid).await.expect("a state"), Some(GlobalState::Cancelled));
    assert_eq!(setup.states(&global.gid).await, [Some(Cancelled), Some(Cancelled)]);
    assert_eq!(setup.stocks().await, [sold(10, 0), sold(1, 0)]);
}

async fn a3_6_what_a_run_has_decided_is_carried_out_at_once<S: Place>(world: World<S>) {
    let setup = Setup::open(world, 10, 1).await;
    let coordinator = setup.coordinator(&Script::default());
    for (decided, ended) in
        [(Decision::Confirm, GlobalState::Confirmed), (Decision::Cancel(None), GlobalState::Cancelled)]
    {
        let global = setup.global();
        let told = coordinator.run(&global).await.expect("a decision");
        assert_eq!(std::mem::discriminant(&told), std::mem::discriminant(&decided), "{told:?}");
        assert_eq!(setup.world.drive(&coordinator).await, 1, "the check message comes later");
        assert_eq!(coordinator.state(&global.gid).await.expect("a state"), Some(ended));
    }
    setup.world.drive_to_the_end(&coordinator).await;
}

async fn a3_6_a_transaction_that_was_not_committed_is_not_driven<S: Place>(world: World<S>) {
    let setup = Setup::open(world, 10, 1).await;
    let (coordinator, global) = (setup.coordinator(&Script::default()), setup.global());
    let tx = setup.world.store.begin_tx().await.expect("begin");
    coordinator.begin(&tx, &global).await.expect("begin");
    setup.world.store.roll_back_tx(tx).await.expect("roll back");
    setup.world.drive_to_the_end(&coordinator).await;
    assert_eq!(coordinator.state(&global.gid).await.expect("a state"), None);
    assert_eq!(setup.states(&global.gid).await, [None, None]);
}

async fn a3_6_an_id_that_is_used_again_is_the_same_transaction_or_refused<S: Place>(world: World<S>) {
    let setup = Setup::open(world, 10, 1).await;
    let (coordinator, global) = (setup.coordinator(&Script::default()), setup.global());
    assert_eq!(coordinator.run(&global).await.expect("a decision"), Decision::Confirm);
    assert_eq!(coordinator.run(&global).await.expect("the same decision"), Decision::Confirm);
    setup.begin(&coordinator, &global).await;
    setup.world.drive_to_the_end(&coordinator).await;
    assert_eq!(coordinator.run(&global).await.expect("the same decision"), Decision::Confirm);
    assert_eq!(setup.stocks().await, [sold(10, 3), sold(1, 1)]);
    let mut other = global.clone();
    other.branches.pop();
    let taken = coordinator.run(&other).await;
    assert!(matches!(taken, Err(CoordinatorError::IdTaken(_))), "{taken:?}");
    other.branches[0].participant = "nobody".into();
    let unknown = coordinator.run(&other).await;
    assert!(matches!(unknown, Err(CoordinatorError::UnknownParticipant(_))), "{unknown:?}");
}

const STOCK: &str = "stock";
const COUPON: &str = "coupon";

fn sold(of: i64, sold: i64) -> Stock {
    Stock { available: of - sold, reserved: 0, sold }
}

/// A shop that sells three pieces and a coupon together.
struct Setup<S: Place> {
    world: World<S>,
    items: [String; 2],
}

impl<S: Place> Setup<S> {
    async fn open(world: World<S>, stock: i64, coupons: i64) -> Self {
        let items = [world.stock_up_with(STOCK, stock).await, world.stock_up_with(COUPON, coupons).await];
        Self { world, items }
    }

    fn global(&self) -> GlobalTransaction {
        let branches = [(STOCK, 3), (COUPON, 1)];
        let branches =
            branches.map(|(name, pieces)| Branch::new(name, json!({ "pieces": pieces })).expect("a branch"));
        GlobalTransaction::new(fresh_gid(), branches).expect("a transaction")
    }

    fn call(&self, global: &GlobalTransaction, branch: usize, operation: Operation) -> BranchCall {
        BranchCall::new(&global.gid, &global.branches[branch], operation)
    }

    fn participant(&self, name: &str) -> LocalParticipant<S, Goods<S::Tx>> {
        let item = &self.items[if name == STOCK { 0 } else { 1 }];
        let goods = self.world.goods(item);
        LocalParticipant::new(self.world.rival.clone(), self.world.timer.clone(), goods)
    }

    fn coordinator(&self, script: &Script) -> Coordinator<S> {
        let scripted = |name| Scripted { name, participant: self.participant(name), script: script.clone() };
        let coordinator = self.world.coordinator(&self.world.store);
        let coordinator = coordinator.with(STOCK, scripted(STOCK)).expect("a participant");
        coordinator.with(COUPON, scripted(COUPON)).expect("a participant")
    }

    async fn begin(&self, coordinator: &Coordinator<S>, global: &GlobalTransaction) {
        let begun =
            in_transaction(&*self.world.store, &*self.world.timer, |tx| work(coordinator.begin(tx, global)));
        begun.await.expect("begin");
    }

    /// Runs a transaction in a process that dies when the script says so.
    async fn run_and_die(&self, script: &Script, global: &GlobalTransaction) {
        let coordinator = self.coordinator(script);
        let patience = Duration::from_millis(if script.dies_in_run() { 400 } else { 60_000 });
        let ran = tokio::time::timeout(patience, coordinator.run(global)).await;
        assert_eq!(ran.is_err(), script.dies_in_run(), "{ran:?}");
    }

    /// Takes what is due and dies in the middle of it; its lease ends.
    async fn die_driving(&self, coordinator: &Coordinator<S>) {
        let _ = tokio::time::timeout(Duration::from_millis(400), self.world.drive(coordinator)).await;
        self.world.fixture.advance(crate::LEASE).await;
    }

    async fn states(&self, gid: &GlobalId) -> [Option<BranchState>; 2] {
        [self.world.state(gid, STOCK).await, self.world.state(gid, COUPON).await]
    }

    async fn stocks(&self) -> [Stock; 2] {
        [self.world.stock(&self.items[0]).await, self.world.stock(&self.items[1]).await]
    }
}

/// When a process dies: before or after a call has taken effect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Moment {
    Before,
    After,
}

type Meanwhile = Box<dyn Fn() -> futures::future::BoxFuture<'static, ()> + Send + Sync>;

/// What goes wrong in a process, and what it has called.
#[derive(Clone, Default)]
struct Script {
    /// At which of its calls it dies.
    dies_at: Option<(u32, Moment)>,
    /// Which call fails how often.
    fails: Option<(&'static str, Operation, u32)>,
    /// Which call is refused how often.
    refuses: Option<(&'static str, Operation, u32)>,
    /// What happens before or after the second Try.
    meanwhile: Arc<Mutex<Option<(Moment, Meanwhile)>>>,
    count: Arc<AtomicU32>,
    called: Arc<Mutex<Vec<(&'static str, Operation)>>>,
}

impl Script {
    /// At the second Try the deadline passes, and somebody else has the check message.
    fn check_meanwhile<S: Place>(&self, setup: &Arc<Setup<S>>, moment: Moment) {
        let setup = setup.clone();
        let check: Meanwhile = Box::new(move || {
            let setup = setup.clone();
            Box::pin(async move {
                let other = setup.coordinator(&Script::default());
                setup.world.fixture.advance(other.config().deadline).await;
                assert_eq!(setup.world.drive(&other).await, 1, "the check");
            })
        });
        *self.meanwhile.lock().unwrap_or_else(PoisonError::into_inner) = Some((moment, check));
    }

    /// Lets happen what is to happen at this moment of a call.
    async fn comes_to(&self, number: u32, moment: Moment) {
        let meanwhile = {
            let mut meanwhile = self.meanwhile.lock().unwrap_or_else(PoisonError::into_inner);
            meanwhile.take_if(|(at, _)| number == 2 && *at == moment)
        };
        if let Some((_, happens)) = meanwhile {
            happens().await;
        }
    }

    fn calls(&self, name: &str, operation: Operation) -> usize {
        let called = self.called.lock().unwrap_or_else(PoisonError::into_inner);
        called.iter().filter(|call| **call == (name, operation)).count()
    }

    /// The same script for a process that goes on where `calls` calls have been made.
    fn after(self, calls: u32) -> Self {
        Self { count: Arc::new(AtomicU32::new(calls)), ..self }
    }

    /// The two Tries are made in the run, the rest over the outbox.
    fn dies_in_run(&self) -> bool {
        self.dies_at.is_some_and(|(call, _)| call <= 2)
    }
}

/// A participant to which things happen.
struct Scripted<P> {
    name: &'static str,
    participant: P,
    script: Script,
}

#[async_trait]
impl<P: Participant> Participant for Scripted<P> {
    async fn carry_out(&self, call: &BranchCall) -> Result<(), ParticipantError> {
        let (script, operation) = (&self.script, call.key.operation);
        let number = script.count.fetch_add(1, Ordering::SeqCst) + 1;
        script.called.lock().unwrap_or_else(PoisonError::into_inner).push((self.name, operation));
        script.comes_to(number, Moment::Before).await;
        if matches!(script.dies_at, Some((at, Moment::Before)) if at == number) {
            futures::future::pending::<()>().await;
        }
        let still = |call: Option<(&'static str, Operation, u32)>| {
            call.is_some_and(|(name, at, times)| {
                (name, at) == (self.name, operation) && script.calls(name, at) <= times as usize
            })
        };
        if still(script.fails) {
            return Err(ParticipantError::failed("it cannot be reached"));
        }
        if still(script.refuses) {
            return Err(ParticipantError::refused("it has changed its mind"));
        }
        let done = self.participant.carry_out(call).await;
        script.comes_to(number, Moment::After).await;
        if matches!(script.dies_at, Some((at, Moment::After)) if at == number) {
            futures::future::pending::<()>().await;
        }
        done
    }
}
