use std::time::Duration;

use claimstream_domain::{Begun, DeadLetterFilter, NewStep, Retention, StepChange, StepKey};
use claimstream_ports::{PurgeSteps, StepLedger, Transactions};
use claimstream_sea_orm::SeaOrmOutbox;
use uuid::Uuid;

use super::{Place, Scene, keep};
use crate::Suite;

const KEPT: Duration = Duration::from_secs(30 * 86_400);

pub(super) fn add_to(suite: &mut Suite, place: &Place) {
    let what = "x3_purge_never_removes_a_ledger_row_whose_check_message_is_alive";
    place.add(suite, "auto", keep(), what, leaves_what_a_message_may_come_for);
    let what = "x3_purge_leaves_what_a_dead_or_revived_message_may_come_for";
    place.add(suite, "auto", keep(), what, leaves_what_a_revived_message_may_come_for);
    let what = "x3_purge_leaves_what_was_done_shortly_before_the_oldest_message";
    place.add(suite, "auto", keep(), what, leaves_what_a_transaction_did_before_its_message);
    let what = "a_step_that_changes_while_it_is_purged_stays";
    place.add(suite, "auto", keep(), what, leaves_what_changes_meanwhile);
    let what = "steps_of_a_run_go_together_when_the_last_change_is_old";
    place.add(suite, "auto", keep(), what, takes_whole_runs);
    let what = "a_sweep_takes_steps_page_by_page";
    place.add(suite, "auto", keep(), what, takes_many);
}

async fn leaves_what_a_message_may_come_for(scene: Scene) {
    let check = scene.message().deliver_after(KEPT * 2);
    let tx = scene.outbox.begin_tx().await.expect("begin");
    claimstream_ports::Enqueue::enqueue(&scene.outbox, &tx, &[check]).await.expect("enqueue");
    StepLedger::begin(&scene.outbox, &tx, &step("a", "1")).await.expect("begin");
    scene.outbox.commit_tx(tx).await.expect("commit");
    for _ in 0..3 {
        scene.clock.advance(KEPT);
        assert_eq!(scene.outbox.sweep().await.expect("sweep").steps, 0, "its message is alive");
    }
    scene.finish_all().await;
    assert_eq!(scene.outbox.purge_steps().await.expect("purge"), 1);
}

async fn leaves_what_a_revived_message_may_come_for(scene: Scene) {
    // As the messages of sagas and timers have: it does not tell when it was made.
    let id = Uuid::new_v5(&Uuid::from_u128(7), b"check");
    scene.enqueue(&[scene.of_id(id)]).await;
    begin(&scene.outbox, &step("a", "1")).await;
    let claimed = scene.instance.take_one().await;
    scene.instance.bury(&claimed, "never").await;
    scene.clock.advance(KEPT * 2);
    assert_eq!(scene.outbox.purge_steps().await.expect("purge"), 0, "it may be revived");
    scene.instance.revive(&DeadLetterFilter::default()).await;
    assert_eq!(scene.outbox.purge_steps().await.expect("purge"), 0, "it is alive again");
    let claimed = scene.instance.take_one().await;
    scene.instance.bury(&claimed, "again").await;
    assert_eq!(scene.outbox.purge_steps().await.expect("purge"), 0, "it may be revived again");
    scene.instance.revive(&DeadLetterFilter::default()).await;
    scene.finish_all().await;
    assert_eq!(scene.outbox.purge_steps().await.expect("purge"), 1);
}

/// A transaction writes its step before its message, and may last.
async fn leaves_what_a_transaction_did_before_its_message(scene: Scene) {
    begin(&scene.outbox, &step("earlier", "1")).await;
    scene.clock.advance(Scene::MOMENT);
    begin(&scene.outbox, &step("a", "1")).await;
    scene.clock.advance(Retention::SHORTEST);
    scene.enqueue(&[scene.message()]).await;
    scene.clock.advance(KEPT * 2);
    assert_eq!(scene.outbox.purge_steps().await.expect("purge"), 1, "the earlier one alone");
    scene.finish_all().await;
    assert_eq!(scene.outbox.purge_steps().await.expect("purge"), 1);
}

/// The purge has seen an old step, and waits for who is changing it.
async fn leaves_what_changes_meanwhile(scene: Scene) {
    let Begun::New(from) = begin(&scene.outbox, &step("a", "1")).await else { panic!("it was there") };
    begin(&scene.outbox, &step("b", "1")).await;
    scene.clock.advance(KEPT + Scene::MOMENT);
    let tx = scene.outbox.begin_tx().await.expect("begin");
    let key = step("a", "1").key;
    let changed = scene.outbox.advance(&tx, &key, &from, &StepChange::to(2)).await.expect("advance");
    let outbox = scene.outbox.clone();
    let mut purge = tokio::spawn(async move { outbox.purge_steps().await });
    let waits = tokio::time::timeout(Duration::from_millis(100), &mut purge).await.is_err();
    assert!(waits, "the purge did not wait");
    scene.outbox.commit_tx(tx).await.expect("commit");
    assert_eq!(purge.await.expect("a purge").expect("purge"), 1, "b, which nobody has changed");
    let tx = scene.outbox.begin_tx().await.expect("begin");
    assert_eq!(scene.outbox.find(&tx, &key).await.expect("find"), changed);
    scene.outbox.roll_back_tx(tx).await.expect("roll back");
}

async fn takes_whole_runs(scene: Scene) {
    let first = begin(&scene.outbox, &step("a", "1")).await;
    begin(&scene.outbox, &step("a", "2")).await;
    begin(&scene.outbox, &step("b", "1")).await;
    scene.clock.advance(KEPT / 2);
    let Begun::New(from) = first else { panic!("{first:?}") };
    let tx = scene.outbox.begin_tx().await.expect("begin");
    let changed = scene.outbox.advance(&tx, &step("a", "1").key, &from, &StepChange::to(2)).await;
    assert!(changed.expect("advance").is_some());
    scene.outbox.commit_tx(tx).await.expect("commit");
    scene.clock.advance(KEPT / 2);
    assert_eq!(scene.outbox.purge_steps().await.expect("purge"), 0, "not a moment too early");
    scene.clock.advance(Scene::MOMENT);
    assert_eq!(scene.outbox.purge_steps().await.expect("purge"), 1, "b, and nothing of a");
    scene.clock.advance(KEPT / 2);
    assert_eq!(scene.outbox.purge_steps().await.expect("purge"), 2);
}

async fn takes_many(scene: Scene) {
    for n in 0..300 {
        begin(&scene.outbox, &step(&format!("run {}", n % 170), &n.to_string())).await;
    }
    scene.clock.advance(KEPT + Retention::SHORTEST);
    assert_eq!(scene.outbox.sweep().await.expect("sweep").steps, 300);
}

fn step(run: &str, name: &str) -> NewStep {
    NewStep::new(StepKey::new("saga:transfer", run, name).expect("a key"), 1)
}

async fn begin(outbox: &SeaOrmOutbox, step: &NewStep) -> Begun {
    let tx = outbox.begin_tx().await.expect("begin");
    let begun = StepLedger::begin(outbox, &tx, step).await.expect("begin");
    outbox.commit_tx(tx).await.expect("commit");
    begun
}
