use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use claimstream::{StoreError, StoreErrorKind, in_transaction, work};
use claimstream_steps::{
    Begun, LockWait, Locked, NewStep, Step, StepChange, StepKey, StepLedger,
    tcc::{
        BranchMove, BranchName, BranchRefusal, BranchState, GlobalId, Operation, Resource, ResourceError,
        Tcc, TccError,
    },
};
use futures::FutureExt;

use super::{
    Scenario, listed,
    shop::Stock,
    world::{Place, World, call, fresh_gid},
};
use BranchState::{Cancelled, Confirmed, EmptyRollback, Tried};
use Operation::{Cancel, Confirm, Try};

pub(super) fn scenarios<S: Place>() -> Vec<Scenario<S>> {
    listed![
        a3_1_try_and_confirm_take_effect_once_however_often_they_come,
        a3_1_try_and_cancel_take_effect_once_however_often_they_come,
        a3_1_a_try_that_comes_again_answers_what_the_first_one_answered,
        a3_2_a_cancel_without_a_try_leaves_a_marker_and_late_tries_are_refused,
        a3_2_a_cancel_after_a_try_that_was_rolled_back_leaves_a_marker_as_well,
        a3_4_what_has_ended_one_way_does_not_end_the_other_way,
        a3_4_a_confirm_without_a_try_is_an_error_and_leaves_no_row,
        a3_5_a_cancel_with_a_stale_version_is_a_conflict_and_succeeds_when_it_is_repeated,
        a3_5_a_crash_between_the_move_and_the_release_leaves_the_branch_tried,
        a3_7_every_order_of_operations_ends_as_the_table_says_and_keeps_the_stock,
    ]
}

const RESERVED: Stock = Stock { available: 7, reserved: 3, sold: 0 };
const SOLD: Stock = Stock { available: 7, reserved: 0, sold: 3 };

async fn a3_1_try_and_confirm_take_effect_once_however_often_they_come<S: Place>(world: World<S>) {
    let (item, gid) = (world.stock_up().await, fresh_gid());
    for (operation, stock) in
        [(Try, RESERVED), (Try, RESERVED), (Confirm, SOLD), (Confirm, SOLD), (Try, SOLD)]
    {
        for side in [&world.store, &world.rival] {
            world.once(side, &gid, operation, &item).await.expect("done");
        }
        assert_eq!(world.stock(&item).await, stock, "after {operation}");
    }
    assert_eq!(world.state(&gid, "stock").await, Some(Confirmed));
}

/// Guard: a late Try is refused | domain/src/tcc/branch.rs: it reserves
async fn a3_1_try_and_cancel_take_effect_once_however_often_they_come<S: Place>(world: World<S>) {
    let (item, gid) = (world.stock_up().await, fresh_gid());
    for (operation, stock) in [(Try, RESERVED), (Cancel, World::<S>::FULL), (Cancel, World::<S>::FULL)] {
        for side in [&world.store, &world.rival] {
            world.once(side, &gid, operation, &item).await.expect("done");
        }
        assert_eq!(world.stock(&item).await, stock, "after {operation}");
    }
    assert_eq!(world.state(&gid, "stock").await, Some(Cancelled));
    let late = world.once(&world.store, &gid, Try, &item).await;
    assert!(matches!(late, Err(TccError::Refused(BranchRefusal::LateTry))), "{late:?}");
    assert_eq!(world.stock(&item).await, World::<S>::FULL);
}

async fn a3_1_a_try_that_comes_again_answers_what_the_first_one_answered<S: Place>(world: World<S>) {
    let (gid, branch) = (fresh_gid(), BranchName::new("seat").expect("a name"));
    for (side, offered) in [(&world.store, "12A"), (&world.rival, "30F"), (&world.store, "1C")] {
        let (tcc, gid, branch) = (Tcc::new(side.clone()), &gid, &branch);
        let seat = in_transaction(&**side, &*world.timer, |tx| {
            let tcc = tcc.clone();
            work(async move {
                tcc.try_(tx, gid, branch, |_| async move { Ok::<_, StoreError>(offered.to_owned()) }).await
            })
        });
        assert_eq!(seat.await.expect("a seat"), "12A");
    }
}

async fn a3_2_a_cancel_without_a_try_leaves_a_marker_and_late_tries_are_refused<S: Place>(world: World<S>) {
    let (item, gid) = (world.stock_up().await, fresh_gid());
    for side in [&world.store, &world.rival] {
        world.once(side, &gid, Cancel, &item).await.expect("an empty rollback is no error");
        assert_eq!(world.state(&gid, "stock").await, Some(EmptyRollback));
    }
    for side in [&world.store, &world.rival] {
        let late = world.once(side, &gid, Try, &item).await;
        assert!(matches!(late, Err(TccError::Refused(BranchRefusal::LateTry))), "{late:?}");
        assert_eq!(world.stock(&item).await, World::<S>::FULL);
        assert_eq!(world.state(&gid, "stock").await, Some(EmptyRollback));
    }
}

