//! Coordinators that die, and participants that fail or refuse.

use std::time::Duration;

use claimstream::RetryPolicy;
use claimstream_steps::tcc::BranchState::{Cancelled, Confirmed, EmptyRollback, Tried};
use claimstream_steps::tcc::{
    BranchCall, Coordinator, CoordinatorConfig, Decision, GlobalState, GlobalTransaction, Operation,
    Participant, ParticipantError, TccAlarm, TccAlarmKind,
};

use super::{
    script::{Moment, Script},
    setup::{COUPON, STOCK, Setup, sold},
};
use crate::tcc::world::{Place, World};

pub(super) async fn a3_6_a_coordinator_that_dies_after_a_try_is_cleaned_up_by_its_check_message_at_the_deadline<
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

pub(super) async fn a3_6_wherever_a_coordinator_dies_all_branches_end_alike<S: Place>(world: World<S>) {
    let setup = Setup::open(world, 100, 100).await;
    let (mut confirmed, mut cancelled) = (0, 0);
    for call in 1..=4 {
        for moment in [Moment::Before, Moment::After] {
            let global = setup.global();
            let script = Script { dies_at: Some((call, moment)), ..Script::default() };
            setup.run_and_die(&script, &global).await;
            let doomed = setup.coordinator(&script.clone().after(2));
            setup.die_driving(&script, &doomed).await;
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

pub(super) async fn a3_6_a_try_that_fails_is_made_again_until_the_deadline_cancels<S: Place>(
    world: World<S>,
) {
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

/// Guard: a Try that fails in a run is made again there | app/steps/src/tcc/coordinator.rs `run`: `try_all`
pub(super) async fn a3_6_a_try_that_fails_once_in_a_run_is_made_again_there<S: Place>(world: World<S>) {
    let setup = Setup::open(world, 10, 1).await;
    let script = Script { fails: Some((COUPON, Operation::Try, 1)), ..Script::default() };
    let retry = RetryPolicy { base: Duration::from_millis(1), ..RetryPolicy::default() };
    let coordinator = setup.coordinator_as(&script, CoordinatorConfig { retry, ..setup.world.config() });
    let global = setup.global();
    assert_eq!(coordinator.run(&global).await.expect("a decision"), Decision::Confirm);
    setup.world.drive_to_the_end(&coordinator).await;
    assert_eq!(setup.states(&global.gid).await, [Some(Confirmed), Some(Confirmed)]);
    assert_eq!(setup.stocks().await, [sold(10, 3), sold(1, 1)]);
}

/// Guard: a run whose Tries fail for long decides nothing and has them made again | app/steps/src/tcc/coordinator.rs
/// `leave`: no messages
pub(super) async fn a3_6_a_try_that_fails_for_long_in_a_run_is_left_to_the_outbox<S: Place>(world: World<S>) {
    let setup = Setup::open(world, 10, 1).await;
    let script = Script { fails: Some((COUPON, Operation::Try, 1)), ..Script::default() };
    // The first wait is longer than a run lasts.
    let config = CoordinatorConfig { deadline: Duration::from_micros(1), ..setup.world.config() };
    let coordinator = setup.coordinator_as(&script, config);
    let global = setup.global();
    let decision = coordinator.run(&global).await.expect("an answer");
    assert!(matches!(decision, Decision::Undecided(ParticipantError::Failed { .. })), "{decision:?}");
    assert_eq!(setup.states(&global.gid).await, [Some(Tried), None]);
    assert_eq!(setup.world.drive(&coordinator).await, 1);
    assert_eq!(setup.states(&global.gid).await, [Some(Confirmed), Some(Confirmed)]);
    assert_eq!(coordinator.run(&global).await.expect("a decision"), Decision::Confirm);
    setup.world.drive_to_the_end(&coordinator).await;
    assert_eq!(setup.stocks().await, [sold(10, 3), sold(1, 1)]);
}

/// Guard: a branch that has carried out the decision is not asked again | app/steps/src/tcc/coordinator.rs `end_all`: no
/// `advance`
/// Guard: a check after the decision carries the decision out | domain/src/tcc/global.rs `next_action`: it
/// cancels
pub(super) async fn a3_6_confirm_is_repeated_past_the_deadline_until_it_succeeds<S: Place>(world: World<S>) {
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
    assert_eq!(script.calls(STOCK, Operation::Confirm), 1, "a branch that has ended is forgotten some day");
    assert_eq!(setup.states(&global.gid).await, [Some(Confirmed), Some(Confirmed)]);
    assert_eq!(setup.stocks().await, [sold(10, 3), sold(1, 1)]);
    assert_eq!(script.calls(COUPON, Operation::Cancel), 0);
}

/// Guard: a refusal after the decision raises an alarm | app/steps/src/tcc/coordinator.rs `end_all`: no
/// message
pub(super) async fn a3_6_a_refusal_after_the_decision_raises_one_alarm_and_is_repeated<S: Place>(
    world: World<S>,
) {
    let setup = Setup::open(world, 10, 1).await;
    let script = Script { refuses: Some((COUPON, Operation::Confirm, 5)), ..Script::default() };
    let coordinator = setup.coordinator(&script);
    let global = setup.global();
    assert_eq!(coordinator.run(&global).await.expect("a decision"), Decision::Confirm);
    setup.world.drive_to_the_end(&coordinator).await;
    assert!(script.calls(COUPON, Operation::Confirm) > 5);
    assert_eq!(setup.states(&global.gid).await, [Some(Confirmed), Some(Confirmed)]);
    let expected = alarm(&global, TccAlarmKind::Refused, "it has changed its mind");
    assert_eq!(alarms(&setup, &coordinator, &global).await, [expected]);
}

/// Guard: a participant that fails again and again raises an alarm | app/steps/src/tcc/participants.rs: a failure is
/// no alarm
pub(super) async fn a3_6_a_participant_that_fails_again_and_again_raises_one_alarm<S: Place>(
    world: World<S>,
) {
    let setup = Setup::open(world, 10, 1).await;
    let script = Script { fails: Some((COUPON, Operation::Confirm, 40)), ..Script::default() };
    let coordinator = setup.coordinator(&script);
    let global = setup.global();
    assert_eq!(coordinator.run(&global).await.expect("a decision"), Decision::Confirm);
    for _ in 1..coordinator.config().alarm_after {
        setup.world.drive(&coordinator).await;
        assert_eq!(alarms(&setup, &coordinator, &global).await, []);
        setup.world.fixture.advance(coordinator.config().retry.cap).await;
    }
    setup.world.drive_to_the_end(&coordinator).await;
    assert_eq!(setup.states(&global.gid).await, [Some(Confirmed), Some(Confirmed)]);
    let expected = alarm(&global, TccAlarmKind::Late, "it cannot be reached");
    assert_eq!(alarms(&setup, &coordinator, &global).await, [expected]);
}

fn alarm(global: &GlobalTransaction, alarm: TccAlarmKind, reason: &str) -> TccAlarm {
    TccAlarm {
        gid: global.gid.to_string(),
        branch: COUPON.into(),
        participant: COUPON.into(),
        operation: "confirm".into(),
        alarm,
        reason: reason.into(),
    }
}

/// The alarms about a transaction.
async fn alarms<S: Place>(
    setup: &Setup<S>,
    coordinator: &Coordinator<S>,
    global: &GlobalTransaction,
) -> Vec<TccAlarm> {
    let alarms = setup.world.fixture.store.on(&coordinator.config().alarms).take_all().await;
    let alarms = alarms.iter();
    let read = alarms.map(|alarm| serde_json::from_slice(alarm.message.payload.bytes()).expect("an alarm"));
    read.filter(|alarm: &TccAlarm| alarm.gid == global.gid.as_str()).collect()
}

/// Guard: every operation of a branch has the payload of the first one | app/steps/src/tcc/branches.rs `rule`: no
/// comparison
pub(super) async fn a3_6_a_call_with_another_payload_than_the_first_one_is_refused<S: Place>(
    world: World<S>,
) {
    use Operation::{Cancel, Confirm, Try};
    let setup = Setup::open(world, 10, 1).await;
    let stock = setup.participant(STOCK);
    let carry_out = async |global: &GlobalTransaction, operation, pieces: u32| {
        let payload = serde_json::json!({ "pieces": pieces });
        stock.carry_out(&BranchCall { payload, ..setup.call(global, 0, operation) }).await
    };
    let (sold_3, given_back) = (setup.global(), setup.global());
    for (global, operation, pieces, is_done) in [
        (&sold_3, Try, 3, true),
        (&sold_3, Try, 5, false),
        (&sold_3, Confirm, 7, false),
        (&sold_3, Cancel, 7, false),
        (&sold_3, Confirm, 3, true),
        (&sold_3, Confirm, 7, false),
        (&given_back, Try, 3, true),
        (&given_back, Cancel, 2, false),
        (&given_back, Cancel, 3, true),
    ] {
        setup.world.catch_up().await;
        let done = carry_out(global, operation, pieces).await;
        assert_eq!(done.is_ok(), is_done, "{operation} of {pieces}: {done:?}");
        if let Err(why) = done {
            assert_eq!(why.to_string(), "refused: the branch was called before with another payload");
        }
    }
    assert_eq!(setup.stocks().await, [sold(10, 3), sold(1, 0)]);
}
