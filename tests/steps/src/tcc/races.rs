use claimstream_steps::tcc::{BranchRefusal, BranchState, GlobalId, Operation, TccError};
use futures::{StreamExt, stream};

use super::{
    Scenario, listed,
    shop::Stock,
    world::{Place, World, fresh_gid},
};
use Operation::{Cancel, Confirm, Try};

pub(super) fn scenarios<S: Place>() -> Vec<Scenario<S>> {
    listed![
        a3_1_the_same_operation_four_times_at_once_takes_effect_once,
        a3_3_of_try_and_cancel_at_once_nothing_stays_reserved,
        a3_4_of_confirm_and_cancel_at_once_one_ends_the_branch,
    ]
}

/// More than all races together can sell.
const ENOUGH: i64 = 10_000;
/// How many pairs at a time.
const AT_ONCE: usize = 4;

async fn a3_3_of_try_and_cancel_at_once_nothing_stays_reserved<S: Place>(world: World<S>) {
    let item = world.stock_up_with("stock", 1000).await;
    let count = world.races();
    let races = stream::iter(0..count).map(|n| try_meets_cancel(&world, &item, n)).buffer_unordered(AT_ONCE);
    let ends: Vec<Race> = races.collect().await;
    let full = Stock { available: 1000, reserved: 0, sold: 0 };
    assert_eq!(world.stock(&item).await, full, "a piece stays reserved or was made");
    let empty = ends.iter().filter(|race| race.state == BranchState::EmptyRollback).count();
    let errors: Vec<&String> = ends.iter().flat_map(|race| &race.errors).collect();
    println!("tcc: {count} races: {empty} empty rollbacks, {} retried errors", errors.len());
    assert!(errors.iter().all(|error| is_deadlock(error)), "{:?}", errors.first());
    assert!((1..count).contains(&empty), "they never met the other way round");
}

/// How a race ended.
struct Race {
    state: BranchState,
    errors: Vec<String>,
}

async fn try_meets_cancel<S: Place>(world: &World<S>, item: &str, n: usize) -> Race {
    let (gid, mut tried, mut cancelled) = (fresh_gid(), Vec::new(), Vec::new());
    let sides = if n.is_multiple_of(2) { (&world.store, &world.rival) } else { (&world.rival, &world.store) };
    let late_try = async {
        yields(n % 7).await;
        world.carry_out(sides.0, &gid, Try, item, &mut tried).await
    };
    let cancel = async {
        yields(n / 7 % 7).await;
        world.carry_out(sides.1, &gid, Cancel, item, &mut cancelled).await
    };
    let (late_try, cancel) = futures::join!(late_try, cancel);
    cancel.expect("a cancel is never refused here");
    let state = world.state(&gid, "stock").await.expect("a row");
    match late_try {
        Ok(()) => assert_eq!(state, BranchState::Cancelled),
        Err(TccError::Refused(BranchRefusal::LateTry)) => {}
        Err(other) => panic!("{other}"),
    }
    assert!(matches!(state, BranchState::Cancelled | BranchState::EmptyRollback), "{state:?}");
    tried.extend(cancelled);
    Race { state, errors: tried }
}

/// Guard: a branch that has ended one way does not end the other way | domain/src/tcc/branch.rs: Confirm
/// after Cancel, or Cancel after Confirm, is accepted
async fn a3_4_of_confirm_and_cancel_at_once_one_ends_the_branch<S: Place>(world: World<S>) {
    let item = world.stock_up_with("stock", ENOUGH).await;
    let mut confirmed = 0;
    for n in 0..world.races() {
        let (gid, mut errors, mut others) = (fresh_gid(), Vec::new(), Vec::new());
        world.carry_out(&world.store, &gid, Try, &item, &mut errors).await.expect("try");
        let confirm = async {
            yields(n % 5).await;
            world.carry_out(&world.store, &gid, Confirm, &item, &mut errors).await
        };
        let cancel = async {
            yields(n / 5 % 5).await;
            world.carry_out(&world.rival, &gid, Cancel, &item, &mut others).await
        };
        let ends = futures::join!(confirm, cancel);
        let won = match &ends {
            (Ok(()), Err(TccError::Refused(BranchRefusal::CancelAfterConfirm))) => BranchState::Confirmed,
            (Err(TccError::Refused(BranchRefusal::ConfirmAfterCancel)), Ok(())) => BranchState::Cancelled,
            neither => panic!("{neither:?}"),
        };
        assert_eq!(world.state(&gid, "stock").await, Some(won));
        confirmed += if won == BranchState::Confirmed { 3 } else { 0 };
        assert!(errors.iter().chain(&others).all(|error| is_deadlock(error)), "{errors:?} {others:?}");
    }
    let expected = Stock { available: ENOUGH - confirmed, reserved: 0, sold: confirmed };
    assert_eq!(world.stock(&item).await, expected);
}

async fn a3_1_the_same_operation_four_times_at_once_takes_effect_once<S: Place>(world: World<S>) {
    let item = world.stock_up_with("stock", ENOUGH).await;
    // Two global transactions in each.
    for n in 1..=world.races() as i64 / 2 {
        let gid = fresh_gid();
        four_at_once(&world, &gid, Try, &item).await;
        assert_eq!(world.stock(&item).await.reserved, 3);
        four_at_once(&world, &gid, Confirm, &item).await;
        let expected = Stock { available: ENOUGH - 3 * n, reserved: 0, sold: 3 * n };
        assert_eq!(world.stock(&item).await, expected);
        let gid = fresh_gid();
        four_at_once(&world, &gid, Try, &item).await;
        four_at_once(&world, &gid, Cancel, &item).await;
        assert_eq!(world.stock(&item).await, expected);
    }
}

async fn four_at_once<S: Place>(world: &World<S>, gid: &GlobalId, operation: Operation, item: &str) {
    let sides = [&world.store, &world.rival, &world.store, &world.rival];
    let all = sides.map(|side| async move {
        let mut errors = Vec::new();
        world.carry_out(side, gid, operation, item, &mut errors).await.expect("done, now or before");
        errors
    });
    let errors: Vec<String> = futures::future::join_all(all).await.into_iter().flatten().collect();
    assert!(errors.iter().all(|error| is_deadlock(error)), "{:?}", errors.first());
}

/// The one error that a race may meet: the server's deadlock, or the reference model's; where nodes certify commits, it has other names.
fn is_deadlock(error: &str) -> bool {
    let names = ["1213", "deadlock", "wait for each other", "3101"];
    let of_nodes = ["another node's commit was in the way", "changed by another transaction meanwhile"];
    names.iter().chain(&of_nodes).any(|name| error.contains(name))
}

/// Lets others go first, so that all interleavings come up.
async fn yields(count: usize) {
    for _ in 0..count {
        tokio::task::yield_now().await;
    }
}
