//! A payment all of whose steps can be undone: the roll-back takes back what the payee has received, under the saga's lock.

use std::sync::Arc;

use claimstream_domain::{Verdict, saga::SagaStepState::RolledBack, step::StepKey};
use claimstream_memory::MemoryStore;
use claimstream_steps::saga::{Saga, SagaConfig, SagaError, SagaOrderKind, SagaOutcome};

use crate::sagas::{
    bank::{Bank, fresh_saga},
    breakable::Breakable,
    crash::Crash,
    database::Database,
    payment::{FAILED, FINISHED, PAID, Payment, UNPAID, balances, payment, reversible, rows},
};

/// B0, B2 to B5: an order takes back all that was done, from the last step to the first.
pub(super) async fn s4b_a_roll_back_order_takes_back_what_the_payee_has_received<D: Database>(bank: Bank<D>) {
    for point in ["after jifen_in Done", "after yue_in Done"] {
        let (id, paid) = (fresh_saga(), payment(&bank, 1_000, 10_000).await);
        let crash = Crash::at_point(point);
        crash.run(locked(&bank, &crash).start(id, "anna", paid.clone())).await;
        let sound = locked(&bank, &Crash::never());
        let order = sound.order(SagaOrderKind::RollBack, id, "anna", paid.clone()).expect("a message");
        bank.enqueue(order).await;
        assert_eq!(bank.deliver(&sound).await, [Verdict::ack()], "{point}");
        assert_eq!(
            (rows(&bank, &sound, id).await, balances(&bank, &paid).await),
            (FAILED, UNPAID),
            "{point}"
        );
        bank.settle_all(&sound).await;
    }
}

/// 4C, 5C: a check that finds a step undone turns back.
pub(super) async fn s4b_a_check_that_finds_a_step_of_the_payee_undone_turns_back<D: Database>(bank: Bank<D>) {
    for (database, step) in [(3, "jifen_in"), (4, "yue_in")] {
        let (id, paid) = (fresh_saga(), payment(&bank, 1_000, 10_000).await);
        let crash = Crash::at_point("after yue_out Done");
        crash.run(locked(&bank, &crash).start(id, "anna", paid.clone())).await;
        let sound = locked(&bank, &Crash::never());
        let key = StepKey::new(sound.queue().as_str(), &id.to_string(), step).expect("a key");
        bank.forge(database, key, RolledBack.code()).await;
        let ended = sound.proceed(id).await.expect("an outcome");
        assert!(
            matches!(&ended, SagaOutcome::Fail { reason } if reason.as_str() == format!("step {step} was refused")),
            "{ended:?}"
        );
        assert_eq!((rows(&bank, &sound, id).await, balances(&bank, &paid).await), (FAILED, UNPAID), "{step}");
        bank.settle_all(&sound).await;
    }
}

/// A payee that has spent what it received is not made poorer than nothing: the saga is broken, and goes on when it has been paid in.
pub(super) async fn s4b_a_payee_that_has_spent_it_breaks_the_roll_back<D: Database>(bank: Bank<D>) {
    let (id, paid) = (fresh_saga(), payment(&bank, 1_000, 10_000).await);
    let crash = Crash::at_point("after yue_in Done");
    crash.run(locked(&bank, &crash).start(id, "anna", paid.clone())).await;
    bank.pay_in(&paid.to.yue, -11_000).await;
    let sound = locked(&bank, &Crash::never());
    let order = sound.order(SagaOrderKind::RollBack, id, "anna", paid.clone()).expect("a message");
    bank.enqueue(order).await;
    let verdicts = bank.deliver(&sound).await;
    assert!(matches!(verdicts[..], [Verdict::Bury { .. }]), "{verdicts:?}");
    assert_eq!(balances(&bank, &paid).await, [900, 9_000, 1_100, 0], "nothing is given back before");
    assert!(matches!(sound.proceed(id).await, Err(SagaError::Broken { .. })));
    bank.pay_in(&paid.to.yue, 11_000).await;
    assert!(matches!(sound.proceed(id).await, Ok(SagaOutcome::Fail { .. })));
    assert_eq!((rows(&bank, &sound, id).await, balances(&bank, &paid).await), (FAILED, UNPAID));
    bank.settle_all(&sound).await;
}

pub(super) async fn s4b_a_payment_that_can_be_undone_whole_finishes<D: Database>(bank: Bank<D>) {
    let (id, paid, saga) =
        (fresh_saga(), payment(&bank, 1_000, 10_000).await, locked(&bank, &Crash::never()));
    assert_eq!(saga.start(id, "anna", paid.clone()).await.expect("an outcome"), SagaOutcome::Finish);
    assert_eq!((rows(&bank, &saga, id).await, balances(&bank, &paid).await), (FINISHED, PAID));
    bank.settle_all(&saga).await;
}

/// With a lock of its own, which a runner that is dropped does not give back.
fn locked<D: Database>(bank: &Bank<D>, crash: &Crash) -> Saga<Payment, Breakable<D>> {
    let lock = Arc::new(MemoryStore::with_manual_clock());
    reversible(bank, crash, lock).build(SagaConfig::default()).expect("a saga")
}
