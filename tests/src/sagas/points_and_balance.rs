//! S4-B: a payment in points (JiFen) and balance (YuE), over five databases.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use claimstream_domain::{
    Lease, QueueName, RetryPolicy, Verdict,
    notification::{Channel, Content, NotificationRequest, RecipientReference, Requester, RequesterKind},
    saga::SagaStepState::{self, Done, RolledBack},
    step::StepKey,
};
use claimstream_memory::MemoryStore;
use claimstream_notifications::{MESSAGE_QUEUE, MessageConfig, REQUEST_QUEUE, RequestConfig};
use claimstream_ports::{DistributedLock, Handler};
use claimstream_steps::saga::{
    Saga, SagaConfig, SagaError, SagaId, SagaOrderKind, SagaOutcome, SagaRun, SagaState, SagaTail,
    StepFailure,
};
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{
    Case,
    bank::{Account, Bank, Database, book, fresh_saga, timer},
    breakable::Breakable,
    cases,
    crash::Crash,
};
use crate::fixture::{Deliveries, fan_out_to};

const HOUR: Duration = Duration::from_secs(3600);

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Payment {
    pub(super) from: Purse,
    pub(super) to: Purse,
    pub(super) jifen: i64,
    pub(super) yue: i64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Purse {
    pub(super) jifen: Account,
    pub(super) yue: Account,
}

pub(super) fn cases<D: Database>() -> Vec<(&'static str, Case<D>)> {
    cases![
        s4b_forward_takes_four_steps_and_a_check_afterwards_does_nothing,
        s4b_every_crash_point_of_the_way_forward_ends_in_finish,
        s4b_every_pair_of_crash_points_of_the_way_forward_ends_in_finish,
        s4b_every_crash_point_of_the_way_back_ends_in_fail,
        s4b_every_pair_of_crash_points_of_the_way_back_ends_in_fail,
        s4b_message_only_1c_absent_is_started_anew,
        s4b_shortage_seen_and_topped_up_before_the_next_delivery_finishes,
        s4b_a_roll_back_order_that_comes_first_calls_it_off,
        s4b_a_stale_roll_back_order_on_committing_and_finish_changes_nothing,
        s4b_jifen_short_at_step_2_debits_nothing_anywhere,
        s4b_payee_database_down_for_ten_deliveries_then_finish,
        s4b_two_runners_with_different_views_and_a_lost_lock_one_branch_wins,
        s4b_a_late_step_2_after_fail_is_refused,
        s4b_b4_b5_with_did_in_is_an_alarm_and_nothing_is_given_back,
        s4b_a_lock_that_is_held_puts_off_and_one_that_is_lost_spoils_nothing,
        x1_a_shortage_is_told_in_the_transaction_that_calls_off,
        x1_what_is_told_of_a_shortage_is_delivered_once,
    ]
}

/// The whole flow.
pub(super) fn saga<D: Database>(bank: &Bank<D>, crash: &Crash) -> Saga<Payment, Breakable<D>> {
    saga_as(bank, crash, SagaConfig::default())
}

pub(super) fn saga_as<D: Database>(
    bank: &Bank<D>,
    crash: &Crash,
    config: SagaConfig,
) -> Saga<Payment, Breakable<D>> {
    flow(bank, crash, None).build(config).expect("a saga")
}

fn flow<D: Database>(
    bank: &Bank<D>,
    crash: &Crash,
    lock: Option<Arc<dyn DistributedLock>>,
) -> SagaTail<Payment, Breakable<D>> {
    let list = Saga::list(&bank.name("payment"), bank.seen_by(crash)[0].clone(), timer());
    let list = match lock {
        Some(lock) => list.locked_by(lock, Lease::default()),
        None => list,
    };
    list.on_call_off(telling(bank))
        .at(place(bank, crash, |p| &p.from.jifen))
        .step(
            "jifen_out",
            booking(bank, |p| (&p.from.jifen, -p.jifen)),
            booking(bank, |p| (&p.from.jifen, p.jifen)),
        )
        .at(place(bank, crash, |p| &p.from.yue))
        .step("yue_out", booking(bank, |p| (&p.from.yue, -p.yue)), booking(bank, |p| (&p.from.yue, p.yue)))
        .pivot()
        .at(place(bank, crash, |p| &p.to.jifen))
        .step("jifen_in", booking(bank, |p| (&p.to.jifen, p.jifen)))
        .at(place(bank, crash, |p| &p.to.yue))
        .step("yue_in", booking(bank, |p| (&p.to.yue, p.yue)))
}

const STEPS: [(usize, &str); 4] = [(1, "jifen_out"), (2, "yue_out"), (3, "jifen_in"), (4, "yue_in")];

fn place<D: Database>(
    bank: &Bank<D>,
    crash: &Crash,
    of: fn(&Payment) -> &Account,
) -> impl Fn(&Payment) -> Breakable<D> + use<D> {
    let places = bank.seen_by(crash);
    move |payment| places[of(payment).database].clone()
}

fn booking<D: Database>(
    bank: &Bank<D>,
    what: fn(&Payment) -> (&Account, i64),
) -> impl for<'a> Fn(&'a D::Tx, &'a SagaRun<Payment>) -> BoxFuture<'a, Result<(), StepFailure>> + use<D> {
    let databases = bank.databases.clone();
    move |tx, run| {
        let (db, (account, amount)) = (databases.clone(), what(run.input()));
        Box::pin(async move { book(&db[account.database], tx, account, amount).await })
    }
}

/// Tells the payer by a notification, in the transaction that calls the payment off.
fn telling<D: Database>(
    bank: &Bank<D>,
) -> impl for<'a> Fn(
    &'a D::Tx,
    &'a SagaRun<Payment>,
    &'a claimstream_domain::Reason,
) -> BoxFuture<'a, Result<(), StepFailure>>
+ use<D> {
    let home = bank.databases[0].clone();
    move |tx, run, why| {
        let home = home.clone();
        Box::pin(async move {
            home.submit(tx, &[notification(run.id(), run.owner(), why.as_str())]).await?;
            Ok(())
        })
    }
}

