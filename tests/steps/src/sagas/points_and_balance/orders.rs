//! Messages that order a saga: one of which the row is missing, and roll-back orders.

use claimstream_domain::{Verdict, saga::SagaStepState::Done, step::StepKey};
use claimstream_steps::saga::{SagaError, SagaOrderKind, SagaOutcome};

use crate::sagas::{
    bank::{Bank, fresh_saga},
    crash::Crash,
    database::Database,
    payment::{FAILED, FINISHED, PAID, UNPAID, balances, payment, rows, saga},
};

pub(super) async fn s4b_message_only_1c_absent_is_started_again<D: Database>(bank: Bank<D>) {
    for order in [SagaOrderKind::Check, SagaOrderKind::New] {
        let (id, paid, saga) =
            (fresh_saga(), payment(&bank, 1_000, 10_000).await, saga(&bank, &Crash::never()));
        bank.enqueue(saga.order(order, id, "anna", paid.clone()).expect("a message")).await;
        let verdicts = bank.settle_all(&saga).await;
        assert!(verdicts.iter().all(|verdict| *verdict == Verdict::ack()), "{verdicts:?}");
        assert_eq!((rows(&bank, &saga, id).await, balances(&bank, &paid).await), (FINISHED, PAID));
        assert_eq!(saga.mine("anna", None, 10).await.expect("a list")[0].id, id);
    }
}

/// Guard: undoing a step changes its row | app/steps/src/saga/local.rs: no `advance` in `undo`
pub(super) async fn s4b_a_roll_back_order_that_comes_first_calls_it_off<D: Database>(bank: Bank<D>) {
    for point in ["after saga Init", "after jifen_out Done", "after yue_out Done"] {
        let (id, paid) = (fresh_saga(), payment(&bank, 1_000, 10_000).await);
        let crash = Crash::at_point(point);
        crash.run(saga(&bank, &crash).start(id, "anna", paid.clone())).await;
        let sound = saga(&bank, &Crash::never());
        let order = sound.order(SagaOrderKind::RollBack, id, "anna", paid.clone());
        bank.enqueue(order.expect("a message")).await;
        assert_eq!(bank.deliver(&sound).await, [Verdict::ack()]);
        assert_eq!(
            (rows(&bank, &sound, id).await, balances(&bank, &paid).await),
            (FAILED, UNPAID),
            "{point}"
        );
        let verdicts = bank.settle_all(&sound).await;
        assert!(verdicts.iter().all(|verdict| *verdict == Verdict::ack()), "{verdicts:?}");
    }
}

/// Steps get the input that the saga was begun with: an order to take back 9,000 takes back the 1,000 that were given.
pub(super) async fn s4b_an_order_with_another_input_drives_the_saga_with_its_own<D: Database>(bank: Bank<D>) {
    let (id, paid) = (fresh_saga(), payment(&bank, 1_000, 10_000).await);
    let crash = Crash::at_point("after yue_out Done");
    crash.run(saga(&bank, &crash).start(id, "anna", paid.clone())).await;
    let sound = saga(&bank, &Crash::never());
    let mut other = paid.clone();
    other.jifen *= 9;
    other.yue *= 9;
    let order = sound.order(SagaOrderKind::RollBack, id, "anna", other.clone());
    bank.enqueue(order.expect("a message")).await;
    assert_eq!(bank.deliver(&sound).await, [Verdict::ack()]);
    assert_eq!((rows(&bank, &sound, id).await, balances(&bank, &paid).await), (FAILED, UNPAID));
    bank.settle_all(&sound).await;

    let (id, paid) = (fresh_saga(), payment(&bank, 1_000, 10_000).await);
    let crash = Crash::at_point("after yue_out Done");
    crash.run(saga(&bank, &crash).start(id, "anna", paid.clone())).await;
    let order = sound.order(SagaOrderKind::New, id, "anna", other).expect("a message");
    bank.enqueue(order).await;
    let verdicts = bank.deliver(&sound).await;
    assert!(matches!(verdicts[..], [Verdict::Bury { .. }]), "{verdicts:?}");
    assert_eq!(sound.tally().alarms, 1);
    bank.settle_all(&sound).await;
    assert_eq!((rows(&bank, &sound, id).await, balances(&bank, &paid).await), (FINISHED, PAID));
}

