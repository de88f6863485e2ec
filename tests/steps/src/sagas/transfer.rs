//! S4-A: a simple transfer between two databases; its saga has three writes that the table numbers: the debit (1), the
//! credit (2) and the end of the saga's row (3).

use claimstream_domain::{Verdict, saga::SagaStepState, step::StepKey};
use claimstream_steps::saga::{
    Saga, SagaConfig, SagaError, SagaId, SagaOutcome, SagaRun, SagaState, StepFailure, Unbegun,
};
use futures::{
    StreamExt,
    future::{BoxFuture, join_all},
    stream,
};
use serde::{Deserialize, Serialize};

use super::{
    bank::{Account, Bank, book, fresh_saga, timer},
    breakable::Breakable,
    case::{Case, cases},
    crash::Crash,
    database::Database,
};
use crate::repetitions;

pub(super) const AMOUNT: i64 = 1_000;
const OPENING: i64 = 10_000;

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Transfer {
    pub(super) from: Account,
    pub(super) to: Account,
    pub(super) amount: i64,
}

pub(super) fn cases<D: Database>() -> Vec<(&'static str, Case<D>)> {
    cases![
        s4a_every_crash_point_ends_as_the_table_says,
        s4a_every_pair_of_crash_points_ends_the_same,
        s4a_crash_after_message_before_1_is_cancelled_and_a_late_step_1_is_refused,
        s4a_amount_too_large_fails_and_no_account_is_touched,
        s4a_a_check_delivered_three_times_and_in_parallel_ends_the_same,
        s4a_an_unknown_state_is_an_alarm_nothing_is_written_and_the_message_is_kept,
        s4a_both_users_on_one_shard,
        s4a_transfers_each_way_at_once,
        s4a_mine_is_newest_first_and_continue_is_the_check,
        s4a_the_same_id_with_another_amount_is_refused,
    ]
}

/// The whole flow.
pub(super) fn saga<D: Database>(bank: &Bank<D>, crash: &Crash) -> Saga<Transfer, Breakable<D>> {
    saga_as(bank, crash, SagaConfig::default())
}

pub(super) fn saga_as<D: Database>(
    bank: &Bank<D>,
    crash: &Crash,
    config: SagaConfig,
) -> Saga<Transfer, Breakable<D>> {
    let places = bank.seen_by(crash);
    let (from, to) = (places.clone(), places.clone());
    Saga::list(&bank.name("transfer"), places[0].clone(), timer())
        .at(move |t: &Transfer| from[t.from.database].clone())
        .step(
            "debit",
            booking(bank, |t| (t.from.clone(), -t.amount)),
            booking(bank, |t| (t.from.clone(), t.amount)),
        )
        .pivot()
        .at(move |t: &Transfer| to[t.to.database].clone())
        .step("credit", booking(bank, |t| (t.to.clone(), t.amount)))
        .build(SagaConfig { unbegun: Unbegun::CallOff, ..config })
        .expect("a saga")
}

fn booking<D: Database>(
    bank: &Bank<D>,
    what: fn(&Transfer) -> (Account, i64),
) -> impl for<'a> Fn(&'a D::Tx, &'a SagaRun<Transfer>) -> BoxFuture<'a, Result<(), StepFailure>> + use<D> {
    let databases = bank.databases.clone();
    move |tx, run| {
        let (db, (account, amount)) = (databases.clone(), what(run.input()));
        Box::pin(async move { book(&db[account.database], tx, &account, amount).await })
    }
}

pub(super) async fn transfer<D: Database>(bank: &Bank<D>, amount: i64) -> Transfer {
    let (from, to) = (bank.account(0, "money", OPENING).await, bank.account(1, "money", OPENING).await);
    Transfer { from, to, amount }
}

pub(super) async fn balances<D: Database>(bank: &Bank<D>, transfer: &Transfer) -> (i64, i64) {
    (bank.balance(&transfer.from).await, bank.balance(&transfer.to).await)
}

/// What the table says of a runner that stopped at a point.
pub(super) fn expected(point: &str) -> (Option<SagaState>, (i64, i64)) {
    let moved = (OPENING - AMOUNT, OPENING + AMOUNT);
    match point {
        "inside saga Init" | "before saga Init" => (None, (OPENING, OPENING)),
        "after saga Init" | "inside debit Done" | "before debit Done" => {
            (Some(SagaState::Fail), (OPENING, OPENING))
        }
        _ => (Some(SagaState::Finish), moved),
    }
}

