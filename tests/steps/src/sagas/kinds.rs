//! Kinds of saga do not know of each other: what several of them do under one id, such as that of an order, is done by each.
//! Promise: sagas of several kinds may share an id, and each ends

use claimstream::{in_transaction, work};
use claimstream_domain::Enqueued;
use claimstream_steps::saga::{Saga, SagaConfig, SagaError, SagaOutcome, SagaRun, SagaState, StepFailure};
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
        s4_sagas_of_two_kinds_under_one_id_come_to_their_ends_without_their_runners,
        s4_sagas_of_two_kinds_that_are_asked_for_under_one_id_both_run,
        s4_sagas_of_two_kinds_under_one_id_are_both_called_off,
    ]
}

const KINDS: [&str; 2] = ["reserve", "refund"];

/// A saga of one step, which takes one from an account.
fn kind<D: Database>(bank: &Bank<D>, crash: &Crash, name: &str) -> Saga<Account, Breakable<D>> {
    let home = bank.seen_by(crash)[0].clone();
    let (place, database) = (home.clone(), bank.databases[0].clone());
    let databases = (database.clone(), database);
    Saga::list(&bank.name(name), home, timer())
        .at(move |_: &Account| place.clone())
        .step("take", booking::<D>(databases.0, -1), booking::<D>(databases.1, 1))
        .build(SagaConfig::default())
        .expect("a saga")
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

async fn s4_sagas_of_two_kinds_under_one_id_come_to_their_ends_without_their_runners<D: Database>(
    bank: Bank<D>,
) {
    let (id, account) = (fresh_saga(), bank.account(0, "pieces", 10).await);
    for name in KINDS {
        let crash = Crash::at_point("after saga Init");
        let ended = crash.run(kind(&bank, &crash, name).start(id, "anna", account.clone())).await;
        assert!(ended.is_none(), "{name}");
    }
    for name in KINDS {
        let sound = kind(&bank, &Crash::never(), name);
        bank.settle_all(&sound).await;
        assert_eq!(bank.state(&sound.queue(), id).await, Some(SagaState::Finish), "{name}");
    }
    assert_eq!(bank.balance(&account).await, 8);
}

/// Guard: ids of a saga's messages contain its kind | domain/src/saga/continuation.rs `message_id`: the id
/// alone
async fn s4_sagas_of_two_kinds_that_are_asked_for_under_one_id_both_run<D: Database>(bank: Bank<D>) {
    let (id, account) = (fresh_saga(), bank.account(0, "pieces", 10).await);
    for (name, expected) in KINDS.into_iter().zip([Enqueued::New; 2]).chain([(KINDS[0], Enqueued::Duplicate)])
    {
        let (saga, home) = (kind(&bank, &Crash::never(), name), &bank.seen_by(&Crash::never())[0]);
        let asked: Result<Enqueued, SagaError> = in_transaction(home, &*timer(), |tx| {
            work(async { saga.submit(tx, id, "anna", account.clone()).await })
        })
        .await;
        assert_eq!(asked.expect("an answer"), expected, "{name}");
    }
    for name in KINDS {
        let saga = kind(&bank, &Crash::never(), name);
        bank.settle_all(&saga).await;
        assert_eq!(bank.state(&saga.queue(), id).await, Some(SagaState::Finish), "{name}");
    }
    assert_eq!(bank.balance(&account).await, 8);
}

async fn s4_sagas_of_two_kinds_under_one_id_are_both_called_off<D: Database>(bank: Bank<D>) {
    let (id, account) = (fresh_saga(), bank.account(0, "pieces", 0).await);
    for name in KINDS {
        let crash = Crash::at_point("after saga ToRollback");
        let ended = crash.run(kind(&bank, &crash, name).start(id, "anna", account.clone())).await;
        assert!(ended.is_none(), "{name}");
    }
    for name in KINDS {
        let sound = kind(&bank, &Crash::never(), name);
        bank.settle_all(&sound).await;
        let outcome = sound.proceed(id).await.expect("an outcome");
        assert!(matches!(outcome, SagaOutcome::Fail { .. }), "{name}: {outcome:?}");
        assert_eq!(bank.state(&sound.queue(), id).await, Some(SagaState::Fail), "{name}");
    }
    assert_eq!(bank.balance(&account).await, 0);
}
