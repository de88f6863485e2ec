//! Promise: no step is forgotten while a message may come for it, nor while its run is open

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use claimstream_domain::{
    DeadLetterFilter, Retention,
    saga::SagaStepState,
    step::{Begun, NewStep, Step, StepChange, StepKey},
    tcc::{BranchState, GlobalState},
    timer_event::{EventStatus, Tick},
};
use claimstream_ports::{
    StoreError, Transactions,
    step::{ListTimers, PurgeSteps, StepLedger},
};
use claimstream_sea_orm::{Dialect, SeaOrmOutbox, Severity};
use claimstream_steps::{
    saga::SagaState,
    tcc::{BranchName, GlobalId, Tcc},
};
use sea_orm::DbBackend;
use uuid::Uuid;

use super::{Place, Setup, backend, keep};
use crate::{Fixture, Suite};
use claimstream_testbed::statement_waits;

pub(super) const KEPT: Duration = Duration::from_secs(30 * 86_400);

pub(super) fn add_to(suite: &mut Suite, place: &Place) {
    let what = "x3_purge_never_removes_a_ledger_row_whose_check_message_is_alive";
    place.add(suite, "auto", keep(), what, leaves_what_a_message_may_come_for);
    // Guard: a purge stops at the oldest message that is alive | adapters/sea-orm/src/sweep/round.rs: `alive`
    // ignored
    // Guard: dead letters count as alive for a purge | adapters/sea-orm/src/sweep/alive.rs: dead letters are
    // left out
    // Guard: a revived message keeps its age | adapters/sea-orm/src/sql/dead_letters/revive_message.sql: no
    // `first_at`
    let what = "x3_purge_leaves_what_a_dead_or_revived_message_may_come_for";
    place.add(suite, "auto", keep(), what, leaves_what_a_revived_message_may_come_for);
    // Guard: a message whose age cannot be read may be of any age | adapters/sea-orm/src/sql/fragments.mysql.sql
    // and fragments.sqlite.sql `first`: as `micros`
    // Guard: live rows that cannot be read keep steps | adapters/sea-orm/src/sweep/alive.rs `oldest_in`: no `unreadable`
    let what = "x3_purge_leaves_what_a_message_of_an_unreadable_age_may_come_for";
    place.add(suite, "auto", keep(), what, leaves_what_an_unreadable_message_may_come_for);
    // Guard: a dead tick keeps steps of timers alone | adapters/sea-orm/src/sql/alive/dead.sql: no `NOT EXISTS`
    let what = "a_dead_tick_of_a_timer_keeps_steps_of_timers_and_no_others";
    place.add(suite, "auto", keep(), what, leaves_the_steps_of_a_dead_tick);
    // Guard: a purge keeps a margin of one transaction below the oldest message |
    // adapters/sea-orm/src/sweep/round.rs: no `- Retention::SHORTEST`
    let what = "x3_purge_leaves_what_was_done_shortly_before_the_oldest_message";
    place.add(suite, "auto", keep(), what, leaves_what_a_transaction_did_before_its_message);
    // Guard: a step that changed since its page was read is not purged |
    // adapters/sea-orm/src/sql/steps/forget.sql: no `AND changed_at < bound`
    let what = "a_step_that_changes_while_it_is_purged_stays";
    place.add(suite, "auto", keep(), what, leaves_what_changes_meanwhile);
    // Guard: steps of a run are purged together | adapters/sea-orm/src/sql/steps/page.sql: no `NOT EXISTS`
    let what = "steps_of_a_run_go_together_when_the_last_change_is_old";
    place.add(suite, "auto", keep(), what, takes_whole_runs);
    let what = "what_is_not_final_is_never_forgotten_and_doctor_tells_of_it";
    place.add(suite, "auto", keep(), what, leaves_what_is_not_final);
    // Guard: a tried TCC branch is never forgotten | adapters/sea-orm/src/sql/steps/page.sql: no
    // `o.scope = 'tcc'`
    let what = "a_reservation_is_given_back_however_late";
    place.add(suite, "auto", keep(), what, leaves_a_reservation);
    let what = "a_sweep_takes_steps_page_by_page";
    place.add(suite, "auto", keep(), what, takes_many);
    // Guard: timers are listed past names that no queue can have | adapters/sea-orm/src/steps/timers.rs `next_queue`:
    // such a name is an error
    let what = "timers_are_listed_past_a_queue_of_a_name_that_is_none";
    place.add(suite, "auto", keep(), what, lists_timers_past_foreign_queues);
    let what = "steps_and_sagas_of_names_that_are_no_text_stop_no_sweep";
    place.add(suite, "auto", keep(), what, passes_over_what_is_no_text);
}