/// Guard: a Cancel before its Try writes a marker | app/steps/src/tcc/branches.rs: Cancel of an absent branch
/// writes nothing
async fn a3_2_a_cancel_after_a_try_that_was_rolled_back_leaves_a_marker_as_well<S: Place>(world: World<S>) {
    let (item, gid) = (world.stock_up_with("stock", 2).await, fresh_gid());
    let short = world.once(&world.store, &gid, Try, &item).await;
    assert!(matches!(short, Err(TccError::Effect(ResourceError::Refused { .. }))), "{short:?}");
    assert_eq!(world.state(&gid, "stock").await, None, "the row of a Try that failed is gone");
    world.once(&world.rival, &gid, Cancel, &item).await.expect("an empty rollback");
    assert_eq!(world.state(&gid, "stock").await, Some(EmptyRollback));
    assert_eq!(world.stock(&item).await, Stock { available: 2, reserved: 0, sold: 0 });
}

async fn a3_4_what_has_ended_one_way_does_not_end_the_other_way<S: Place>(world: World<S>) {
    let item = world.stock_up().await;
    let ends = [
        (&[Try, Confirm][..], Cancel, BranchRefusal::CancelAfterConfirm, Confirmed),
        (&[Try, Cancel], Confirm, BranchRefusal::ConfirmAfterCancel, Cancelled),
        (&[Cancel], Confirm, BranchRefusal::ConfirmAfterCancel, EmptyRollback),
    ];
    for (before, operation, refusal, state) in ends {
        let gid = fresh_gid();
        for operation in before {
            world.once(&world.store, &gid, *operation, &item).await.expect("done");
        }
        let stock = world.stock(&item).await;
        for side in [&world.store, &world.rival] {
            let illegal = world.once(side, &gid, operation, &item).await;
            assert!(matches!(illegal, Err(TccError::Refused(r)) if r == refusal), "{illegal:?}");
        }
        assert_eq!(world.state(&gid, "stock").await, Some(state));
        assert_eq!(world.stock(&item).await, stock);
    }
}

/// Guard: a Confirm without a Try is refused | domain/src/tcc/branch.rs: it is accepted
async fn a3_4_a_confirm_without_a_try_is_an_error_and_leaves_no_row<S: Place>(world: World<S>) {
    let (item, gid) = (world.stock_up().await, fresh_gid());
    let early = world.once(&world.store, &gid, Confirm, &item).await;
    assert!(matches!(early, Err(TccError::Refused(BranchRefusal::NotTried))), "{early:?}");
    assert_eq!(world.state(&gid, "stock").await, None);
    let tcc = Tcc::new(world.store.clone());
    let tx = world.store.begin_tx().await.expect("begin");
    let branch = BranchName::new("stock").expect("a name");
    let early = tcc.confirm(&tx, &gid, &branch, |_| async { Ok::<_, StoreError>(()) }).await;
    assert!(matches!(early, Err(TccError::Refused(BranchRefusal::NotTried))), "{early:?}");
    world.store.commit_tx(tx).await.expect("commit all the same");
    assert_eq!(world.state(&gid, "stock").await, None, "even if the caller commits");
    world.once(&world.rival, &gid, Try, &item).await.expect("it can still be tried");
    assert_eq!(world.stock(&item).await, RESERVED);
}

/// Guard: a change that another call has overtaken is a conflict | app/steps/src/tcc/branches.rs: a `None` of
/// `advance` counts as done
async fn a3_5_a_cancel_with_a_stale_version_is_a_conflict_and_succeeds_when_it_is_repeated<S: Place>(
    world: World<S>,
) {
    let item = world.stock_up().await;
    for operation in [Cancel, Confirm] {
        let gid = fresh_gid();
        world.once(&world.store, &gid, Try, &item).await.expect("done");
        let before = world.stock(&item).await;
        let stale = Arc::new(Stale { ledger: world.store.clone(), stale: AtomicBool::new(true) });
        let tcc = Tcc::<S::Tx>::new(stale);
        let conflict = end(&world, &tcc, &gid, operation, &item).await;
        let Err(TccError::Conflict(error)) = &conflict else { panic!("{conflict:?}") };
        assert_eq!(error.kind(), StoreErrorKind::Transient, "a restart of the transaction helps");
        assert_eq!(world.state(&gid, "stock").await, Some(Tried));
        assert_eq!(world.stock(&item).await, before);
        let again = end(&world, &tcc, &gid, operation, &item).await.expect("the version is known now");
        assert_eq!(again, BranchMove::Move(if operation == Cancel { Cancelled } else { Confirmed }));
    }
    assert_eq!(world.stock(&item).await, SOLD);
}

