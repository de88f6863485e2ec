//! Sagas whose databases are swept at different times.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use claimstream_domain::Reason;
use claimstream_ports::{Transactions, step::PurgeSteps};
use claimstream_steps::saga::{Saga, SagaConfig, SagaError, SagaId, SagaOutcome, StepFailure};
use claimstream_tokio::TokioTimer;
use uuid::Uuid;

use super::{Place, Setup, keep, steps::KEPT};
use crate::{Instance, Ports, Suite};

pub(super) fn add_to(suite: &mut Suite, place: &Place) {
    // Guard: a step of a saga that may be open is never forgotten | adapters/sea-orm/src/sql/steps/page.sql:
    // no `o.step <> ''`
    let what = "a_saga_takes_no_step_twice_however_late_it_goes_on";
    place.add_pair(suite, "auto", keep(), what, leaves_what_a_saga_did_elsewhere);
    // Guard: the note of a saga keeps its id | adapters/sea-orm/src/sql/sagas/shorten.sql: it is deleted
    let what = "a_sagas_id_is_used_for_good_though_its_home_has_forgotten_its_steps";
    place.add_pair(suite, "auto", keep(), what, keeps_the_ids_of_sagas);
}

/// Between two steps lie two months, in which the database of the first one is swept.
async fn leaves_what_a_saga_did_elsewhere(setup: Setup, elsewhere: Setup) {
    let stuck = Arc::new(AtomicBool::new(true));
    let (home, other, waits) = (setup.outbox.clone(), elsewhere.outbox.clone(), Arc::clone(&stuck));
    let booked = Arc::new(AtomicU64::new(0));
    let books = Arc::clone(&booked);
    let saga = Saga::list("transfer", setup.outbox.clone(), Arc::new(TokioTimer::new()))
        .pivot()
        .at(move |_: &u32| other.clone())
        .step("credit", move |_, _| {
            books.fetch_add(1, Ordering::SeqCst);
            Box::pin(async { Ok(()) })
        })
        .at(move |_: &u32| home.clone())
        .step("note", move |_, _| {
            let stuck = waits.load(Ordering::SeqCst);
            let answer = if stuck { Err(StepFailure::Transient(Reason::new("not now"))) } else { Ok(()) };
            Box::pin(async { answer })
        })
        .build(SagaConfig::default())
        .expect("a saga");
    let id = SagaId::new(Uuid::now_v7());
    let underway = saga.start(id, "anna", 7).await.expect("an outcome");
    assert!(matches!(underway, SagaOutcome::Underway { .. }), "{underway:?}");
    assert_eq!(booked.load(Ordering::SeqCst), 1);
    setup.clock.advance(KEPT * 2);
    elsewhere.clock.advance(KEPT * 2);
    assert_eq!(
        elsewhere.outbox.purge_steps().await.expect("purge"),
        0,
        "no record says that the saga is over"
    );
    stuck.store(false, Ordering::SeqCst);
    assert_eq!(saga.proceed(id).await.expect("an outcome"), SagaOutcome::Finish);
    assert_eq!(booked.load(Ordering::SeqCst), 1, "it was booked twice");
    assert_eq!(elsewhere.outbox.purge_steps().await.expect("purge"), 0, "its end is young");
    elsewhere.clock.advance(KEPT * 2);
    assert_eq!(elsewhere.outbox.purge_steps().await.expect("purge"), 2, "the step and the note of the end");
}

/// The home is swept, and the other database is not: were the saga begun again, it would be debited twice and credited once.
async fn keeps_the_ids_of_sagas(setup: Setup, elsewhere: Setup) {
    let (home, other) = (setup.outbox.clone(), elsewhere.outbox.clone());
    let (debited, credited) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let (debits, credits) = (Arc::clone(&debited), Arc::clone(&credited));
    let saga = Saga::list("transfer", setup.outbox.clone(), Arc::new(TokioTimer::new()))
        .at(move |_: &u32| home.clone())
        .step(
            "debit",
            move |_, _| {
                debits.fetch_add(1, Ordering::SeqCst);
                Box::pin(async { Ok(()) })
            },
            |_, _| Box::pin(async { Ok(()) }),
        )
        .pivot()
        .at(move |_: &u32| other.clone())
        .step("credit", move |_, _| {
            credits.fetch_add(1, Ordering::SeqCst);
            Box::pin(async { Ok(()) })
        })
        .build(SagaConfig::default())
        .expect("a saga");
    let ids = [SagaId::new(Uuid::now_v7()), SagaId::new(Uuid::now_v7())];
    for id in ids {
        assert_eq!(saga.start(id, "anna", 7).await.expect("an outcome"), SagaOutcome::Finish);
    }
    setup.clock.advance(Duration::from_secs(3600));
    let checks = Instance::new(8, Ports::of(setup.outbox.clone()), saga.queue(), 10);
    for claimed in checks.take_all().await {
        checks.ack(&claimed).await;
    }
    setup.clock.advance(KEPT * 2);
    let swept = setup.outbox.sweep().await.expect("sweep");
    assert_eq!((swept.of("steps"), swept.of("sagas")), (4, 2), "{swept:?}");
    for id in ids {
        let again = saga.start(id, "anna", 7).await;
        assert!(matches!(again, Err(SagaError::Forgotten(_))), "{again:?}");
        let tx = setup.outbox.begin_tx().await.expect("begin");
        let asked = saga.submit(&tx, id, "anna", 7).await;
        assert!(matches!(asked, Err(SagaError::Forgotten(_))), "{asked:?}");
        setup.outbox.roll_back_tx(tx).await.expect("roll back");
        assert!(matches!(saga.proceed(id).await, Err(SagaError::Forgotten(_))));
    }
    assert_eq!((debited.load(Ordering::SeqCst), credited.load(Ordering::SeqCst)), (2, 2));
    assert_eq!(saga.mine("anna", None, 10).await.expect("a list"), []);
    setup.clock.advance(KEPT * 2);
    assert_eq!(setup.outbox.sweep().await.expect("sweep").of("sagas"), 0, "each is shortened once");
}