async fn leaves_what_a_message_may_come_for(setup: Setup) {
    let check = setup.message().deliver_after(KEPT * 2);
    let tx = setup.outbox.begin_tx().await.expect("begin");
    claimstream_ports::Enqueue::enqueue(&setup.outbox, &tx, &[check]).await.expect("enqueue");
    StepLedger::begin(&setup.outbox, &tx, &step("a", "1")).await.expect("begin");
    setup.outbox.commit_tx(tx).await.expect("commit");
    for _ in 0..3 {
        setup.clock.advance(KEPT);
        assert_eq!(setup.outbox.sweep().await.expect("sweep").of("steps"), 0, "its message is alive");
    }
    setup.finish_all().await;
    assert_eq!(setup.outbox.purge_steps().await.expect("purge"), 1);
}

async fn leaves_what_a_revived_message_may_come_for(setup: Setup) {
    // As the messages of sagas and timers have: it does not tell when it was made.
    let id = Uuid::new_v5(&Uuid::from_u128(7), b"check");
    setup.enqueue(&[setup.of_id(id)]).await;
    begin(&setup.outbox, &step("a", "1")).await;
    let claimed = setup.instance.take_one().await;
    setup.instance.bury(&claimed, "never").await;
    setup.clock.advance(KEPT * 2);
    assert_eq!(setup.outbox.purge_steps().await.expect("purge"), 0, "it may be revived");
    setup.instance.revive(&DeadLetterFilter::default()).await;
    assert_eq!(setup.outbox.purge_steps().await.expect("purge"), 0, "it is alive again");
    let claimed = setup.instance.take_one().await;
    setup.instance.bury(&claimed, "again").await;
    assert_eq!(setup.outbox.purge_steps().await.expect("purge"), 0, "it may be revived again");
    setup.instance.revive(&DeadLetterFilter::default()).await;
    setup.finish_all().await;
    assert_eq!(setup.outbox.purge_steps().await.expect("purge"), 1);
}

/// A dead letter and a live message, each as a program may leave it that writes dates of its own.
async fn leaves_what_an_unreadable_message_may_come_for(setup: Setup) {
    let is_sqlite = backend(setup.outbox.connection()) == DbBackend::Sqlite;
    let when = if is_sqlite { "'long ago'" } else { "'0000-00-00'" };
    setup.enqueue(&[setup.message(), setup.message()]).await;
    begin(&setup.outbox, &step("a", "1")).await;
    for claimed in setup.instance.take_all().await {
        setup.instance.bury(&claimed, "never").await;
    }
    let one = "(SELECT id FROM (SELECT MIN(id) AS id FROM claimstream_dead) o)";
    setup.execute_loosely(&format!("UPDATE claimstream_dead SET created_at = {when} WHERE id = {one}")).await;
    setup.clock.advance(KEPT * 2);
    assert_eq!(setup.outbox.purge_steps().await.expect("purge"), 0, "a dead letter of any age");
    setup.execute("DELETE FROM claimstream_dead").await;
    let live = setup.message().deliver_after(KEPT * 9);
    setup.enqueue(std::slice::from_ref(&live)).await;
    let id = format!("x'{}'", live.id.uuid().simple());
    setup
        .execute_loosely(&format!("UPDATE claimstream_message SET created_at = {when} WHERE id = {id}"))
        .await;
    assert_eq!(setup.outbox.purge_steps().await.expect("purge"), 0, "a live message of any age");
    let wrong = if is_sqlite { "available_at = 'soon'" } else { "available_at = '1000-01-01'" };
    setup.execute_loosely(&format!("UPDATE claimstream_queue SET {wrong} WHERE id = {id}")).await;
    assert_eq!(setup.outbox.purge_steps().await.expect("purge"), 0, "one that no claim can read");
    setup.execute("DELETE FROM claimstream_queue").await;
    assert_eq!(setup.outbox.purge_steps().await.expect("purge"), 1);
}

