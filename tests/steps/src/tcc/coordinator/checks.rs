//! A check message that decides while a run is under way.

use std::sync::Arc;

use claimstream_steps::tcc::{
    BranchState::{Cancelled, EmptyRollback},
    Decision, GlobalState,
};

use super::{
    script::{Meanwhile, Moment, Script},
    setup::{Setup, sold},
};
use crate::tcc::world::{Place, World};

/// Guard: a global transaction begins with a check message at its deadline | app/steps/src/tcc/coordinator.rs
/// `record`: not enqueued
pub(super) async fn a3_6_a_check_that_decides_while_branches_are_tried_wins<S: Place>(world: World<S>) {
    let setup = Arc::new(Setup::open(world, 10, 1).await);
    let slow = Script::default();
    let (coordinator, global) = (setup.coordinator(&slow), setup.global());
    slow.let_happen(Moment::Before, check(&setup));
    let decision = coordinator.run(&global).await.expect("a decision");
    assert!(matches!(decision, Decision::Cancel(_)), "{decision:?}");
    setup.world.drive_to_the_end(&coordinator).await;
    assert_eq!(coordinator.state(&global.gid).await.expect("a state"), Some(GlobalState::Cancelled));
    assert_eq!(setup.states(&global.gid).await, [Some(Cancelled), Some(EmptyRollback)]);
    assert_eq!(setup.stocks().await, [sold(10, 0), sold(1, 0)]);
}

/// The run has tried everything and has read that nothing is decided.
/// Guard: a global transaction changes only from the version that was read | app/steps/src/tcc/coordinator.rs
/// `advance`: from the row as it is now
pub(super) async fn a3_6_a_check_that_decides_when_every_branch_is_tried_wins<S: Place>(world: World<S>) {
    let setup = Arc::new(Setup::open(world, 10, 1).await);
    let slow = Script::default();
    let (coordinator, global) = (setup.coordinator(&slow), setup.global());
    slow.let_happen(Moment::After, check(&setup));
    assert_eq!(coordinator.run(&global).await.expect("a decision"), Decision::Cancel(None));
    setup.world.drive_to_the_end(&coordinator).await;
    assert_eq!(coordinator.state(&global.gid).await.expect("a state"), Some(GlobalState::Cancelled));
    assert_eq!(setup.states(&global.gid).await, [Some(Cancelled), Some(Cancelled)]);
    assert_eq!(setup.stocks().await, [sold(10, 0), sold(1, 0)]);
}

/// The deadline passes, and another process has the check message.
fn check<S: Place>(setup: &Arc<Setup<S>>) -> Meanwhile {
    let setup = setup.clone();
    Box::new(move || {
        let setup = setup.clone();
        Box::pin(async move {
            let other = setup.coordinator(&Script::default());
            setup.world.fixture.advance(other.config().deadline).await;
            assert_eq!(setup.world.drive(&other).await, 1, "the check");
        })
    })
}
