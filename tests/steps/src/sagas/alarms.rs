//! S4: a saga that no runner can finish raises an alarm, and one that could not be finished is not begun.
//! Promise: a payload that no message can carry is refused before a saga is begun

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use claimstream_domain::{
    Lease, QueueName, Verdict,
    saga::{SagaOrder, SagaOrderKind},
};
use claimstream_ports::{DistributedLock, Handler, LockGuard, StoreError, StoreErrorKind};
use claimstream_steps::saga::{
    Saga, SagaAlarm, SagaAlarmKind, SagaConfig, SagaError, SagaOutcome, SagaRun, StepFailure,
};
use futures::future::BoxFuture;

use super::{
    bank::{Bank, fresh_saga, timer},
    case::{Case, cases},
    crash::Crash,
    database::Database,
    transfer::{AMOUNT, saga_as, transfer},
};

const HOUR: Duration = Duration::from_secs(3600);

pub(super) fn cases<D: Database>() -> Vec<(&'static str, Case<D>)> {
    cases![
        s4_a_saga_whose_every_delivery_ends_the_process_is_reported,
        s4_an_order_that_cannot_be_read_is_kept_and_reported,
        s4_an_input_that_would_not_come_back_is_refused,
        s4_an_input_that_no_message_could_carry_is_refused,
        s4_a_store_that_cannot_for_a_while_is_tried_again_and_reported_once,
        s4_a_saga_is_counted_once_however_often_it_is_looked_at,
        s4_a_saga_that_another_runner_holds_is_waited_for_and_is_no_alarm,
    ]
}

fn config<D: Database>(bank: &Bank<D>) -> SagaConfig {
    let alarms = QueueName::new(&bank.name("alarms")).expect("a queue");
    SagaConfig { alarms, alarm_after: 2, ..SagaConfig::default() }
}

/// Guard: a saga that many deliveries have not ended raises an alarm | app/steps/src/saga/handler.rs: no
/// alarm
async fn s4_a_saga_whose_every_delivery_ends_the_process_is_reported<D: Database>(bank: Bank<D>) {
    let (id, wanted, config) = (fresh_saga(), transfer(&bank, AMOUNT).await, config(&bank));
    let dying = |point| Crash::at(point);
    let crash = dying(3);
    crash.run(saga_as(&bank, &crash, config.clone()).start(id, "anna", wanted)).await;
    for delivery in 1..=3_u32 {
        bank.pass_time(HOUR).await;
        let crash = dying(0);
        let saga = saga_as(&bank, &crash, config.clone());
        let claims = bank.claim(&saga.queue()).await;
        assert_eq!(claims.len(), 1, "delivery {delivery}");
        let ended = crash.run(saga.handle(&claims[0])).await;
        assert!(ended.is_none(), "delivery {delivery} came to its end: {ended:?}");
        let alarms = bank.claim(&config.alarms).await.len();
        assert_eq!(alarms, usize::from(delivery > config.alarm_after), "delivery {delivery}");
    }
    bank.settle_all(&saga_as(&bank, &Crash::never(), config)).await;
}

/// Guard: an unreadable message of a saga raises an alarm | app/steps/src/saga/handler.rs: no alarm
async fn s4_an_order_that_cannot_be_read_is_kept_and_reported<D: Database>(bank: Bank<D>) {
    let (id, config) = (fresh_saga(), config(&bank));
    let saga = saga_as(&bank, &Crash::never(), config.clone());
    let input = serde_json::json!({"amount": "of an earlier version"});
    let order = SagaOrder { order: SagaOrderKind::Check, saga: id, owner: "anna".into(), input };
    bank.enqueue(order.message(saga.queue()).expect("a message")).await;
    let verdicts = bank.deliver(&saga).await;
    assert!(matches!(verdicts[..], [Verdict::Bury { .. }]), "{verdicts:?}");
    assert_eq!(bank.dead_letters(&saga.queue()).await, 1);
    let alarms = bank.claim(&config.alarms).await;
    assert_eq!((saga.tally().alarms, alarms.len()), (1, 1));
    let alarm: SagaAlarm = serde_json::from_slice(alarms[0].message.payload.bytes()).expect("an alarm");
    let revive = format!("claimstream dead revive --queue {}", saga.queue());
    assert!(alarm.remedy.contains(&revive) && alarm.remedy.contains(&id.to_string()), "{alarm:?}");
}