async fn leaves_the_steps_of_a_dead_tick(setup: Setup) {
    let tick = Tick { scheme: "bill".parse().expect("a name"), occurrence: Fixture::start() };
    setup.enqueue(&[tick.message(setup.instance.queue()).expect("a message")]).await;
    let claimed = setup.instance.take_one().await;
    setup.instance.bury(&claimed, "the scheme is gone").await;
    setup.clock.advance(Retention::SHORTEST + Setup::MOMENT);
    let of_timer = StepKey::new("timer:bill", &tick.unique_code(), "").expect("a key");
    begin(&setup.outbox, &NewStep::new(of_timer, EventStatus::Success.code())).await;
    begin(&setup.outbox, &step("a", "1")).await;
    setup.clock.advance(KEPT * 2);
    assert_eq!(setup.outbox.purge_steps().await.expect("purge"), 1, "that of the inbox");
    setup.instance.revive(&DeadLetterFilter::default()).await;
    setup.finish_all().await;
    assert_eq!(setup.outbox.purge_steps().await.expect("purge"), 1, "that of the timer");
}

/// A transaction writes its step before its message, and may last.
async fn leaves_what_a_transaction_did_before_its_message(setup: Setup) {
    begin(&setup.outbox, &step("earlier", "1")).await;
    setup.clock.advance(Setup::MOMENT);
    begin(&setup.outbox, &step("a", "1")).await;
    setup.clock.advance(Retention::SHORTEST);
    setup.enqueue(&[setup.message()]).await;
    setup.clock.advance(KEPT * 2);
    assert_eq!(setup.outbox.purge_steps().await.expect("purge"), 1, "the earlier one alone");
    setup.finish_all().await;
    assert_eq!(setup.outbox.purge_steps().await.expect("purge"), 1);
}

/// The purge has seen an old step, and waits for who is changing it.
async fn leaves_what_changes_meanwhile(setup: Setup) {
    let Begun::New(from) = begin(&setup.outbox, &step("a", "1")).await else { panic!("it was there") };
    begin(&setup.outbox, &step("b", "1")).await;
    setup.clock.advance(KEPT + Setup::MOMENT);
    let tx = setup.outbox.begin_tx().await.expect("begin");
    let key = step("a", "1").key;
    let changed = setup.outbox.advance(&tx, &key, &from, &StepChange::to(2)).await.expect("advance");
    let outbox = setup.outbox.clone();
    let mut purge = tokio::spawn(async move { outbox.purge_steps().await });
    let waits = match setup.outbox.dialect() {
        Dialect::MySql => {
            statement_waits(&setup.outbox).await;
            !purge.is_finished()
        }
        // Nothing tells of a wait for the file.
        Dialect::Sqlite => tokio::time::timeout(Duration::from_millis(100), &mut purge).await.is_err(),
    };
    assert!(waits, "the purge did not wait");
    setup.outbox.commit_tx(tx).await.expect("commit");
    assert_eq!(purge.await.expect("a purge").expect("purge"), 1, "b, which is unchanged");
    let tx = setup.outbox.begin_tx().await.expect("begin");
    assert_eq!(setup.outbox.find(&tx, &key).await.expect("find"), changed);
    setup.outbox.roll_back_tx(tx).await.expect("roll back");
}