/// The points of a transfer that nothing disturbs.
pub(super) async fn points<D: Database>(bank: &Bank<D>) -> Vec<String> {
    let (crash, wanted) = (Crash::never(), transfer(bank, AMOUNT).await);
    let saga = saga(bank, &crash);
    let ended = saga.start(fresh_saga(), &wanted.from.user.clone(), wanted).await;
    assert_eq!(ended.expect("a transfer"), SagaOutcome::Finish);
    bank.settle_all(&saga).await;
    crash.trail()
}

async fn s4a_every_crash_point_ends_as_the_table_says<D: Database>(bank: Bank<D>) {
    let points = points(&bank).await;
    assert!(points.len() >= 13, "{points:?}");
    for (number, point) in points.iter().enumerate() {
        let (id, wanted) = (fresh_saga(), transfer(&bank, AMOUNT).await);
        let crash = Crash::at(number);
        let started = crash.run(saga(&bank, &crash).start(id, "anna", wanted.clone())).await;
        assert!(started.is_none(), "{point} was not reached");
        let sound = saga(&bank, &Crash::never());
        let verdicts = bank.settle_all(&sound).await;
        assert!(verdicts.iter().all(|verdict| *verdict == Verdict::ack()), "{point}: {verdicts:?}");
        let ended = (bank.state(&sound.queue(), id).await, balances(&bank, &wanted).await);
        assert_eq!(ended, expected(point), "after a crash {point}");
        assert!(bank.settle_all(&sound).await.is_empty());
    }
}

async fn s4a_every_pair_of_crash_points_ends_the_same<D: Database>(bank: Bank<D>) {
    let points = points(&bank).await;
    let mut pairs = 0;
    for (first, point) in points.iter().enumerate() {
        for second in 0.. {
            let (id, wanted) = (fresh_saga(), transfer(&bank, AMOUNT).await);
            let crash = Crash::at(first);
            crash.run(saga(&bank, &crash).start(id, "anna", wanted.clone())).await;
            let again = Crash::at(second);
            let checking = saga(&bank, &again);
            bank.pass_time(std::time::Duration::from_secs(3600)).await;
            let checked = again.run(bank.deliver(&checking)).await;
            let sound = saga(&bank, &Crash::never());
            bank.settle_all(&sound).await;
            let ended = (bank.state(&sound.queue(), id).await, balances(&bank, &wanted).await);
            assert_eq!(ended, expected(point), "after crashes {point} and {:?}", again.trail().last());
            if checked.is_some() {
                break;
            }
            pairs += 1;
        }
    }
    assert!(pairs >= 30, "only {pairs} pairs");
}

/// Guard: a tombstone refuses a late step | app/steps/src/saga/local.rs: `forward` over `RolledBack` has its
/// effect; the same in remote.rs
/// Guard: a saga of which a check finds no step is rolled back | domain/src/saga/next.rs: no
/// `is_left_unbegun`
/// Guard: a refused step begins the rollback | domain/src/saga/next.rs: no `refused`
async fn s4a_crash_after_message_before_1_is_cancelled_and_a_late_step_1_is_refused<D: Database>(
    bank: Bank<D>,
) {
    let (id, wanted) = (fresh_saga(), transfer(&bank, AMOUNT).await);
    let crash = Crash::at_point("after saga Init");
    let slow = saga(&bank, &crash);
    let late = async { slow.start(id, "anna", wanted.clone()).await };
    let check = async {
        crash.stopped().await;
        let checking = saga(&bank, &Crash::never());
        let verdicts = bank.settle_all(&checking).await;
        assert!(!verdicts.is_empty(), "no check was delivered");
        assert_eq!(bank.state(&checking.queue(), id).await, Some(SagaState::Fail));
        crash.go_on();
    };
    let (late, ()) = futures::join!(late, check);
    assert!(matches!(late, Ok(SagaOutcome::Fail { .. })), "{late:?}");
    assert_eq!(slow.tally().refused, 1);
    assert_eq!(balances(&bank, &wanted).await, (OPENING, OPENING));
    let debit = bank.step_state(&slow.queue(), id, 0, "debit").await;
    assert_eq!(debit, Some(SagaStepState::RolledBack));
}

