//! The list of a saga's steps from one version of a program to the next, while sagas of the first are under way.
//! Promise: a saga whose list lacks one of its steps is put off, and nothing of it is done

use claimstream_steps::saga::{Saga, SagaConfig, SagaOutcome, SagaRun, SagaState, StepFailure};
use futures::future::BoxFuture;

use super::{
    bank::{Account, Bank, book, fresh_saga, timer},
    breakable::Breakable,
    case::{Case, cases},
    crash::Crash,
    database::Database,
};

pub(super) fn cases<D: Database>() -> Vec<(&'static str, Case<D>)> {
    cases![
        s4_a_list_that_lost_a_step_before_the_pivot_is_put_off,
        s4_a_list_that_lost_a_step_behind_the_pivot_is_put_off,
        s4_a_list_that_gained_a_step_takes_it_for_sagas_of_before,
        s4_a_saga_that_is_over_is_not_asked_for_its_list,
    ]
}

/// A saga that takes one from the same account in each step.
fn saga<D: Database>(
    bank: &Bank<D>,
    crash: &Crash,
    before: &[&str],
    behind: &[&str],
) -> Saga<Account, Breakable<D>> {
    let (home, database) = (bank.seen_by(crash)[0].clone(), bank.databases[0].clone());
    let mut list = Saga::list(&bank.name("lists"), home.clone(), timer());
    for name in before {
        let (place, forward, undo) = (home.clone(), database.clone(), database.clone());
        list = list.at(move |_: &Account| place.clone()).step(name, booking(forward, -1), booking(undo, 1));
    }
    let mut tail = list.pivot();
    for name in behind {
        let (place, forward) = (home.clone(), database.clone());
        tail = tail.at(move |_: &Account| place.clone()).step(name, booking(forward, -1));
    }
    tail.build(SagaConfig::default()).expect("a saga")
}

fn booking<D: Database>(
    database: D,
    amount: i64,
) -> impl for<'a> Fn(&'a D::Tx, &'a SagaRun<Account>) -> BoxFuture<'a, Result<(), StepFailure>> {
    move |tx, run| {
        let database = database.clone();
        Box::pin(async move { book(&database, tx, run.input(), amount).await })
    }
}

/// Guard: a saga's row keeps the names of its steps | app/steps/src/saga/drive.rs `turn`: no `check_list`
/// Guard: calling a saga off keeps the names of its steps | domain/src/saga/details.rs `called_off`: the default
/// instead of `self`
async fn s4_a_list_that_lost_a_step_before_the_pivot_is_put_off<D: Database>(bank: Bank<D>) {
    // The second account is too short for the second step, so that the saga is called off.
    for (amount, point, end, left) in
        [(10, "after two Done", SagaState::Finish, 8), (1, "after saga ToRollback", SagaState::Fail, 1)]
    {
        let (id, account) = (fresh_saga(), bank.account(0, "money", amount).await);
        let crash = Crash::at_point(point);
        let first = saga(&bank, &crash, &["one", "two"], &[]);
        assert!(crash.run(first.start(id, "anna", account.clone())).await.is_none(), "{point}");
        let stands = (bank.state(&first.queue(), id).await, bank.balance(&account).await);
        for names in [&["one"][..], &["two"], &["two", "one"], &["one", "three"]] {
            let later = saga(&bank, &Crash::never(), names, &[]);
            let put_off = later.proceed(id).await;
            let Ok(SagaOutcome::Underway { reason }) = put_off else { panic!("{names:?}: {put_off:?}") };
            assert!(reason.as_str().contains("was in its list"), "{reason}");
            assert_eq!((bank.state(&later.queue(), id).await, bank.balance(&account).await), stands);
        }
        let restored = saga(&bank, &Crash::never(), &["one", "two"], &[]);
        restored.proceed(id).await.expect("an outcome");
        assert_eq!(
            (bank.state(&restored.queue(), id).await, bank.balance(&account).await),
            (Some(end), left),
            "{point}"
        );
        bank.settle_all(&restored).await;
    }
}

async fn s4_a_list_that_lost_a_step_behind_the_pivot_is_put_off<D: Database>(bank: Bank<D>) {
    for point in ["after saga Init", "after saga Committing", "after two Done"] {
        let (id, account) = (fresh_saga(), bank.account(0, "money", 10).await);
        let crash = Crash::at_point(point);
        let first = saga(&bank, &crash, &["one"], &["two"]);
        assert!(crash.run(first.start(id, "anna", account.clone())).await.is_none(), "{point}");
        let later = saga(&bank, &Crash::never(), &["one"], &[]);
        let put_off = later.start(id, "anna", account.clone()).await;
        assert!(matches!(put_off, Ok(SagaOutcome::Underway { .. })), "{point}: {put_off:?}");
        assert_eq!((later.tally().put_off, later.tally().alarms), (1, 0), "{point}");
        let restored = saga(&bank, &Crash::never(), &["one"], &["two"]);
        assert_eq!(restored.proceed(id).await.expect("an outcome"), SagaOutcome::Finish, "{point}");
        assert_eq!(bank.balance(&account).await, 8, "{point}");
        bank.settle_all(&restored).await;
    }
}

async fn s4_a_list_that_gained_a_step_takes_it_for_sagas_of_before<D: Database>(bank: Bank<D>) {
    let (id, account) = (fresh_saga(), bank.account(0, "money", 10).await);
    let crash = Crash::at_point("after one Done");
    let first = saga(&bank, &crash, &["one"], &["three"]);
    assert!(crash.run(first.start(id, "anna", account.clone())).await.is_none());
    let later = saga(&bank, &Crash::never(), &["one", "two"], &["three"]);
    assert_eq!(later.proceed(id).await.expect("an outcome"), SagaOutcome::Finish);
    assert_eq!(bank.balance(&account).await, 7);
    bank.settle_all(&later).await;
}

async fn s4_a_saga_that_is_over_is_not_asked_for_its_list<D: Database>(bank: Bank<D>) {
    let (id, account) = (fresh_saga(), bank.account(0, "money", 10).await);
    let first = saga(&bank, &Crash::never(), &["one", "two"], &[]);
    assert_eq!(first.start(id, "anna", account.clone()).await.expect("an outcome"), SagaOutcome::Finish);
    let later = saga(&bank, &Crash::never(), &["one"], &[]);
    assert_eq!(later.start(id, "anna", account.clone()).await.expect("an outcome"), SagaOutcome::Finish);
    assert_eq!(later.tally().alarms, 0);
    bank.settle_all(&later).await;
}
