//! What becomes of each wrong row that a program can write, and that no other message waits for it.
//! Promise: no invalid row of another program stops a queue, `status` or `doctor`; it is refused, becomes a
//! dead letter, or stays and is named

use std::collections::BTreeSet;

use claimstream::Compose;
use claimstream_domain::{MessageId, NewMessage, QueueName, Settled};
use claimstream_ports::Observe;
use claimstream_sea_orm::{Dialect, Severity};

use super::{
    Shop,
    foreign_row::{ForeignRow, KEY},
};
use crate::{Suite, backend::SeaOrmBackend};

pub(super) fn add_to(suite: &mut Suite, store: &str, strategy: &str, backend: SeaOrmBackend) {
    let name = format!("{store}::{strategy}::producers::no_wrong_row_stops_a_queue");
    suite.add_async_test(&name, async move { no_wrong_row_stops_a_queue(&backend).await });
}

/// What becomes of a wrong row.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Fate {
    /// The server refuses it, and nothing is written.
    Refused,
    /// It becomes a dead letter, with a reason that says this.
    Buried(&'static str),
    /// Relays never see it; it stays in the tables.
    Stays,
    /// It is handed out as if it were right.
    Delivered,
}

/// A wrong row: how it is called, how it is wrong, and what becomes of it on servers and on SQLite.
type Wrong = (&'static str, fn(&mut ForeignRow), [Fate; 2]);

const WRONG: &[Wrong] = {
    use Fate::*;
    &[
        ("a right row", |_| (), [Delivered; 2]),
        ("headers that are no JSON", |row| row.headers = "'x=1'".into(), [Buried("expected value"); 2]),
        ("headers in an array", |row| row.headers = "'[\"a\"]'".into(), [Buried("invalid type"); 2]),
        ("a header that is a number", |row| row.headers = "'{\"a\":1}'".into(), [Buried("invalid type"); 2]),
        (
            "a header name with a blank",
            |row| row.headers = "'{\"a b\":\"c\"}'".into(),
            [Buried("header name"); 2],
        ),
        (
            "headers of 17 KiB",
            |row| row.headers = format!("'{{\"a\":\"{}\"}}'", "v".repeat(17 * 1024)),
            [Buried("headers"); 2],
        ),
        (
            "headers that are no UTF-8",
            |row| row.headers = "x'7b2261223a22ff227d'".into(),
            [Buried("unicode"); 2],
        ),
        ("no content type", |row| row.content_type = "''".into(), [Buried("content type"); 2]),
        (
            "a content type of two lines",
            |row| row.content_type = "'a\nb'".into(),
            [Buried("content type"); 2],
        ),
        ("a content type that is no UTF-8", |row| row.content_type = "x'ff'".into(), [Buried("utf-8"); 2]),
        ("an empty ordering key", |row| row.ordering_key = "''".into(), [Buried("ordering key"); 2]),
        ("an ordering key that is no UTF-8", |row| row.ordering_key = "x'ff'".into(), [Buried("utf-8"); 2]),
        (
            "an ordering key of 256 bytes",
            |row| row.ordering_key = format!("'{}'", "k".repeat(256)),
            [Refused, Buried("ordering key")],
        ),
        ("no payload", |row| row.payload = "NULL".into(), [Refused; 2]),
        ("an entry without a message", |row| row.has_body = false, [Buried("its body is gone"); 2]),
        ("a message without an entry", |row| row.entries = 0, [Stays; 2]),
        ("two entries", |row| row.entries = 2, [Delivered; 2]),
        ("another shard", |row| row.shard = format!("({} + 1) % 4", row.shard), [Delivered; 2]),
        ("a shard that is not there", |row| row.shard = "99".into(), [Stays; 2]),
        ("a shard below 0", |row| row.shard = "-1".into(), [Refused, Stays]),
        ("a queue with a blank", |row| row.queue = "'no such queue'".into(), [Stays; 2]),
        ("a queue that is no UTF-8", |row| row.queue = "x'ff'".into(), [Stays; 2]),
        (
            "a queue as a BLOB",
            |row| row.queue = format!("x'{}'", hex(row.queue.trim_matches('\''))),
            [Delivered, Stays],
        ),
        ("no queue", |row| row.queue = "''".into(), [Stays; 2]),
        ("a queue of 65 bytes", |row| row.queue = format!("'{}'", "q".repeat(65)), [Refused, Stays]),
        ("an id as text", |row| row.id = format!("'{}'", row.uuid), [Refused, Stays]),
        (
            "an id of 15 bytes",
            |row| row.id = format!("x'{}'", &row.uuid.simple().to_string()[2..]),
            [Delivered, Stays],
        ),
        ("a due time of 1000", |row| row.available_at = "'1000-01-01'".into(), [Stays; 2]),
        ("a due time below 0", |row| row.available_at = "-1".into(), [Refused, Stays]),
        (
            "a due time that is zero",
            |row| {
                row.allows_zero_dates = true;
                row.available_at = "'0000-00-00'".into();
            },
            [Stays; 2],
        ),
        ("a due time without a date", |row| row.available_at = "NULL".into(), [Refused; 2]),
    ]
};

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

/// Guard: a claim's look skips rows that no claim can read | adapters/sea-orm/src/sql/claim/peek.sql: no
/// `{unreadable q}`; the same in shard_lease/peek.sql; fails on MySQL
/// Guard: SQLite claims ids of 16 bytes only | adapters/sea-orm/src/sql/claim/take.sqlite.sql: no condition
/// on the id; the same in shard_lease/read.sql; fails on SQLite
/// Guard: a row with an impossible queue name is counted apart | adapters/sea-orm/src/queues/observe.rs
/// `observe`: such a row is an error
async fn no_wrong_row_stops_a_queue(backend: &SeaOrmBackend) {
    let shop = Shop::open(backend, backend.options()).await;
    let mut complaints = Vec::new();
    for (what, change, fates) in WRONG {
        let expected = match shop.outbox.dialect() {
            Dialect::MySql => fates[0],
            Dialect::Sqlite => fates[1],
        };
        if let Err(complaint) = try_one(&shop, *change, expected).await {
            complaints.push(format!("{what}: {complaint}"));
        }
        if let Err(error) = shop.outbox.observe().await {
            complaints.push(format!("{what}: status fails: {error}"));
        }
    }
    if let Err(error) = shop.outbox.sweep().await {
        complaints.push(format!("sweep: {error}"));
    }
    let findings = shop.outbox.doctor().await.expect("findings");
    let failed: Vec<_> = findings.into_iter().filter(|one| one.severity == Severity::Failure).collect();
    for named in ["'no such queue'", "cannot be read by any claim", "lie in shard 4 or above"] {
        if !failed.iter().any(|failure| failure.detail.contains(named)) {
            complaints.push(format!("doctor does not say {named}: {failed:?}"));
        }
    }
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

/// A wrong row between two right ones of its shard.
async fn try_one(shop: &Shop, change: fn(&mut ForeignRow), expected: Fate) -> Result<(), String> {
    let queue = crate::Fixture::fresh_queue();
    let good = || {
        let message = NewMessage::json(queue.clone(), &1).expect("a message");
        message.ordered_by(KEY.parse().expect("a key"))
    };
    let (before, after) = (good(), good());
    let enqueue = async |message: &NewMessage| {
        shop.outbox.enqueue_now(std::slice::from_ref(message)).await.map_err(|e| e.to_string())
    };
    enqueue(&before).await?;
    let mut row = ForeignRow::of(&shop.outbox, &queue);
    change(&mut row);
    let written = row.write(&shop.url).await;
    if let Err(refused) = &written
        && expected != Fate::Refused
    {
        return Err(format!("refused: {refused}"));
    }
    enqueue(&after).await?;
    let wrong = MessageId::new(row.uuid);
    let got = take_all(shop, &queue).await?;
    let missing = [before.id, after.id].iter().filter(|id| !got.contains(id)).count();
    let dead = shop.instance.on(&queue).dead().await;
    let letter = dead.iter().find(|letter| letter.message.id == wrong);
    let fate = match (&written, got.len(), letter) {
        (Err(_), ..) => "refused".to_owned(),
        (Ok(()), _, Some(letter)) => format!("buried: {}", letter.reason.as_str()),
        (Ok(()), n, None) if n > 2 => "delivered".to_owned(),
        (Ok(()), ..) => "stays".to_owned(),
    };
    let is_right = match expected {
        Fate::Refused => fate == "refused",
        Fate::Buried(why) => fate.starts_with("buried") && fate.contains(why),
        Fate::Stays => fate == "stays",
        Fate::Delivered => fate == "delivered",
    };
    match missing {
        0 if is_right => Ok(()),
        0 => Err(format!("expected {expected:?}, but: {fate}")),
        _ => Err(format!("{missing} of the right ones did not come; {fate}")),
    }
}

async fn take_all(shop: &Shop, queue: &QueueName) -> Result<BTreeSet<MessageId>, String> {
    let instance = shop.instance.on(queue);
    let mut got = BTreeSet::new();
    for _ in 0..8 {
        let claimed = instance.ports.claiming.claim(&instance.request(10, crate::LEASE)).await;
        for claimed in claimed.map_err(|e| format!("the claim fails: {e}"))? {
            if instance.ack(&claimed).await == Settled::Accepted {
                got.insert(claimed.message.id);
            }
        }
    }
    Ok(got)
}