/// A table that is renamed for a moment, a right that is missing: the saga is not broken, and goes on when they are back.
/// Guard: a missing table or right is tried again | app/steps/src/saga/failure.rs: `Misconfigured` and
/// `Unsupported` are `Invariant`
async fn s4_a_store_that_cannot_for_a_while_is_tried_again_and_reported_once<D: Database>(bank: Bank<D>) {
    for kind in [StoreErrorKind::Unsupported, StoreErrorKind::Misconfigured] {
        let trouble = Arc::new(Mutex::new(Some(kind)));
        let home = bank.seen_by(&Crash::never())[0].clone();
        let (place, met) = (home.clone(), trouble.clone());
        let config = SagaConfig {
            alarms: QueueName::new(&bank.name(&format!("alarms-{kind}"))).expect("a queue"),
            ..config(&bank)
        };
        let saga: Saga<u128, _> = Saga::list(&bank.name(&format!("{kind}")), home, timer())
            .at(move |_: &u128| place.clone())
            .step("try", trying::<D::Tx>(met), nothing)
            .build(config.clone())
            .expect("a saga");
        let outcome = saga.start(fresh_saga(), "anna", 7).await.expect("an outcome");
        assert!(matches!(outcome, SagaOutcome::Underway { .. }), "{kind}: {outcome:?}");
        for delivery in 1..=4 {
            bank.pass_time(HOUR).await;
            let verdicts = bank.deliver(&saga).await;
            assert!(
                matches!(verdicts[..], [Verdict::Nack { .. }]),
                "{kind}, delivery {delivery}: {verdicts:?}"
            );
        }
        let alarms = bank.claim(&config.alarms).await;
        assert_eq!((saga.tally().alarms, alarms.len()), (1, 1), "{kind}");
        let alarm: SagaAlarm = serde_json::from_slice(alarms[0].message.payload.bytes()).expect("an alarm");
        assert_eq!(alarm.alarm, SagaAlarmKind::Late, "{kind}");
        *trouble.lock().expect("no panic") = None;
        bank.settle_all(&saga).await;
        assert_eq!((saga.tally().finished, bank.dead_letters(&saga.queue()).await), (1, 0), "{kind}");
    }
}

/// A lock that another holder has, or that is free.
struct Elsewhere(AtomicBool);

#[async_trait]
impl DistributedLock for Elsewhere {
    async fn try_acquire(&self, key: &str, _: Lease) -> Result<Option<LockGuard>, StoreError> {
        let is_held = self.0.load(Ordering::Relaxed);
        Ok((!is_held).then(|| LockGuard { key: key.to_owned(), fence: 1 }))
    }

    async fn renew(&self, _: &LockGuard, _: Lease) -> Result<bool, StoreError> {
        Ok(true)
    }

    async fn release(&self, _: LockGuard) -> Result<bool, StoreError> {
        Ok(true)
    }
}

/// Guard: a saga that another runner holds costs no attempt | app/steps/src/saga/handler.rs: `Verdict::nack` where it is busy
async fn s4_a_saga_that_another_runner_holds_is_waited_for_and_is_no_alarm<D: Database>(bank: Bank<D>) {
    let (lock, lease) = (Arc::new(Elsewhere(AtomicBool::new(true))), Lease::default());
    let (home, config) = (bank.seen_by(&Crash::never())[0].clone(), config(&bank));
    let place = home.clone();
    let saga: Saga<u128, _> = Saga::list(&bank.name("held"), home, timer())
        .locked_by(lock.clone(), lease)
        .at(move |_: &u128| place.clone())
        .step("nothing", nothing, nothing)
        .build(config.clone())
        .expect("a saga");
    let outcome = saga.start(fresh_saga(), "anna", 7).await.expect("an outcome");
    assert!(matches!(outcome, SagaOutcome::Underway { .. }), "{outcome:?}");
    for delivery in 1..=4 {
        bank.pass_time(HOUR).await;
        let verdicts = bank.deliver(&saga).await;
        assert!(
            matches!(&verdicts[..], [Verdict::Postpone { after, .. }] if *after == lease.duration()),
            "delivery {delivery}: {verdicts:?}"
        );
    }
    assert_eq!((saga.tally().alarms, bank.claim(&config.alarms).await.len()), (0, 0));
    lock.0.store(false, Ordering::Relaxed);
    bank.settle_all(&saga).await;
    assert_eq!((saga.tally().finished, bank.dead_letters(&saga.queue()).await), (1, 0));
}

