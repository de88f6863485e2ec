//! What claims cost on a file of SQLite, which has one writer, and how they wait for it.
//! Promise: on SQLite a claim of `preemptive_update` is one commit, waits for the file's writer as others do,
//! and a submission that waits for the file without success is answered with 503

use std::{path::Path, time::Duration};

use claimstream::Compose;
use claimstream_domain::{
    NewMessage, ShardCount,
    notification::{RecipientReference, Submitted},
};
use claimstream_ports::{StoreErrorKind, notification::BeingTakenIn};
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};
use sea_orm::{ConnectionTrait, TransactionTrait};

use crate::{Fixture, Instance, Ports, Suite, backend::SeaOrmBackend, fixture::mail_to};

const MESSAGES: usize = 60;
/// Longer than the pauses with which SQLite asks again.
const HELD_FOR: Duration = Duration::from_secs(2);

/// Adds the tests of SQLite.
pub fn add_to(suite: &mut Suite) {
    // Guard: a claim on SQLite is one transaction | adapters/sea-orm/src/strategy/rows/claim.rs `begin`: does nothing
    let one = "sqlite::preemptive_update::claims::a_claim_of_many_shards_is_one_commit";
    suite.add_async_test(one, async { one_commit().await });
    // Guard: a locked file is not a locked request | adapters/sea-orm/src/notifications/requests.rs
    // `being_taken_in`: `is_locked_by_another`
    let one =
        "sqlite::preemptive_update::claims::a_submission_that_does_not_get_the_file_is_no_call_under_way";
    suite.add_async_test(one, async { does_not_get_the_file().await });
    for strategy in ["preemptive_update", "shard_lease"] {
        let name = format!("sqlite::{strategy}::claims::a_claim_waits_for_the_writer_of_the_file");
        suite.add_async_test(&name, waits_for_the_writer(strategy));
    }
}

async fn one_commit() {
    let (_kept, url, _outbox, instance) = filled("preemptive_update").await;
    // An instance stores its name before its first claim.
    assert_eq!(instance.on(&Fixture::fresh_queue()).claim(1).await.len(), 0);
    let before = commits(&url);
    assert_eq!(instance.claim(MESSAGES as u32).await.len(), MESSAGES);
    assert_eq!(commits(&url) - before, 1);
}

/// Another connection writes for a while.
async fn waits_for_the_writer(strategy: &'static str) {
    let (_kept, _, outbox, instance) = filled(strategy).await;
    let open = outbox.connection().begin().await.expect("begin");
    open.execute_unprepared("UPDATE claimstream_shard SET shard = shard WHERE shard < 0")
        .await
        .expect("a lock");
    let claiming = tokio::spawn(async move { instance.claim(1).await });
    tokio::time::sleep(HELD_FOR).await;
    assert!(!claiming.is_finished());
    open.rollback().await.expect("rollback");
    assert_eq!(claiming.await.expect("no error").len(), 1);
}

/// Another connection writes something else for longer than any call waits.
async fn does_not_get_the_file() {
    let (_kept, _, outbox, _) = filled("preemptive_update").await;
    let open = outbox.connection().begin().await.expect("begin");
    let write = "UPDATE claimstream_shard SET shard = shard WHERE shard < 0";
    open.execute_unprepared(write).await.expect("a lock");
    let request = mail_to(RecipientReference::User { user: "u-1".into() });
    let error = outbox.submit_now(std::slice::from_ref(&request)).await.expect_err("the file is locked");
    assert_eq!(error.kind(), StoreErrorKind::Transient, "{error}");
    assert!(!error.get_ref().is::<BeingTakenIn>(), "no call takes this request in: {error}");
    open.rollback().await.expect("rollback");
    assert_eq!(outbox.submit_now(&[request]).await.expect("submit"), [Submitted::New]);
}

/// A file with messages in many shards.
async fn filled(strategy: &'static str) -> (SeaOrmBackend, String, SeaOrmOutbox, Instance) {
    let backend = SeaOrmBackend::sqlite(strategy);
    let shards = ShardCount::new(16).expect("shards");
    let url = backend.database_of(shards).await.expect("a database");
    let options = OpenOptions { shards, ..backend.options() };
    let outbox = SeaOrmOutbox::open(&url, options).await.expect("open");
    let instance = Instance::new(7, Ports::of(outbox.clone()), Fixture::fresh_queue(), 1);
    let message = |n| NewMessage::json(instance.queue().clone(), &n).expect("a message");
    let messages: Vec<_> = (0..MESSAGES).map(message).collect();
    outbox.enqueue_now(&messages).await.expect("enqueue");
    (backend, url, outbox, instance)
}

/// How many transactions the write-ahead log of a file holds: the last frame of each has the size of the file in it.
fn commits(url: &str) -> usize {
    const HEADER: usize = 32;
    const FRAME: usize = 24;
    let path = format!("{}-wal", url.trim_start_matches("sqlite://"));
    let log = std::fs::read(Path::new(&path)).expect("a log");
    let number = |at: usize| u32::from_be_bytes(log[at..at + 4].try_into().expect("four bytes"));
    let page = number(8) as usize;
    let frames = (HEADER..log.len()).step_by(FRAME + page).take_while(|at| at + FRAME + page <= log.len());
    frames.filter(|at| number(at + 8) == number(16) && number(at + 4) != 0).count()
}