/// Guard: a saga past its pivot is not rolled back | domain/src/saga/next.rs: `Committing` and `RollBack`
/// lead to `ToRollback`
/// Guard: an order to roll back that comes too late is an alarm | app/steps/src/saga/handler.rs: it is acked at once
pub(super) async fn s4b_a_stale_roll_back_order_on_committing_and_finish_changes_nothing<D: Database>(
    bank: Bank<D>,
) {
    for point in ["after saga Committing", "after saga Finish"] {
        let (id, paid) = (fresh_saga(), payment(&bank, 1_000, 10_000).await);
        let crash = Crash::at_point(point);
        crash.run(saga(&bank, &crash).start(id, "anna", paid.clone())).await;
        let sound = saga(&bank, &Crash::never());
        let order = sound.order(SagaOrderKind::RollBack, id, "anna", paid.clone());
        bank.enqueue(order.expect("a message")).await;
        let before = (rows(&bank, &sound, id).await, balances(&bank, &paid).await);
        assert_eq!(bank.deliver(&sound).await, [Verdict::ack()], "{point}");
        assert_eq!((rows(&bank, &sound, id).await, balances(&bank, &paid).await), before, "{point}");
        assert_eq!((sound.tally().too_late, sound.tally().alarms), (1, 1), "{point}");
        bank.settle_all(&sound).await;
        assert_eq!(
            (rows(&bank, &sound, id).await, balances(&bank, &paid).await),
            (FINISHED, PAID),
            "{point}"
        );
    }
}

pub(super) async fn s4b_a_late_step_2_after_fail_is_refused<D: Database>(bank: Bank<D>) {
    let (id, paid) = (fresh_saga(), payment(&bank, 1_000, 10_000).await);
    let crash = Crash::at_point("after saga Init");
    let slow = saga(&bank, &crash);
    let late = async { slow.start(id, "anna", paid.clone()).await };
    let meanwhile = async {
        crash.stopped().await;
        let sound = saga(&bank, &Crash::never());
        let order = sound.order(SagaOrderKind::RollBack, id, "anna", paid.clone());
        bank.enqueue(order.expect("a message")).await;
        bank.deliver(&sound).await;
        assert_eq!(rows(&bank, &sound, id).await, FAILED);
        crash.go_on();
    };
    let (late, ()) = futures::join!(late, meanwhile);
    assert!(matches!(late, Ok(SagaOutcome::Fail { .. })), "{late:?}");
    assert_eq!(slow.tally().refused, 1);
    assert_eq!((rows(&bank, &slow, id).await, balances(&bank, &paid).await), (FAILED, UNPAID));
    bank.settle_all(&slow).await;
}

/// Guard: a rollback goes from the last step to the first | domain/src/saga/next.rs: no `.rev()`
/// Guard: a step that is taken after the rollback began is broken | domain/src/saga/next.rs: no arm for it
/// Guard: a broken saga is an invariant | app/steps/src/saga/drive.rs: `Broken` is `Transient`
pub(super) async fn s4b_b4_b5_with_did_in_is_an_alarm_and_nothing_is_given_back<D: Database>(bank: Bank<D>) {
    for (database, step) in [(3, "jifen_in"), (4, "yue_in")] {
        let (id, paid) = (fresh_saga(), payment(&bank, 1_000, 10_000).await);
        let crash = Crash::at_point("after yue_out Done");
        crash.run(saga(&bank, &crash).start(id, "anna", paid.clone())).await;
        let sound = saga(&bank, &Crash::never());
        // As if steps were taken at the same time: the payee has the money, and has spent it.
        let key = StepKey::new(sound.queue().as_str(), &id.to_string(), step).expect("a key");
        bank.forge(database, key, Done.code()).await;
        let order = sound.order(SagaOrderKind::RollBack, id, "anna", paid.clone());
        bank.enqueue(order.expect("a message")).await;
        let before = balances(&bank, &paid).await;
        let verdicts = bank.deliver(&sound).await;
        assert!(matches!(verdicts[..], [Verdict::Bury { .. }]), "{step}: {verdicts:?}");
        assert_eq!(balances(&bank, &paid).await, before, "{step}: something was given back");
        assert_eq!(sound.tally().alarms, 1, "{step}");
        assert!(matches!(sound.proceed(id).await, Err(SagaError::Broken { .. })), "{step}");
        bank.settle_all(&sound).await;
    }
}