/// Guard: undoing an absent step writes a tombstone | app/steps/src/saga/local.rs: `undo` of an absent step
/// writes nothing; the same in remote.rs
async fn s4a_amount_too_large_fails_and_no_account_is_touched<D: Database>(bank: Bank<D>) {
    let (id, wanted) = (fresh_saga(), transfer(&bank, OPENING + 1).await);
    let saga = saga(&bank, &Crash::never());
    let ended = saga.start(id, "anna", wanted.clone()).await.expect("an outcome");
    assert!(
        matches!(&ended, SagaOutcome::Fail { reason } if reason.as_str() == "balance too small"),
        "{ended:?}"
    );
    assert_eq!(balances(&bank, &wanted).await, (OPENING, OPENING));
    for (database, step) in [(0, "debit"), (1, "credit")] {
        let row = bank.step_state(&saga.queue(), id, database, step).await;
        assert_eq!(row, Some(SagaStepState::RolledBack), "{step} has more than a tombstone");
    }
    assert!(bank.settle_all(&saga).await.iter().all(|verdict| *verdict == Verdict::ack()));
}

async fn s4a_a_check_delivered_three_times_and_in_parallel_ends_the_same<D: Database>(bank: Bank<D>) {
    for point in ["after debit Done", "after saga Committing", "after credit Done", "after saga Finish"] {
        let (id, wanted) = (fresh_saga(), transfer(&bank, AMOUNT).await);
        let crash = Crash::at_point(point);
        assert!(crash.run(saga(&bank, &crash).start(id, "anna", wanted.clone())).await.is_none(), "{point}");
        let runners: Vec<_> = (0..3).map(|_| saga(&bank, &Crash::never())).collect();
        let ended = join_all(runners.iter().map(|runner| runner.proceed(id))).await;
        for end in ended {
            assert_eq!(end.expect("an outcome"), SagaOutcome::Finish, "{point}");
        }
        bank.settle_all(&runners[0]).await;
        assert_eq!(runners[0].proceed(id).await.expect("an outcome"), SagaOutcome::Finish);
        assert_eq!(balances(&bank, &wanted).await, (OPENING - AMOUNT, OPENING + AMOUNT), "{point}");
    }
}

/// Guard: a broken invariant stops a saga | app/steps/src/saga/list.rs `halted`: as `Transient`
async fn s4a_an_unknown_state_is_an_alarm_nothing_is_written_and_the_message_is_kept<D: Database>(
    bank: Bank<D>,
) {
    for (row, database) in [("", 0), ("debit", 0), ("credit", 1)] {
        let (id, wanted) = (fresh_saga(), transfer(&bank, AMOUNT).await);
        let crash = Crash::at_point("after saga Init");
        crash.run(saga(&bank, &crash).start(id, "anna", wanted.clone())).await;
        let sound = saga(&bank, &Crash::never());
        let key = |step: &str| StepKey::new(sound.queue().as_str(), &id.to_string(), step).expect("a key");
        if row == "credit" {
            bank.forge(0, key("debit"), SagaStepState::Done.code()).await;
        }
        bank.forge(database, key(row), 77).await;
        let before = (balances(&bank, &wanted).await, bank.step(database, key(row)).await);
        let dead = bank.dead_letters(&sound.queue()).await;
        let verdicts = bank.settle_all(&sound).await;
        assert!(matches!(verdicts[..], [Verdict::Bury { .. }]), "{row:?}: {verdicts:?}");
        let after = (balances(&bank, &wanted).await, bank.step(database, key(row)).await);
        assert_eq!(after, before, "{row:?}: something was written");
        assert_eq!(bank.dead_letters(&sound.queue()).await, dead + 1, "{row:?}: the message is gone");
        assert_eq!(sound.tally().alarms, 1, "{row:?}");
        let again = sound.proceed(id).await;
        assert!(matches!(again, Err(SagaError::Broken { .. })), "{row:?}: {again:?}");
        assert_eq!(sound.tally().alarms, 1, "{row:?}: the alarm was raised twice");
    }
    let alarms = bank.claim(&SagaConfig::default().alarms).await;
    let rejected = alarms.iter().filter(|alarm| {
        let text = String::from_utf8_lossy(alarm.message.payload.bytes()).into_owned();
        text.contains(&bank.name("transfer")) && text.contains("77")
    });
    assert_eq!(rejected.count(), 3);
}

async fn s4a_both_users_on_one_shard<D: Database>(bank: Bank<D>) {
    let (from, to) = (bank.account(0, "money", OPENING).await, bank.account(0, "money", OPENING).await);
    let wanted = Transfer { from, to, amount: AMOUNT };
    let saga = saga(&bank, &Crash::never());
    let ended = saga.start(fresh_saga(), "anna", wanted.clone()).await;
    assert_eq!(ended.expect("an outcome"), SagaOutcome::Finish);
    assert_eq!(balances(&bank, &wanted).await, (OPENING - AMOUNT, OPENING + AMOUNT));
}

