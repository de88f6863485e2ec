//! Transactions that are confirmed, cancelled, refused or never committed.

use claimstream_steps::tcc::{
    BranchState::{Cancelled, Confirmed, EmptyRollback},
    CoordinatorError, Decision, GlobalState, ParticipantError,
};

use serde_json::{Value, json};

use super::{
    script::Script,
    setup::{COUPON, STOCK, Setup, sold},
};
use crate::tcc::world::{Place, World};

pub(super) async fn a3_6_all_branches_that_can_be_tried_are_confirmed<S: Place>(world: World<S>) {
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

pub(super) async fn a3_6_one_refused_try_cancels_every_branch_and_the_refused_one_is_an_empty_rollback<
    S: Place,
>(
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

/// Guard: a decision is committed with the message that carries it out | app/steps/src/tcc/coordinator.rs
/// `advance`: no messages
pub(super) async fn a3_6_what_a_run_has_decided_is_carried_out_at_once<S: Place>(world: World<S>) {
    let setup = Setup::open(world, 10, 1).await;
    let coordinator = setup.coordinator(&Script::default());
    for (decided, ended) in
        [(Decision::Confirm, GlobalState::Confirmed), (Decision::Cancel(None), GlobalState::Cancelled)]
    {
        let global = setup.global();
        let decision = coordinator.run(&global).await.expect("a decision");
        assert_eq!(std::mem::discriminant(&decision), std::mem::discriminant(&decided), "{decision:?}");
        assert_eq!(coordinator.run(&global).await.expect("a repeat"), decided, "no reason is stored");
        assert_eq!(setup.world.drive(&coordinator).await, 1, "the check message comes later");
        assert_eq!(coordinator.state(&global.gid).await.expect("a state"), Some(ended));
    }
    setup.world.drive_to_the_end(&coordinator).await;
}

pub(super) async fn a3_6_a_transaction_that_was_not_committed_is_not_driven<S: Place>(world: World<S>) {
    let setup = Setup::open(world, 10, 1).await;
    let (coordinator, global) = (setup.coordinator(&Script::default()), setup.global());
    let tx = setup.world.store.begin_tx().await.expect("begin");
    coordinator.begin(&tx, &global).await.expect("begin");
    setup.world.store.roll_back_tx(tx).await.expect("roll back");
    setup.world.drive_to_the_end(&coordinator).await;
    assert_eq!(coordinator.state(&global.gid).await.expect("a state"), None);
    assert_eq!(setup.states(&global.gid).await, [None, None]);
}

/// Guard: an id of a global transaction with other branches is refused | app/steps/src/tcc/coordinator.rs: no
/// `IdTaken`
pub(super) async fn a3_6_an_id_that_is_used_again_is_the_same_transaction_or_refused<S: Place>(
    world: World<S>,
) {
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
    let Err(taken @ CoordinatorError::IdTaken(_)) = taken else { panic!("{taken:?}") };
    assert!(taken.to_string().contains("look at it before you begin another one"), "{taken}");
    other.branches[0].participant = "unknown".into();
    let unknown = coordinator.run(&other).await;
    assert!(matches!(unknown, Err(CoordinatorError::UnknownParticipant(_))), "{unknown:?}");
}

/// Guard: a participant's name is taken once | app/steps/src/tcc/participants.rs `add`: the second replaces
/// the first
pub(super) async fn a3_6_a_second_participant_of_one_name_is_refused<S: Place>(world: World<S>) {
    let setup = Setup::open(world, 10, 1).await;
    let coordinator = setup.coordinator(&Script::default());
    let refused = coordinator.with(COUPON, setup.participant(STOCK)).expect_err("a name that is taken");
    assert!(refused.to_string().contains(&format!("a participant {COUPON:?} already")), "{refused}");
}

/// Guard: a message is read back before anything is written | app/steps/src/tcc/trigger_message.rs `write`:
/// no `read`
pub(super) async fn a3_6_a_payload_that_no_message_could_carry_is_refused_before_anything_is_tried<
    S: Place,
>(
    world: World<S>,
) {
    let setup = Setup::open(world, 10, 1).await;
    let coordinator = setup.coordinator(&Script::default());
    // Read from a text by itself it would be just shallow enough.
    let mut deep = setup.global();
    deep.branches[0].payload = json!({ "pieces": 3, "note": nested(125) });
    let refused = coordinator.run(&deep).await;
    assert!(matches!(refused, Err(CoordinatorError::Invalid(_))), "{refused:?}");
    let tx = setup.world.store.begin_tx().await.expect("begin");
    let refused = coordinator.begin(&tx, &deep).await;
    assert!(matches!(refused, Err(CoordinatorError::Invalid(_))), "{refused:?}");
    setup.world.store.roll_back_tx(tx).await.expect("roll back");
    assert_eq!(coordinator.state(&deep.gid).await.expect("a state"), None);
    assert_eq!(setup.states(&deep.gid).await, [None, None]);
    let mut shallow = setup.global();
    shallow.branches[0].payload = json!({ "pieces": 3, "note": nested(100) });
    assert_eq!(coordinator.run(&shallow).await.expect("a decision"), Decision::Confirm);
    setup.world.drive_to_the_end(&coordinator).await;
    assert_eq!(setup.states(&shallow.gid).await, [Some(Confirmed), Some(Confirmed)]);
    assert_eq!(setup.stocks().await, [sold(10, 3), sold(1, 1)]);
}

fn nested(depth: usize) -> Value {
    (0..depth).fold(json!(1), |inner, _| json!([inner]))
}