async fn takes_whole_runs(setup: Setup) {
    let first = begin(&setup.outbox, &step("a", "1")).await;
    begin(&setup.outbox, &step("a", "2")).await;
    begin(&setup.outbox, &step("b", "1")).await;
    setup.clock.advance(KEPT / 2);
    let Begun::New(from) = first else { panic!("{first:?}") };
    let tx = setup.outbox.begin_tx().await.expect("begin");
    let changed = setup.outbox.advance(&tx, &step("a", "1").key, &from, &StepChange::to(2)).await;
    assert!(changed.expect("advance").is_some());
    setup.outbox.commit_tx(tx).await.expect("commit");
    setup.clock.advance(KEPT / 2);
    assert_eq!(setup.outbox.purge_steps().await.expect("purge"), 0, "not a moment too early");
    setup.clock.advance(Setup::MOMENT);
    assert_eq!(setup.outbox.purge_steps().await.expect("purge"), 1, "b, and nothing of a");
    setup.clock.advance(KEPT / 2);
    assert_eq!(setup.outbox.purge_steps().await.expect("purge"), 2);
}

async fn takes_many(setup: Setup) {
    for n in 0..300 {
        begin(&setup.outbox, &step(&format!("run {}", n % 170), &n.to_string())).await;
    }
    setup.clock.advance(KEPT + Retention::SHORTEST);
    assert_eq!(setup.outbox.sweep().await.expect("sweep").of("steps"), 300);
}

async fn lists_timers_past_foreign_queues(setup: Setup) {
    let tick = Tick { scheme: "bill".parse().expect("a name"), occurrence: Fixture::start() };
    setup.enqueue(&[tick.message(setup.instance.queue()).expect("a message")]).await;
    for name in ["'! !'", "x'ff'"] {
        let row = format!("SELECT {name}, dedup_key, message_id, created_at FROM claimstream_dedup LIMIT 1");
        let into = "INSERT INTO claimstream_dedup (queue, dedup_key, message_id, created_at)";
        setup.execute(&format!("{into} {row}")).await;
    }
    let page = setup.outbox.timers(None, 10).await.expect("timers");
    assert_eq!(page.timers.len(), 1, "{page:?}");
}

/// Guard: a sweep passes over steps that it cannot read | adapters/sea-orm/src/steps/sweep/steps.rs `sweep_steps`: `last` in place of `last + 1`
async fn passes_over_what_is_no_text(setup: Setup) {
    begin(&setup.outbox, &step("foreign", "1")).await;
    setup.clock.advance(Setup::MOMENT);
    begin(&setup.outbox, &step("ours", "1")).await;
    let (name, at) = match backend(setup.outbox.connection()) {
        DbBackend::Sqlite => ("CAST(x'fc' AS TEXT)", "0"),
        _ => ("x'fc'", "'2020-01-01'"),
    };
    setup.execute(&format!("UPDATE claimstream_step SET run = {name} WHERE run = 'foreign'")).await;
    let bytes = ("x'73616761'", "'7'", "'bert'");
    for (scope, run, owner) in [("'saga:x'", name, "'anna'"), ("'saga:x'", "'7'", "'anna'"), bytes] {
        let row = format!("({scope}, {run}, {owner}, '{{}}', {at})");
        let columns = "(scope, run, owner, input, created_at)";
        setup.execute(&format!("INSERT INTO claimstream_saga {columns} VALUES {row}")).await;
    }
    setup.clock.advance(KEPT * 2);
    assert_eq!(setup.outbox.purge_steps().await.expect("purge"), 1);
    assert_eq!(setup.count("SELECT COUNT(*) FROM claimstream_step").await, 1);
    let with_owner = "SELECT COUNT(*) FROM claimstream_saga WHERE owner = 'anna'";
    assert_eq!(setup.count(with_owner).await, 1);
}