fn trying<Tx: Sync>(
    trouble: Arc<Mutex<Option<StoreErrorKind>>>,
) -> impl for<'a> Fn(&'a Tx, &'a SagaRun<u128>) -> BoxFuture<'a, Result<(), StepFailure>> {
    move |_, _| {
        let met = *trouble.lock().expect("no panic");
        Box::pin(async move {
            match met {
                Some(kind) => Err(StoreError::new(kind, "try", "as scripted").into()),
                None => Ok(()),
            }
        })
    }
}

/// Guard: a saga is counted by the process that ends it | app/steps/src/saga/list.rs `count`: at every look
async fn s4_a_saga_is_counted_once_however_often_it_is_looked_at<D: Database>(bank: Bank<D>) {
    let (id, wanted, config) = (fresh_saga(), transfer(&bank, AMOUNT).await, config(&bank));
    let [one, other] = [(); 2].map(|()| saga_as(&bank, &Crash::never(), config.clone()));
    for _ in 0..3 {
        one.start(id, "anna", wanted.clone()).await.expect("an outcome");
        other.proceed(id).await.expect("an outcome");
    }
    bank.settle_all(&other).await;
    assert_eq!((one.tally().finished, other.tally().finished), (1, 0));
    let too_large = transfer(&bank, 100 * AMOUNT).await;
    let failing = fresh_saga();
    for _ in 0..3 {
        one.start(failing, "anna", too_large.clone()).await.expect("an outcome");
        other.start(failing, "anna", too_large.clone()).await.expect("an outcome");
    }
    assert_eq!((one.tally().failed, other.tally().failed, one.tally().finished), (1, 0, 1));
}

/// Guard: an input that would not be read back equal is refused | app/steps/src/saga/list.rs: no comparison
async fn s4_an_input_that_would_not_come_back_is_refused<D: Database>(bank: Bank<D>) {
    let home = bank.seen_by(&Crash::never())[0].clone();
    let place = home.clone();
    let saga: Saga<u128, _> = Saga::list(&bank.name("huge"), home, timer())
        .at(move |_: &u128| place.clone())
        .step("nothing", nothing, nothing)
        .build(config(&bank))
        .expect("a saga");
    let huge = u128::from(u64::MAX) + 1;
    let refused = saga.start(fresh_saga(), "anna", huge).await;
    assert!(matches!(refused, Err(SagaError::Invalid(_))), "{refused:?}");
    assert!(bank.claim(&saga.queue()).await.is_empty());
    saga.start(fresh_saga(), "anna", u128::from(u64::MAX)).await.expect("an outcome");
    bank.settle_all(&saga).await;
}

/// Read from a text by itself it would be just shallow enough.
/// Guard: a saga's input is tested for its depth inside a message | app/steps/src/saga/list.rs `lasting`:
/// without the array around it
async fn s4_an_input_that_no_message_could_carry_is_refused<D: Database>(bank: Bank<D>) {
    let home = bank.seen_by(&Crash::never())[0].clone();
    let place = home.clone();
    let saga: Saga<serde_json::Value, _> = Saga::list(&bank.name("deep"), home, timer())
        .at(move |_: &serde_json::Value| place.clone())
        .step("nothing", nothing, nothing)
        .build(config(&bank))
        .expect("a saga");
    let nested = |depth| (0..depth).fold(serde_json::json!(1), |inner, _| serde_json::json!([inner]));
    let refused = saga.start(fresh_saga(), "anna", nested(127)).await;
    assert!(matches!(refused, Err(SagaError::Invalid(_))), "{refused:?}");
    assert!(bank.claim(&saga.queue()).await.is_empty());
    saga.start(fresh_saga(), "anna", nested(126)).await.expect("an outcome");
    bank.settle_all(&saga).await;
    assert_eq!((bank.dead_letters(&saga.queue()).await, saga.tally().alarms), (0, 0));
}

fn nothing<'a, Tx: Sync, I>(_: &'a Tx, _: &'a SagaRun<I>) -> BoxFuture<'a, Result<(), StepFailure>> {
    Box::pin(async { Ok(()) })
}
