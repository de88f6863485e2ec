//! Every point at which a runner can stop, and every pair of points.

use std::time::Duration;

use claimstream_domain::Verdict;
use claimstream_steps::saga::{SagaOutcome, SagaState};

use crate::{
    repetitions,
    sagas::{
        bank::{Bank, HOUR, fresh_saga},
        crash::Crash,
        database::Database,
        notice::is_notified,
        payment::{
            FAILED, FINISHED, PAID, Rows, SHORT, UNPAID, balances, expected, payment, points, rows, saga,
        },
    },
};

pub(super) async fn s4b_forward_takes_four_steps_and_a_check_afterwards_does_nothing<D: Database>(
    bank: Bank<D>,
) {
    let (id, paid, saga) = (fresh_saga(), payment(&bank, 1_000, 10_000).await, saga(&bank, &Crash::never()));
    assert_eq!(saga.start(id, "anna", paid.clone()).await.expect("an outcome"), SagaOutcome::Finish);
    assert_eq!((rows(&bank, &saga, id).await, balances(&bank, &paid).await), (FINISHED, PAID));
    bank.pass_time(Duration::from_secs(59)).await;
    assert_eq!(bank.deliver(&saga).await, []);
    bank.pass_time(Duration::from_secs(1)).await;
    assert_eq!(bank.deliver(&saga).await, [Verdict::ack()]);
    assert_eq!((rows(&bank, &saga, id).await, balances(&bank, &paid).await), (FINISHED, PAID));
    assert!(!is_notified(&bank, id).await);
}

pub(super) async fn s4b_every_crash_point_of_the_way_forward_ends_in_finish<D: Database>(bank: Bank<D>) {
    every_crash_point(&bank, UNPAID, (FINISHED, PAID)).await;
}

/// Guard: a rollback is reported in the transaction that decides it | app/steps/src/saga/row.rs `advance`: no
/// `tell`
pub(super) async fn s4b_every_crash_point_of_the_way_back_ends_in_fail<D: Database>(bank: Bank<D>) {
    every_crash_point(&bank, SHORT, (FAILED, SHORT)).await;
}

pub(super) async fn s4b_every_pair_of_crash_points_of_the_way_forward_ends_in_finish<D: Database>(
    bank: Bank<D>,
) {
    every_pair(&bank, UNPAID, (FINISHED, PAID), 100).await;
}

pub(super) async fn s4b_every_pair_of_crash_points_of_the_way_back_ends_in_fail<D: Database>(bank: Bank<D>) {
    every_pair(&bank, SHORT, (FAILED, SHORT), 200).await;
}

async fn every_crash_point<D: Database>(bank: &Bank<D>, start: [i64; 4], end: (Rows, [i64; 4])) {
    let points = points(bank, start[1]).await;
    for (number, point) in points.iter().enumerate() {
        let (id, paid) = (fresh_saga(), payment(bank, start[0], start[1]).await);
        let crash = Crash::at(number);
        let started = crash.run(saga(bank, &crash).start(id, "anna", paid.clone())).await;
        assert!(started.is_none(), "{point} was not reached");
        let sound = saga(bank, &Crash::never());
        let verdicts = bank.settle_all(&sound).await;
        assert!(verdicts.iter().all(|verdict| *verdict == Verdict::ack()), "{point}: {verdicts:?}");
        let ended = (rows(bank, &sound, id).await, balances(bank, &paid).await);
        assert_eq!(ended, expected(point, end, start), "after a crash {point}");
        assert_eq!(is_notified(bank, id).await, ended.0.0 == Some(SagaState::Fail), "{point}");
        assert_eq!(sound.tally().alarms, 0, "{point}");
    }
}

/// Each second point after each first one, of which the short run takes every fourth; there are at least `all` pairs.
async fn every_pair<D: Database>(bank: &Bank<D>, start: [i64; 4], end: (Rows, [i64; 4]), all: u32) {
    let points = points(bank, start[1]).await;
    let (mut pairs, step) = (0, all.div_ceil(repetitions(all)) as usize);
    for (first, point) in points.iter().enumerate().step_by(step) {
        for second in 0.. {
            let (id, paid) = (fresh_saga(), payment(bank, start[0], start[1]).await);
            let crash = Crash::at(first);
            crash.run(saga(bank, &crash).start(id, "anna", paid.clone())).await;
            bank.pass_time(HOUR).await;
            let again = Crash::at(second);
            let checking = saga(bank, &again);
            let checked = again.run(bank.deliver(&checking)).await;
            let sound = saga(bank, &Crash::never());
            bank.settle_all(&sound).await;
            let ended = (rows(bank, &sound, id).await, balances(bank, &paid).await);
            let what = format!("after crashes {point} and {:?}", again.trail().last());
            assert_eq!(ended, expected(point, end, start), "{what}");
            assert_eq!(is_notified(bank, id).await, ended.0.0 == Some(SagaState::Fail), "{what}");
            if checked.is_some() {
                break;
            }
            pairs += 1;
        }
    }
    assert!(pairs >= repetitions(all), "only {pairs} pairs");
}