fn notification(saga: SagaId, user: &str, why: &str) -> NotificationRequest {
    NotificationRequest {
        id: told(saga),
        requester: Requester { kind: RequesterKind::Service, id: "payments".into() },
        recipients: vec![RecipientReference::User { user: user.into() }],
        channels: vec![Channel::Email],
        content: Some(Content {
            title: Some("Your payment was not made".into()),
            body: Some(why.into()),
            ..Content::default()
        }),
        template: None,
        scheduled_at: None,
        delay_ms: None,
        memo: None,
        headers: Default::default(),
    }
}

fn told(saga: SagaId) -> Uuid {
    Uuid::new_v5(&saga.uuid(), b"told")
}

pub(super) async fn payment<D: Database>(bank: &Bank<D>, jifen: i64, yue: i64) -> Payment {
    let from = Purse { jifen: bank.account(1, "jifen", jifen).await, yue: bank.account(2, "yue", yue).await };
    let to =
        Purse { jifen: bank.account(3, "jifen", 1_000).await, yue: bank.account(4, "yue", 10_000).await };
    Payment { from, to, jifen: 100, yue: 1_000 }
}

/// From JiFen, from YuE, to JiFen, to YuE.
pub(super) async fn balances<D: Database>(bank: &Bank<D>, payment: &Payment) -> [i64; 4] {
    let Payment { from, to, .. } = payment;
    [
        bank.balance(&from.jifen).await,
        bank.balance(&from.yue).await,
        bank.balance(&to.jifen).await,
        bank.balance(&to.yue).await,
    ]
}

pub(super) const PAID: [i64; 4] = [900, 9_000, 1_100, 11_000];
pub(super) const UNPAID: [i64; 4] = [1_000, 10_000, 1_000, 10_000];
/// The payer has a balance of 500.
pub(super) const SHORT: [i64; 4] = [1_000, 500, 1_000, 10_000];

pub(super) async fn rows<D: Database>(
    bank: &Bank<D>,
    saga: &Saga<Payment, Breakable<D>>,
    id: SagaId,
) -> Rows {
    let mut rows = [None; 4];
    for ((database, step), row) in STEPS.iter().zip(&mut rows) {
        *row = bank.step_state(&saga.queue(), id, *database, step).await;
    }
    (bank.state(&saga.queue(), id).await, rows)
}

pub(super) type Rows = (Option<SagaState>, [Option<SagaStepState>; 4]);

pub(super) const FINISHED: Rows = (Some(SagaState::Finish), [Some(Done); 4]);
pub(super) const FAILED: Rows = (Some(SagaState::Fail), [Some(RolledBack); 4]);
pub(super) const NOTHING: Rows = (None, [None; 4]);

pub(super) async fn is_told<D: Database>(bank: &Bank<D>, id: SagaId) -> bool {
    bank.databases[0].progress(told(id)).await.expect("a report").is_some()
}

