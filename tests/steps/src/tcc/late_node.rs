//! What a node decides that has not yet carried out what another one has committed.
//! Promise: a row that a node of a cluster lacks for a moment leads neither to a dead letter nor to a refusal

use std::time::Duration;

use claimstream::{in_transaction, work};
use claimstream_domain::Verdict;
use claimstream_ports::Handler;
use claimstream_sea_orm::SeaOrmOutbox;
use claimstream_steps::tcc::{
    Branch, BranchState, CoordinatorConfig, GlobalState, GlobalTransaction, LocalParticipant, Operation,
    Participant,
};
use serde_json::json;

use super::{
    Scenario, listed,
    world::{World, call, fresh_gid},
};

pub(super) fn scenarios() -> Vec<Scenario<SeaOrmOutbox>> {
    listed![
        a_message_whose_transaction_its_node_does_not_have_yet_comes_again,
        a_confirm_whose_try_its_node_does_not_have_yet_is_no_refusal,
    ]
}

/// Behind a proxy a message may be claimed at one node and handled at another one.
async fn a_message_whose_transaction_its_node_does_not_have_yet_comes_again(world: World<SeaOrmOutbox>) {
    let (item, nodes) = (world.stock_up().await, world.nodes().expect("a cluster"));
    let coordinator = |side| {
        let participant = LocalParticipant::new(
            world.store.clone(),
            world.timer.clone(),
            world.goods(&item),
            &CoordinatorConfig::default(),
        )
        .expect("a participant");
        world.coordinator(side).with("stock", participant).expect("a participant")
    };
    let branch = Branch::new("stock", json!({ "pieces": 3 })).expect("a branch");
    let global = GlobalTransaction::new(fresh_gid(), [branch]).expect("a transaction");
    let (here, there) = (coordinator(&world.store), coordinator(&world.rival));
    nodes.hold_back().await;
    let begun = in_transaction(&*world.store, &*world.timer, |tx| work(here.begin(tx, &global))).await;
    let claimed = world.fixture.store.take_one().await;
    let early = there.handle(&claimed).await;
    nodes.go_on().await;
    assert_eq!(begun.expect("begun"), GlobalState::Trying);
    assert!(matches!(early, Verdict::Nack { .. }), "{early:?}");
    world.catch_up().await;
    assert_eq!(there.handle(&claimed).await, Verdict::ack());
    assert_eq!(there.state(&global.gid).await.expect("a state"), Some(GlobalState::Confirmed));
}

async fn a_confirm_whose_try_its_node_does_not_have_yet_is_no_refusal(world: World<SeaOrmOutbox>) {
    let (item, nodes, gid) = (world.stock_up().await, world.nodes().expect("a cluster"), fresh_gid());
    let participant = |side: &std::sync::Arc<SeaOrmOutbox>| {
        LocalParticipant::new(
            side.clone(),
            world.timer.clone(),
            world.goods(&item),
            &CoordinatorConfig::default(),
        )
        .expect("a participant")
    };
    let (here, there) = (participant(&world.store), participant(&world.rival));
    nodes.hold_back().await;
    let tried = here.carry_out(&call(&gid, Operation::Try)).await;
    let confirm = call(&gid, Operation::Confirm);
    let (confirmed, ()) = futures::join!(there.carry_out(&confirm), async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        nodes.go_on().await;
    });
    tried.expect("tried");
    confirmed.expect("confirmed");
    assert_eq!(world.state(&gid, "stock").await, Some(BranchState::Confirmed));
}