async fn s4a_transfers_each_way_at_once<D: Database>(bank: Bank<D>) {
    let there = transfer(&bank, 1).await;
    let back = Transfer { from: there.to.clone(), to: there.from.clone(), amount: 1 };
    let saga = saga(&bank, &Crash::never());
    let all: Vec<(SagaId, Transfer)> = (0..repetitions(500))
        .flat_map(|_| [(fresh_saga(), there.clone()), (fresh_saga(), back.clone())])
        .collect();
    let starts: Vec<_> = all.iter().map(|(id, wanted)| saga.start(*id, "anna", wanted.clone())).collect();
    let ended: Vec<_> = stream::iter(starts).buffer_unordered(16).collect().await;
    assert!(ended.iter().all(Result::is_ok), "{:?}", ended.iter().find(|ended| ended.is_err()));
    bank.settle_all(&saga).await;
    let (a, b) = balances(&bank, &there).await;
    assert_eq!((a, b, a + b), (OPENING, OPENING, 2 * OPENING));
    for (id, _) in all {
        assert_eq!(bank.state(&saga.queue(), id).await, Some(SagaState::Finish));
    }
}

/// Guard: sagas of an owner are listed newest first | adapters/sea-orm/src/sql/sagas/page.sql: no `DESC`; in
/// memory no sort
async fn s4a_mine_is_newest_first_and_continue_is_the_check<D: Database>(bank: Bank<D>) {
    let crash = Crash::at_point("after debit Done");
    let (done, stopped, failed) = (fresh_saga(), fresh_saga(), fresh_saga());
    let (one, two, three) =
        (transfer(&bank, AMOUNT).await, transfer(&bank, AMOUNT).await, transfer(&bank, OPENING + 1).await);
    let sound = saga(&bank, &Crash::never());
    sound.start(done, "anna", one).await.expect("an outcome");
    bank.pass_time(std::time::Duration::from_secs(5)).await;
    crash.run(saga(&bank, &crash).start(stopped, "anna", two.clone())).await;
    bank.pass_time(std::time::Duration::from_secs(5)).await;
    sound.start(failed, "anna", three).await.expect("an outcome");
    sound.start(fresh_saga(), "bert", transfer(&bank, AMOUNT).await).await.expect("an outcome");
    let mine = sound.mine("anna", None, 10).await.expect("a list");
    let seen: Vec<_> = mine.iter().map(|report| (report.id, report.state)).collect();
    use SagaState::{Fail, Finish, Init};
    assert_eq!(seen, [(failed, Some(Fail)), (stopped, Some(Init)), (done, Some(Finish))]);
    assert_eq!(mine[0].reason.as_ref().map(|why| why.as_str()), Some("balance too small"));
    assert_eq!(mine[1].input.as_ref(), Some(&two));
    assert_eq!(mine[2].age, std::time::Duration::from_secs(10));
    let rest = sound.mine("anna", Some(failed), 1).await.expect("a list");
    assert_eq!(rest.iter().map(|report| report.id).collect::<Vec<_>>(), [stopped]);
    assert_eq!(sound.proceed(stopped).await.expect("an outcome"), SagaOutcome::Finish);
    assert_eq!(balances(&bank, &two).await, (OPENING - AMOUNT, OPENING + AMOUNT));
    let unknown = sound.proceed(fresh_saga()).await;
    assert!(matches!(unknown, Err(SagaError::Unknown(_))), "{unknown:?}");
    bank.settle_all(&sound).await;
}

/// Guard: a step that is begun again is compared by its fingerprint | domain/src/step/mod.rs `repeat`: never
/// `Conflict`
/// Guard: an id of a saga with another input is refused | app/steps/src/saga/row.rs: no `Taken`
async fn s4a_the_same_id_with_another_amount_is_refused<D: Database>(bank: Bank<D>) {
    let (id, wanted) = (fresh_saga(), transfer(&bank, AMOUNT).await);
    let saga = saga(&bank, &Crash::never());
    for _ in 0..2 {
        let ended = saga.start(id, "anna", wanted.clone()).await;
        assert_eq!(ended.expect("an outcome"), SagaOutcome::Finish);
    }
    let other = saga.start(id, "anna", Transfer { amount: 2, ..wanted.clone() }).await;
    assert!(matches!(other, Err(SagaError::Taken(_))), "{other:?}");
    assert_eq!(balances(&bank, &wanted).await, (OPENING - AMOUNT, OPENING + AMOUNT));
    bank.settle_all(&saga).await;
}