/// How a payment ends of which a runner stopped at a point.
pub(super) fn expected(point: &str, end: (Rows, [i64; 4]), start: [i64; 4]) -> (Rows, [i64; 4]) {
    match point {
        "inside saga Init" | "before saga Init" => (NOTHING, start),
        _ => end,
    }
}

/// The points of a payment that nothing disturbs.
pub(super) async fn points<D: Database>(bank: &Bank<D>, yue: i64) -> Vec<String> {
    let crash = Crash::never();
    let saga = saga(bank, &crash);
    saga.start(fresh_saga(), "anna", payment(bank, 1_000, yue).await).await.expect("an outcome");
    bank.settle_all(&saga).await;
    crash.trail()
}

async fn s4b_forward_takes_four_steps_and_a_check_afterwards_does_nothing<D: Database>(bank: Bank<D>) {
    let (id, paid, saga) = (fresh_saga(), payment(&bank, 1_000, 10_000).await, saga(&bank, &Crash::never()));
    assert_eq!(saga.start(id, "anna", paid.clone()).await.expect("an outcome"), SagaOutcome::Finish);
    assert_eq!((rows(&bank, &saga, id).await, balances(&bank, &paid).await), (FINISHED, PAID));
    bank.pass_time(Duration::from_secs(59)).await;
    assert_eq!(bank.deliver(&saga).await, []);
    bank.pass_time(Duration::from_secs(1)).await;
    assert_eq!(bank.deliver(&saga).await, [Verdict::ack()]);
    assert_eq!((rows(&bank, &saga, id).await, balances(&bank, &paid).await), (FINISHED, PAID));
    assert!(!is_told(&bank, id).await);
}

async fn s4b_every_crash_point_of_the_way_forward_ends_in_finish<D: Database>(bank: Bank<D>) {
    every_crash_point(&bank, UNPAID, (FINISHED, PAID)).await;
}

async fn s4b_every_crash_point_of_the_way_back_ends_in_fail<D: Database>(bank: Bank<D>) {
    every_crash_point(&bank, SHORT, (FAILED, SHORT)).await;
}

async fn s4b_every_pair_of_crash_points_of_the_way_forward_ends_in_finish<D: Database>(bank: Bank<D>) {
    let pairs = every_pair(&bank, UNPAID, (FINISHED, PAID)).await;
    assert!(pairs >= 100, "only {pairs} pairs");
}

async fn s4b_every_pair_of_crash_points_of_the_way_back_ends_in_fail<D: Database>(bank: Bank<D>) {
    let pairs = every_pair(&bank, SHORT, (FAILED, SHORT)).await;
    assert!(pairs >= 200, "only {pairs} pairs");
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
        assert_eq!(is_told(bank, id).await, ended.0.0 == Some(SagaState::Fail), "{point}");
        assert_eq!(sound.tally().alarms, 0, "{point}");
    }
}

async fn every_pair<D: Database>(bank: &Bank<D>, start: [i64; 4], end: (Rows, [i64; 4])) -> usize {
    let points = points(bank, start[1]).await;
    let mut pairs = 0;
    for (first, point) in points.iter().enumerate() {
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
            assert_eq!(is_told(bank, id).await, ended.0.0 == Some(SagaState::Fail), "{what}");
            if checked.is_some() {
                break;
            }
            pairs += 1;
        }
    }
    pairs
}