/// Every state of everything that has states, alone in its run; the last ones in a database that is not the saga's home.
async fn leaves_what_is_not_final(setup: Setup) {
    let mut open = Vec::new();
    let mut runs: Vec<(&str, &str, u8, bool)> = Vec::new();
    runs.extend(BranchState::ALL.map(|state| ("tcc", "stock", state.code(), state.is_final())));
    runs.extend(GlobalState::ALL.map(|state| ("tcc-global", "", state.code(), state.is_final())));
    runs.extend(EventStatus::ALL.map(|state| ("timer:bill", "", state.code(), state != EventStatus::Init)));
    runs.extend(SagaState::ALL.map(|state| ("saga:transfer", "", state.code(), state.is_over())));
    let of_step =
        |state: SagaStepState| ("saga:refund", "credit", state.code(), state == SagaStepState::RolledBack);
    runs.extend(SagaStepState::ALL.map(of_step));
    for (n, (scope, name, state, is_final)) in runs.iter().enumerate() {
        let key = StepKey::new(scope, &n.to_string(), name).expect("a key");
        begin(&setup.outbox, &NewStep::new(key.clone(), *state)).await;
        open.extend((!is_final).then_some(key));
    }
    setup.clock.advance(KEPT * 2);
    assert_eq!(setup.outbox.purge_steps().await.expect("purge") as usize, runs.len() - open.len());
    for key in &open {
        assert!(find(&setup.outbox, key).await.is_some(), "{key} was forgotten");
    }
    let findings = setup.outbox.doctor().await.expect("doctor");
    let steps = findings.iter().find(|finding| finding.check == "steps").expect("a finding");
    assert_eq!(steps.severity, Severity::Warning);
    let expected = "2 of saga:refund (the oldest 60 days old), 3 of saga:transfer (the oldest 60 days old), \
                1 of tcc (the oldest 60 days old), 3 of tcc-global (the oldest 60 days old), \
                1 of timer:bill (the oldest 60 days old)";
    assert!(steps.detail.contains(expected), "{}", steps.detail);
    for key in open.iter().filter(|key| key.scope() == "saga:refund") {
        let end = NewStep::new(key.sibling("").expect("a key"), SagaState::Finish.code());
        begin(&setup.outbox, &end).await;
    }
    assert_eq!(setup.outbox.purge_steps().await.expect("purge"), 0, "their end is young");
    setup.clock.advance(KEPT + Setup::MOMENT);
    assert_eq!(setup.outbox.purge_steps().await.expect("purge"), 4, "two steps and the notes of their ends");
}

/// The message that would have ended the branch is long gone; an operator ends it by hand.
async fn leaves_a_reservation(setup: Setup) {
    let tcc = Tcc::new(Arc::new(setup.outbox.clone()));
    let (gid, stock) = (GlobalId::new("order-7").expect("an id"), BranchName::new("stock").expect("a name"));
    let tx = setup.outbox.begin_tx().await.expect("begin");
    tcc.try_(&tx, &gid, &stock, |_| async { Ok::<(), StoreError>(()) }).await.expect("a reservation");
    setup.outbox.commit_tx(tx).await.expect("commit");
    setup.clock.advance(KEPT * 12);
    assert_eq!(setup.outbox.purge_steps().await.expect("purge"), 0);
    let given_back = AtomicU64::new(0);
    let tx = setup.outbox.begin_tx().await.expect("begin");
    let release = |_| async {
        given_back.fetch_add(1, Ordering::SeqCst);
        Ok::<(), StoreError>(())
    };
    tcc.cancel(&tx, &gid, &stock, release).await.expect("a cancellation");
    setup.outbox.commit_tx(tx).await.expect("commit");
    assert_eq!(given_back.load(Ordering::SeqCst), 1, "the reservation has leaked");
    setup.clock.advance(KEPT + Setup::MOMENT);
    assert_eq!(setup.outbox.purge_steps().await.expect("purge"), 1, "it is final");
}

async fn find(outbox: &SeaOrmOutbox, key: &StepKey) -> Option<Step> {
    let tx = outbox.begin_tx().await.expect("begin");
    let found = outbox.find(&tx, key).await.expect("find");
    outbox.roll_back_tx(tx).await.expect("roll back");
    found
}

fn step(run: &str, name: &str) -> NewStep {
    NewStep::new(StepKey::new("inbox:mail", run, name).expect("a key"), 1)
}

async fn begin(outbox: &SeaOrmOutbox, step: &NewStep) -> Begun {
    let tx = outbox.begin_tx().await.expect("begin");
    let begun = StepLedger::begin(outbox, &tx, step).await.expect("begin");
    outbox.commit_tx(tx).await.expect("commit");
    begun
}
