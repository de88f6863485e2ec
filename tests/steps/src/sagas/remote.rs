//! Steps that are calls to another service, which takes each key once and refuses a call whose cancellation has come before.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use claimstream_domain::Verdict;
use claimstream_steps::saga::{
    IdempotencyKey, Saga, SagaConfig, SagaOrderKind, SagaOutcome, SagaState, StepFailure,
};

use super::{
    bank::{Bank, fresh_saga, timer},
    breakable::Breakable,
    case::{Case, cases},
    crash::Crash,
    database::Database,
};

pub(super) fn cases<D: Database>() -> Vec<(&'static str, Case<D>)> {
    cases![
        s4_1_a_remote_call_takes_effect_once_whatever_the_crash_point,
        s4_1_a_remote_call_is_cancelled_once_whatever_the_crash_point,
        s4_1_a_remote_call_whose_answer_was_lost_is_cancelled_by_an_order,
        s4_1_a_saga_asked_for_in_a_transaction_runs_if_and_only_if_it_commits,
    ]
}

/// The other side.
#[derive(Clone, Default)]
struct Hotel(Arc<Mutex<HashMap<String, Booking>>>);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Booking {
    Booked,
    Cancelled,
}

impl Hotel {
    fn book(&self, key: &IdempotencyKey) -> Result<(), StepFailure> {
        let mut bookings = self.0.lock().expect("the bookings");
        match bookings.entry(key.to_string()).or_insert(Booking::Booked) {
            Booking::Booked => Ok(()),
            Booking::Cancelled => Err(StepFailure::transient("cancelled before")),
        }
    }

    fn cancel(&self, key: &IdempotencyKey) {
        self.0.lock().expect("the bookings").insert(key.to_string(), Booking::Cancelled);
    }

    fn all(&self) -> Vec<Booking> {
        self.0.lock().expect("the bookings").values().copied().collect()
    }
}

fn trip<D: Database>(bank: &Bank<D>, crash: &Crash, hotel: &Hotel, full: bool) -> Saga<String, Breakable<D>> {
    let (booking, cancelling) = (hotel.clone(), hotel.clone());
    Saga::list(&bank.name("trip"), bank.seen_by(crash)[0].clone(), timer())
        .remote(
            "hotel",
            move |key, _| {
                let booked = booking.book(key);
                Box::pin(async { booked })
            },
            move |key, _| {
                cancelling.cancel(key);
                Box::pin(async { Ok(()) })
            },
        )
        .remote(
            "flight",
            move |_, _| {
                let answer = if full { Err(StepFailure::business("no seat")) } else { Ok(()) };
                Box::pin(async { answer })
            },
            |_, _| Box::pin(async { Ok(()) }),
        )
        .build(SagaConfig::default())
        .expect("a saga")
}

async fn s4_1_a_remote_call_takes_effect_once_whatever_the_crash_point<D: Database>(bank: Bank<D>) {
    for number in 0.. {
        let (id, hotel, crash) = (fresh_saga(), Hotel::default(), Crash::at(number));
        let started = crash.run(trip(&bank, &crash, &hotel, false).start(id, "anna", "Rome".into())).await;
        let sound = trip(&bank, &Crash::never(), &hotel, false);
        bank.settle_all(&sound).await;
        let (state, point) = (bank.state(&sound.queue(), id).await, crash.trail().pop());
        let begun = number >= 2;
        assert_eq!(state, begun.then_some(SagaState::Finish), "{point:?}");
        assert_eq!(hotel.all(), vec![Booking::Booked; usize::from(begun)], "{point:?}");
        if let Some(ended) = started {
            assert_eq!(ended.expect("an outcome"), SagaOutcome::Finish);
            return assert!(number >= 15, "only {number} points");
        }
    }
}

/// Guard: a saga's first row is committed with its check message | app/steps/src/saga/row.rs `open_in`: no
/// `enqueue`
async fn s4_1_a_remote_call_is_cancelled_once_whatever_the_crash_point<D: Database>(bank: Bank<D>) {
    for number in 0.. {
        let (id, hotel, crash) = (fresh_saga(), Hotel::default(), Crash::at(number));
        let started = crash.run(trip(&bank, &crash, &hotel, true).start(id, "anna", "Rome".into())).await;
        let sound = trip(&bank, &Crash::never(), &hotel, true);
        bank.settle_all(&sound).await;
        let (state, point) = (bank.state(&sound.queue(), id).await, crash.trail().pop());
        let begun = number >= 2;
        assert_eq!(state, begun.then_some(SagaState::Fail), "{point:?}");
        assert_eq!(hotel.all(), vec![Booking::Cancelled; usize::from(begun)], "{point:?}");
        if let Some(ended) = started {
            let ended = ended.expect("an outcome");
            assert!(
                matches!(&ended, SagaOutcome::Fail { reason } if reason.as_str() == "no seat"),
                "{ended:?}"
            );
            return assert!(number >= 15, "only {number} points");
        }
    }
}

/// Guard: a remote step is recorded as called before the call | app/steps/src/saga/remote.rs: the call first,
/// the row afterwards
async fn s4_1_a_remote_call_whose_answer_was_lost_is_cancelled_by_an_order<D: Database>(bank: Bank<D>) {
    for point in ["inside hotel Done", "before hotel Done", "after hotel Done"] {
        let (id, hotel, crash) = (fresh_saga(), Hotel::default(), Crash::at_point(point));
        let started = crash.run(trip(&bank, &crash, &hotel, false).start(id, "anna", "Rome".into())).await;
        assert!(started.is_none() && hotel.all() == [Booking::Booked], "{point}");
        let sound = trip(&bank, &Crash::never(), &hotel, false);
        let order = sound.order(SagaOrderKind::RollBack, id, "anna", "Rome".into());
        bank.enqueue(order.expect("a message")).await;
        bank.settle_all(&sound).await;
        assert_eq!(bank.state(&sound.queue(), id).await, Some(SagaState::Fail), "{point}");
        assert_eq!(hotel.all(), [Booking::Cancelled], "{point}");
    }
}

async fn s4_1_a_saga_asked_for_in_a_transaction_runs_if_and_only_if_it_commits<D: Database>(bank: Bank<D>) {
    let (hotel, home) = (Hotel::default(), &bank.databases[0]);
    let saga = trip(&bank, &Crash::never(), &hotel, false);
    let (never, wanted) = (fresh_saga(), fresh_saga());
    let tx = home.begin_tx().await.expect("a transaction");
    saga.submit(&tx, never, "anna", "Oslo".into()).await.expect("an answer");
    home.roll_back_tx(tx).await.expect("a roll-back");
    let tx = home.begin_tx().await.expect("a transaction");
    saga.submit(&tx, wanted, "anna", "Rome".into()).await.expect("an answer");
    home.commit_tx(tx).await.expect("a commit");
    assert_eq!(saga.mine("anna", None, 10).await.expect("a list").len(), 1);
    assert_eq!(bank.deliver(&saga).await, [Verdict::ack()]);
    assert_eq!(bank.state(&saga.queue(), wanted).await, Some(SagaState::Finish));
    assert_eq!((bank.state(&saga.queue(), never).await, hotel.all()), (None, vec![Booking::Booked]));
    let late = saga.order(SagaOrderKind::New, wanted, "anna", "Rome".into()).expect("a message");
    bank.enqueue(late).await;
    bank.settle_all(&saga).await;
    assert_eq!(hotel.all(), [Booking::Booked]);
}
