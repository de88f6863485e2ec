//! Runners that meet a shortage, a database that is away, each other, or a lock.

use std::sync::{Arc, atomic::Ordering};

use claimstream_domain::{Lease, Verdict};
use claimstream_memory::MemoryStore;
use claimstream_steps::saga::{SagaConfig, SagaOutcome, SagaState};

use crate::sagas::{
    bank::{Bank, HOUR, fresh_saga},
    crash::Crash,
    database::Database,
    notice::is_notified,
    payment::{FAILED, FINISHED, PAID, UNPAID, balances, flow, payment, rows, saga},
};

pub(super) async fn s4b_shortage_seen_and_topped_up_before_the_next_delivery_finishes<D: Database>(
    bank: Bank<D>,
) {
    let (id, paid) = (fresh_saga(), payment(&bank, 1_000, 500).await);
    let crash = Crash::at_point("inside saga ToRollback");
    assert!(crash.run(saga(&bank, &crash).start(id, "anna", paid.clone())).await.is_none());
    bank.pay_in(&paid.from.yue, 9_500).await;
    let sound = saga(&bank, &Crash::never());
    bank.settle_all(&sound).await;
    assert_eq!((rows(&bank, &sound, id).await, balances(&bank, &paid).await), (FINISHED, PAID));
    assert!(!is_notified(&bank, id).await);
}

pub(super) async fn s4b_jifen_short_at_step_2_debits_nothing_anywhere<D: Database>(bank: Bank<D>) {
    let (id, paid, saga) = (fresh_saga(), payment(&bank, 50, 10_000).await, saga(&bank, &Crash::never()));
    let ended = saga.start(id, "anna", paid.clone()).await.expect("an outcome");
    assert!(
        matches!(&ended, SagaOutcome::Fail { reason } if reason.as_str() == "balance too small"),
        "{ended:?}"
    );
    let left = (rows(&bank, &saga, id).await, balances(&bank, &paid).await);
    assert_eq!(left, (FAILED, [50, 10_000, 1_000, 10_000]));
    bank.settle_all(&saga).await;
}

/// Guard: steps after the pivot wait for `Committing` | domain/src/saga/next.rs: all steps in `Init`
pub(super) async fn s4b_payee_database_down_for_ten_deliveries_then_finish<D: Database>(bank: Bank<D>) {
    let (id, paid, saga) = (fresh_saga(), payment(&bank, 1_000, 10_000).await, saga(&bank, &Crash::never()));
    bank.down[3].store(true, Ordering::SeqCst);
    let started = saga.start(id, "anna", paid.clone()).await.expect("an outcome");
    assert!(matches!(started, SagaOutcome::Underway { .. }), "{started:?}");
    for delivery in 1..=10 {
        bank.pass_time(HOUR).await;
        let verdicts = bank.deliver(&saga).await;
        assert!(matches!(verdicts[..], [Verdict::Nack { .. }]), "delivery {delivery}: {verdicts:?}");
        assert_eq!(bank.state(&saga.queue(), id).await, Some(SagaState::Committing), "delivery {delivery}");
        assert_eq!(saga.tally().alarms, u64::from(delivery >= saga.config().alarm_after));
    }
    bank.down[3].store(false, Ordering::SeqCst);
    bank.settle_all(&saga).await;
    assert_eq!((rows(&bank, &saga, id).await, balances(&bank, &paid).await), (FINISHED, PAID));
}

/// Guard: a saga's row changes only from the version that was read | app/steps/src/saga/row.rs `advance`:
/// from the row as it is now
pub(super) async fn s4b_two_runners_with_different_views_and_a_lost_lock_one_branch_wins<D: Database>(
    bank: Bank<D>,
) {
    // One has seen the shortage; the other, after a top-up, takes the step. Who moves the saga's row first wins.
    for (second_stops_at, end) in [("nowhere", (FINISHED, PAID)), ("after yue_out Done", (FAILED, UNPAID))] {
        let (id, paid) = (fresh_saga(), payment(&bank, 1_000, 500).await);
        let (seen_short, seen_enough) =
            (Crash::at_point("undone yue_out Done"), Crash::at_point(second_stops_at));
        let (first, second) = (saga(&bank, &seen_short), saga(&bank, &seen_enough));
        let diverted = async { first.start(id, "anna", paid.clone()).await };
        let forward = async {
            seen_short.stopped().await;
            bank.pay_in(&paid.from.yue, 9_500).await;
            if end.0 == FAILED {
                let late = async { second.proceed(id).await };
                let passing = async {
                    seen_enough.stopped().await;
                    seen_short.go_on();
                    while bank.state(&first.queue(), id).await != Some(SagaState::Fail) {
                        tokio::task::yield_now().await;
                    }
                    seen_enough.go_on();
                };
                return futures::join!(late, passing).0;
            }
            let ended = second.proceed(id).await;
            seen_short.go_on();
            ended
        };
        let (one, two) = futures::join!(diverted, forward);
        assert_eq!(one.expect("an outcome"), two.expect("an outcome"), "{second_stops_at}");
        bank.settle_all(&first).await;
        assert_eq!((rows(&bank, &first, id).await, balances(&bank, &paid).await), end, "{second_stops_at}");
        assert_eq!(is_notified(&bank, id).await, end.0 == FAILED);
    }
}

/// Guard: a saga is locked while it runs, which only saves work | app/steps/src/saga/list.rs: `lock` returns
/// none
pub(super) async fn s4b_a_lock_that_is_held_puts_off_and_one_that_is_lost_spoils_nothing<D: Database>(
    bank: Bank<D>,
) {
    let locks = MemoryStore::with_manual_clock();
    let locked = |crash: &Crash| {
        let lock = Arc::new(locks.clone());
        flow(&bank, crash, Some(lock)).build(SagaConfig::default()).expect("a saga")
    };
    let (id, paid) = (fresh_saga(), payment(&bank, 1_000, 10_000).await);
    let crash = Crash::at_point("after jifen_out Done");
    let (holder, other) = (locked(&crash), locked(&Crash::never()));
    let slow = async { holder.start(id, "anna", paid.clone()).await };
    let meanwhile = async {
        crash.stopped().await;
        let put_off = other.proceed(id).await.expect("an outcome");
        assert!(matches!(put_off, SagaOutcome::Underway { .. }), "{put_off:?}");
        locks.advance(Lease::default().duration());
        assert_eq!(other.proceed(id).await.expect("an outcome"), SagaOutcome::Finish);
        crash.go_on();
    };
    let (slow, ()) = futures::join!(slow, meanwhile);
    assert_eq!(slow.expect("an outcome"), SagaOutcome::Finish);
    assert_eq!((rows(&bank, &other, id).await, balances(&bank, &paid).await), (FINISHED, PAID));
    bank.settle_all(&other).await;
}
