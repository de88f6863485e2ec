//! S4-B: what stands behind the pivot is never undone, and what is called off before it goes on without its runner.

use std::time::Duration;

use claimstream_domain::{
    Verdict,
    saga::SagaStepState::{Done, RolledBack},
    step::StepKey,
};
use claimstream_steps::saga::{SagaError, SagaOrderKind, SagaOutcome, SagaState};

use super::{
    bank::{Bank, fresh_saga},
    case::{Case, cases},
    crash::Crash,
    database::Database,
    notice::is_notified,
    payment::{FAILED, SHORT, UNPAID, balances, payment, rows, saga},
};

pub(super) fn cases<D: Database>() -> Vec<(&'static str, Case<D>)> {
    cases![
        s4b_a_step_behind_the_pivot_that_refuses_is_an_alarm_and_nothing_is_given_back,
        s4b_a_step_behind_the_pivot_that_is_rolled_back_is_an_alarm_and_nothing_is_written,
        s4b_a_call_off_whose_runner_dies_goes_on_by_its_own_order_at_once,
        s4b_a_roll_back_order_of_what_was_not_begun_calls_it_off_and_notifies,
    ]
}

/// Guard: a refusal after the pivot is an alarm and no rollback | app/steps/src/saga/drive.rs: no
/// `is_reversible`
async fn s4b_a_step_behind_the_pivot_that_refuses_is_an_alarm_and_nothing_is_given_back<D: Database>(
    bank: Bank<D>,
) {
    // A payment of less than nothing: the payee has not what it takes, and the payer has had it.
    let (id, mut paid) = (fresh_saga(), payment(&bank, 1_000, 10_000).await);
    paid.yue = -20_000;
    let saga = saga(&bank, &Crash::never());
    let refused = saga.start(id, "anna", paid.clone()).await;
    assert!(matches!(refused, Err(SagaError::Broken { .. })), "{refused:?}");
    let taken = [Some(Done), Some(Done), Some(Done), None];
    assert_eq!(rows(&bank, &saga, id).await, (Some(SagaState::Committing), taken));
    assert_eq!(balances(&bank, &paid).await, [900, 30_000, 1_100, 10_000]);
    assert_eq!((saga.tally().alarms, is_notified(&bank, id).await), (1, false));
    bank.pay_in(&paid.to.yue, 10_000).await;
    assert_eq!(saga.proceed(id).await.expect("an outcome"), SagaOutcome::Finish);
    assert_eq!(balances(&bank, &paid).await, [900, 30_000, 1_100, 0]);
    bank.settle_all(&saga).await;
}

/// Guard: a step after the pivot that is rolled back is broken | domain/src/saga/next.rs: no arm for it
async fn s4b_a_step_behind_the_pivot_that_is_rolled_back_is_an_alarm_and_nothing_is_written<D: Database>(
    bank: Bank<D>,
) {
    for (database, step) in [(3, "jifen_in"), (4, "yue_in")] {
        let (id, paid) = (fresh_saga(), payment(&bank, 1_000, 10_000).await);
        let crash = Crash::at_point("after jifen_in Done");
        crash.run(saga(&bank, &crash).start(id, "anna", paid.clone())).await;
        let sound = saga(&bank, &Crash::never());
        let key = StepKey::new(sound.queue().as_str(), &id.to_string(), step).expect("a key");
        bank.forge(database, key, RolledBack.code()).await;
        let before = (rows(&bank, &sound, id).await, balances(&bank, &paid).await);
        let verdicts = bank.settle_all(&sound).await;
        assert!(matches!(verdicts[..], [Verdict::Bury { .. }]), "{step}: {verdicts:?}");
        assert_eq!((rows(&bank, &sound, id).await, balances(&bank, &paid).await), before, "{step}");
        assert_eq!(sound.tally().alarms, 1, "{step}");
    }
}

/// Guard: a rollback's first message is committed with the decision to roll back | app/steps/src/saga/row.rs
/// `advance`: no `enqueue`; the check would come later
async fn s4b_a_call_off_whose_runner_dies_goes_on_by_its_own_order_at_once<D: Database>(bank: Bank<D>) {
    let (id, paid) = (fresh_saga(), payment(&bank, 1_000, 500).await);
    let crash = Crash::at_point("after saga ToRollback");
    assert!(crash.run(saga(&bank, &crash).start(id, "anna", paid.clone())).await.is_none());
    let sound = saga(&bank, &Crash::never());
    bank.pass_time(Duration::from_millis(1)).await;
    assert_eq!(bank.deliver(&sound).await, [Verdict::ack()], "the order, and the check is not due");
    assert_eq!(bank.state(&sound.queue(), id).await, Some(SagaState::Fail));
    assert_eq!(balances(&bank, &paid).await, SHORT);
    bank.settle_all(&sound).await;
}

/// Guard: a rollback that begins its saga is reported in the same transaction | app/steps/src/saga/row.rs
/// `open_in`: no `tell`
async fn s4b_a_roll_back_order_of_what_was_not_begun_calls_it_off_and_notifies<D: Database>(bank: Bank<D>) {
    let (id, paid, saga) = (fresh_saga(), payment(&bank, 1_000, 10_000).await, saga(&bank, &Crash::never()));
    let order = saga.order(SagaOrderKind::RollBack, id, "anna", paid.clone());
    bank.enqueue(order.expect("a message")).await;
    assert_eq!(bank.deliver(&saga).await, [Verdict::ack()]);
    assert!(is_notified(&bank, id).await);
    let late = saga.start(id, "anna", paid.clone()).await.expect("an outcome");
    assert!(matches!(late, SagaOutcome::Fail { .. }), "{late:?}");
    assert_eq!((rows(&bank, &saga, id).await, balances(&bank, &paid).await), (FAILED, UNPAID));
    bank.settle_all(&saga).await;
}
