//! Promise: a sweep leaves what is live, and unreadable rows block no other

use std::time::Duration;

use claimstream_domain::{
    DedupKey,
    Enqueued::{Duplicate, New},
    Retention,
};
use claimstream_sea_orm::Swept;
use sea_orm::DbBackend;
use uuid::Uuid;

use super::{Place, Setup, hex, keep};
use crate::Suite;

pub(super) fn add_to(suite: &mut Suite, place: &Place) {
    let what = "a_sweep_takes_what_is_finished_and_leaves_what_is_live";
    place.add(suite, "auto", keep(), what, takes_what_is_finished);
    let what = "a_key_that_is_no_text_is_swept_like_any_other";
    place.add(suite, "auto", keep(), what, sweeps_a_key_that_is_no_text);
    let what = "a_message_that_cannot_be_read_blocks_no_other_one";
    place.add(suite, "auto", keep(), what, steps_over_what_cannot_be_read);
    // Guard: live rows that cannot be read stop no sweep | adapters/sea-orm/src/sql/sweep/live.mysql.sql and
    // live.sqlite.sql: no `NOT {unreadable q}`
    // Guard: the body of a live row that cannot be read stays | adapters/sea-orm/src/sweep/chunk.rs
    // `strike_unreadable`: nothing is struck
    let what = "live_rows_that_cannot_be_read_stop_no_sweep_and_keep_their_bodies";
    place.add(suite, "auto", keep(), what, steps_over_live_rows);
    let what = "a_message_without_a_body_goes_to_the_dead_letters";
    place.add(suite, "auto", keep(), what, buries_what_has_no_body);
}

/// Ids of all kinds: of the moment, random, and of long ago.
async fn takes_what_is_finished(setup: Setup) {
    let (random, old) = (Uuid::from_u128(u128::MAX / 3 * 2), Uuid::from_u128(9));
    let key = |key: &str| DedupKey::new(key).expect("a key");
    let done =
        [setup.message(), setup.of_id(random), setup.of_id(old), setup.message().unique_by(key("done"))];
    setup.outbox.enqueue_now(&done).await.expect("enqueue");
    setup.finish_all().await;
    let later = |n: u64| setup.message().deliver_after(Duration::from_secs(86_400 + n));
    let live: Vec<_> = (0..3).map(later).chain([later(9).unique_by(key("live"))]).collect();
    setup.outbox.enqueue_now(&live).await.expect("enqueue");
    assert_eq!(setup.outbox.sweep().await.expect("sweep"), Swept::default());
    setup.clock.advance(Retention::SHORTEST + Duration::from_secs(1));
    let young = setup.message();
    setup.outbox.enqueue_now(std::slice::from_ref(&young)).await.expect("enqueue");
    let swept = setup.outbox.sweep().await.expect("sweep");
    assert_eq!(swept, Swept { bodies: 4, dedup_keys: 1, ..Swept::default() });
    let again = [setup.message().unique_by(key("done")), setup.message().unique_by(key("live"))];
    assert_eq!(setup.outbox.enqueue_now(&again).await.expect("enqueue"), [New, Duplicate]);
    setup.clock.advance(Duration::from_secs(86_400));
    let left = setup.instance.take_all().await;
    assert_eq!(left.len(), 6, "four live ones, a young one and one with a key that was free again");
}

/// Promise: a dedup key is swept whatever bytes it holds
async fn sweeps_a_key_that_is_no_text(setup: Setup) {
    let key = |key: &str| DedupKey::new(key).expect("a key");
    let done = [setup.message().unique_by(key("foreign")), setup.message().unique_by(key("ours"))];
    setup.outbox.enqueue_now(&done).await.expect("enqueue");
    let bytes = match setup.outbox.connection().get_database_backend() {
        DbBackend::Sqlite => "CAST(x'4dfc6c6c6572' AS TEXT)",
        _ => "x'4dfc6c6c6572'",
    };
    setup
        .execute(&format!("UPDATE claimstream_dedup SET dedup_key = {bytes} WHERE dedup_key = 'foreign'"))
        .await;
    setup.finish_all().await;
    setup.clock.advance(Retention::SHORTEST * 48);
    let swept = setup.outbox.sweep().await.expect("sweep");
    assert_eq!(swept, Swept { bodies: 2, dedup_keys: 2, ..Swept::default() });
}