async fn end<S: Place>(
    world: &World<S>,
    tcc: &Tcc<S::Tx>,
    gid: &GlobalId,
    operation: Operation,
    item: &str,
) -> Result<BranchMove, TccError<ResourceError>> {
    let (goods, call) = (world.goods(item), call(gid, operation));
    let tx = world.store.begin_tx().await?;
    let ended = match operation {
        Cancel => tcc.cancel(&tx, gid, &call.key.branch, |tx| goods.release(tx, &call)).await,
        _ => tcc.confirm(&tx, gid, &call.key.branch, |tx| goods.confirm(tx, &call)).await,
    };
    match ended {
        Ok(_) => world.store.commit_tx(tx).await?,
        Err(_) => world.store.roll_back_tx(tx).await?,
    }
    ended
}

async fn a3_5_a_crash_between_the_move_and_the_release_leaves_the_branch_tried<S: Place>(world: World<S>) {
    let (item, gid) = (world.stock_up().await, fresh_gid());
    world.once(&world.store, &gid, Try, &item).await.expect("done");
    let (tcc, branch) = (Tcc::new(world.store.clone()), BranchName::new("stock").expect("a name"));
    let tx = world.store.begin_tx().await.expect("begin");
    {
        let (killed, is_killed) = futures::channel::oneshot::channel();
        let crash = tcc
            .cancel(&tx, &gid, &branch, |tx| async {
                world.shop.kill(tx).await?;
                let _ = killed.send(());
                futures::future::pending::<Result<(), StoreError>>().await
            })
            .boxed();
        let ended = futures::future::select(crash, is_killed).await;
        assert!(matches!(ended, futures::future::Either::Right((Ok(()), _))), "the release never ends");
    }
    drop(tx);
    let mut errors = Vec::new();
    assert_eq!(world.state(&gid, "stock").await, Some(Tried));
    assert_eq!(world.stock(&item).await, RESERVED);
    world.carry_out(&world.rival, &gid, Cancel, &item, &mut errors).await.expect("by another process");
    assert_eq!(world.state(&gid, "stock").await, Some(Cancelled));
    assert_eq!(world.stock(&item).await, World::<S>::FULL);
}

async fn a3_7_every_order_of_operations_ends_as_the_table_says_and_keeps_the_stock<S: Place>(
    world: World<S>,
) {
    let item = world.stock_up_with("stock", 1000).await;
    let mut sold = 0;
    for operations in (1..=4).flat_map(orders) {
        let (gid, mut expected) = (fresh_gid(), None);
        for (n, operation) in operations.iter().enumerate() {
            let side = if n % 2 == 0 { &world.store } else { &world.rival };
            let done = world.once(side, &gid, *operation, &item).await;
            match BranchState::after(expected, *operation) {
                Ok(step) => {
                    done.unwrap_or_else(|error| panic!("{operations:?}: {error}"));
                    if let BranchMove::Insert(state) | BranchMove::Move(state) = step {
                        expected = Some(state);
                    }
                }
                Err(refusal) => {
                    assert!(matches!(done, Err(TccError::Refused(r)) if r == refusal), "{operations:?}");
                }
            }
        }
        assert_eq!(world.state(&gid, "stock").await, expected, "{operations:?}");
        if expected == Some(Tried) {
            world.once(&world.store, &gid, Cancel, &item).await.expect("cancel what is left");
        }
        sold += if expected == Some(Confirmed) { 3 } else { 0 };
        let stock = world.stock(&item).await;
        assert_eq!(stock, Stock { available: 1000 - sold, reserved: 0, sold }, "{operations:?}");
    }
    assert!(sold > 0);
}

/// Every sequence of so many operations.
fn orders(length: u32) -> Vec<Vec<Operation>> {
    let count = 3_usize.pow(length);
    let nth = |n: usize| (0..length).map(|place| Operation::ALL[n / 3_usize.pow(place) % 3]).collect();
    (0..count).map(nth).collect()
}

/// A ledger whose first answer is out of date, as if another process had changed the step right after it was read.
struct Stale<S> {
    ledger: Arc<S>,
    stale: AtomicBool,
}

impl<S> Stale<S> {
    fn age(&self, step: Step) -> Step {
        match self.stale.swap(false, Ordering::SeqCst) {
            true => Step { version: step.version + 1, ..step },
            false => step,
        }
    }
}

#[async_trait]
impl<S: Place> StepLedger<S::Tx> for Stale<S> {
    async fn begin(&self, tx: &S::Tx, step: &NewStep) -> Result<Begun, StoreError> {
        Ok(match self.ledger.begin(tx, step).await? {
            Begun::Found(step) => Begun::Found(self.age(step)),
            new => new,
        })
    }

    async fn advance(
        &self,
        tx: &S::Tx,
        key: &StepKey,
        from: &Step,
        change: &StepChange,
    ) -> Result<Option<Step>, StoreError> {
        self.ledger.advance(tx, key, from, change).await
    }

    async fn find(&self, tx: &S::Tx, key: &StepKey) -> Result<Option<Step>, StoreError> {
        self.ledger.find(tx, key).await
    }

    async fn lock(&self, tx: &S::Tx, key: &StepKey, wait: LockWait) -> Result<Locked, StoreError> {
        Ok(match self.ledger.lock(tx, key, wait).await? {
            Locked::Held(step) => Locked::Held(self.age(step)),
            other => other,
        })
    }
}