async fn s4b_message_only_1c_absent_is_started_anew<D: Database>(bank: Bank<D>) {
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

async fn s4b_shortage_seen_and_topped_up_before_the_next_delivery_finishes<D: Database>(bank: Bank<D>) {
    let (id, paid) = (fresh_saga(), payment(&bank, 1_000, 500).await);
    let crash = Crash::at_point("inside saga ToRollback");
    assert!(crash.run(saga(&bank, &crash).start(id, "anna", paid.clone())).await.is_none());
    bank.pay_in(&paid.from.yue, 9_500).await;
    let sound = saga(&bank, &Crash::never());
    bank.settle_all(&sound).await;
    assert_eq!((rows(&bank, &sound, id).await, balances(&bank, &paid).await), (FINISHED, PAID));
    assert!(!is_told(&bank, id).await);
}

async fn s4b_a_roll_back_order_that_comes_first_calls_it_off<D: Database>(bank: Bank<D>) {
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

async fn s4b_a_stale_roll_back_order_on_committing_and_finish_changes_nothing<D: Database>(bank: Bank<D>) {
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
        assert_eq!((sound.tally().too_late, sound.tally().alarms), (1, 0), "{point}");
        bank.settle_all(&sound).await;
        assert_eq!(
            (rows(&bank, &sound, id).await, balances(&bank, &paid).await),
            (FINISHED, PAID),
            "{point}"
        );
    }
}

async fn s4b_jifen_short_at_step_2_debits_nothing_anywhere<D: Database>(bank: Bank<D>) {
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

async fn s4b_payee_database_down_for_ten_deliveries_then_finish<D: Database>(bank: Bank<D>) {
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

async fn s4b_two_runners_with_different_views_and_a_lost_lock_one_branch_wins<D: Database>(bank: Bank<D>) {
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
        assert_eq!(is_told(&bank, id).await, end.0 == FAILED);
    }
}

async fn s4b_a_late_step_2_after_fail_is_refused<D: Database>(bank: Bank<D>) {
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

async fn s4b_b4_b5_with_did_in_is_an_alarm_and_nothing_is_given_back<D: Database>(bank: Bank<D>) {
    for (database, step) in [(3, "jifen_in"), (4, "yue_in")] {
        let (id, paid) = (fresh_saga(), payment(&bank, 1_000, 10_000).await);
        let crash = Crash::at_point("after yue_out Done");
        crash.run(saga(&bank, &crash).start(id, "anna", paid.clone())).await;
        let sound = saga(&bank, &Crash::never());
        // As if steps were taken beside each other: the payee has the money, and has spent it.
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

async fn s4b_a_lock_that_is_held_puts_off_and_one_that_is_lost_spoils_nothing<D: Database>(bank: Bank<D>) {
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

async fn x1_a_shortage_is_told_in_the_transaction_that_calls_off<D: Database>(bank: Bank<D>) {
    for (point, told) in [("before saga ToRollback", false), ("after saga ToRollback", true)] {
        let (id, paid) = (fresh_saga(), payment(&bank, 1_000, 500).await);
        let crash = Crash::at_point(point);
        assert!(crash.run(saga(&bank, &crash).start(id, "anna", paid.clone())).await.is_none());
        assert_eq!(is_told(&bank, id).await, told, "{point}");
        let sound = saga(&bank, &Crash::never());
        assert_eq!(bank.state(&sound.queue(), id).await == Some(SagaState::ToRollback), told, "{point}");
        bank.settle_all(&sound).await;
        assert!(is_told(&bank, id).await, "{point}");
    }
}

/// The request that the saga has made is fanned out and its message delivered, each handled twice, as after a lost ack.
async fn x1_what_is_told_of_a_shortage_is_delivered_once<D: Database>(bank: Bank<D>) {
    let (id, paid) = (fresh_saga(), payment(&bank, 1_000, 500).await);
    let saga = saga(&bank, &Crash::never());
    let ended = saga.start(id, "anna", paid).await.expect("an outcome");
    assert!(matches!(ended, SagaOutcome::Fail { .. }), "{ended:?}");
    bank.settle_all(&saga).await;
    let home = Arc::new(bank.databases[0].clone());
    let deliveries = Deliveries::default();
    let requests = fan_out_to("anna", home.clone(), home.clone());
    let (requests_retry, messages_retry) = (RequestConfig::default().retry, MessageConfig::default().retry);
    let messages = deliveries.handler(home.clone());
    handle_all(&bank, REQUEST_QUEUE, &requests, &requests_retry).await;
    handle_all(&bank, MESSAGE_QUEUE, &messages, &messages_retry).await;
    let delivered = deliveries.of(told(id));
    assert_eq!(delivered.len(), 1, "{delivered:?}");
    assert_eq!(delivered[0].address, "anna@example.com");
    let progress = home.progress(told(id)).await.expect("a report").expect("a request");
    assert_eq!((progress.delivered, progress.total()), (1, 1), "{progress:?}");
}

/// Handles each message of a queue twice until it is empty; other cases' are among them.
async fn handle_all<D: Database>(bank: &Bank<D>, queue: &str, handler: &dyn Handler, retry: &RetryPolicy) {
    let queue = QueueName::new(queue).expect("a queue");
    loop {
        let claimed = bank.claim(&queue).await;
        if claimed.is_empty() {
            return;
        }
        for claimed in &claimed {
            handler.handle(claimed).await;
            let verdict = handler.handle(claimed).await;
            bank.settle(claimed, &verdict, retry).await;
        }
    }
}