/// Rows as programs in other languages may leave them; a person may mend them.
async fn steps_over_live_rows(setup: Setup) {
    let is_sqlite = setup.outbox.connection().get_database_backend() == DbBackend::Sqlite;
    let wrong: &[&str] = match is_sqlite {
        false => &["queue = x'ff'", "available_at = '0000-00-00'", "available_at = '1000-01-01'"],
        true => &[
            "queue = x'ff'",
            "queue = CAST(x'ff' AS TEXT)",
            "queue = CAST(queue AS BLOB)",
            "shard = 'first'",
            "available_at = 'soon'",
            "available_at = -1",
        ],
    };
    let live: Vec<_> =
        wrong.iter().map(|_| setup.message().deliver_after(Duration::from_secs(86_400))).collect();
    setup.enqueue(&live).await;
    for (message, wrong) in live.iter().zip(wrong) {
        let id = hex(message.id.uuid());
        setup.execute_loosely(&format!("UPDATE claimstream_queue SET {wrong} WHERE id = {id}")).await;
    }
    if is_sqlite {
        let row = "VALUES (x'01', '~', 0, 0)";
        setup.execute(&format!("INSERT INTO claimstream_queue (id, queue, shard, available_at) {row}")).await;
    }
    setup.enqueue(&[setup.message()]).await;
    setup.finish_all().await;
    setup.clock.advance(Retention::SHORTEST * 2);
    assert_eq!(setup.sweep().await, 1, "what is finished");
    assert_eq!(setup.bodies().await, live.len() as i64, "what is live");
    for (message, wrong) in live.iter().zip(wrong) {
        let id = hex(message.id.uuid());
        let body = format!("SELECT COUNT(*) FROM claimstream_message WHERE id = {id}");
        assert_eq!(setup.count(&body).await, 1, "{wrong}");
    }
}

async fn buries_what_has_no_body(setup: Setup) {
    let (lost, kept) = (setup.of_id(Uuid::from_u128(1)), setup.message());
    setup.outbox.enqueue_now(&[lost.clone(), kept.clone()]).await.expect("enqueue");
    setup.execute(&format!("DELETE FROM claimstream_message WHERE id = {}", hex(lost.id.uuid()))).await;
    let claimed = setup.instance.take_all().await;
    assert_eq!(claimed.iter().map(|c| c.message.id).collect::<Vec<_>>(), [kept.id]);
    let dead = setup.instance.dead().await;
    assert_eq!(dead.iter().map(|dead| dead.message.id).collect::<Vec<_>>(), [lost.id]);
    assert!(dead[0].reason.as_str().contains("its body is gone"), "{:?}", dead[0].reason);
}

async fn steps_over_what_cannot_be_read(setup: Setup) {
    let (broken, kept) = (setup.of_id(Uuid::from_u128(1)), setup.message());
    setup.outbox.enqueue_now(&[broken.clone(), kept.clone()]).await.expect("enqueue");
    let id = hex(broken.id.uuid());
    setup.execute(&format!("UPDATE claimstream_message SET headers = x'7b' WHERE id = {id}")).await;
    let claimed = setup.instance.take_all().await;
    assert_eq!(claimed.iter().map(|c| c.message.id).collect::<Vec<_>>(), [kept.id]);
    let dead = setup.instance.dead().await;
    assert_eq!((dead.len(), dead[0].message.id), (1, broken.id));
    assert_eq!(dead[0].message.payload.bytes(), broken.payload.bytes());
}
