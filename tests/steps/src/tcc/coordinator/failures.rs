//! Coordinators that die, and participants that fail or refuse.

use std::time::Duration;

use claimstream_steps::tcc::BranchState::{Cancelled, Confirmed, EmptyRollback, Tried};
use claimstream_steps::tcc::{Decision, GlobalState, Operation, Participant, ParticipantError, TccAlarm};

use super::{
    script::{Moment, Script},
    setup::{COUPON, Setup, sold},
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
