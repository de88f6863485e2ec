use claimstream_domain::ShardCount;
use claimstream_ports::{StoreError, StoreErrorKind};
use sea_orm::{ConnectionTrait, DbErr, Value};

use super::RESHARD;
use crate::database::{
    Database,
    classify::{classify, refusal},
    deadline::in_time,
    link::Link,
    sql::text,
    typed_row::row,
    unit::rows,
};

/// A trigger by which a server sends messages to their new shards.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Trigger {
    name: &'static str,
    file: &'static str,
}

/// The one that is the cut.
pub(super) const CUT: Trigger =
    Trigger { name: "queue", file: include_str!("../sql/triggers/queue.mysql.sql") };

/// All of them, the cut last: before it the others do nothing but note in a body where its entry will be.
pub(super) const TRIGGERS: [Trigger; 3] = [
    Trigger { name: "message", file: include_str!("../sql/triggers/message.mysql.sql") },
    Trigger { name: "revived", file: include_str!("../sql/triggers/revived.mysql.sql") },
    CUT,
];

impl Trigger {
    /// The statement that makes it.
    pub(super) fn made_for(self, count: ShardCount) -> String {
        text(self.file).replace(":shards", &count.get().to_string())
    }

    /// The statement that takes it away.
    pub(super) fn dropped_for(self, count: ShardCount) -> String {
        format!("DROP TRIGGER IF EXISTS {}", self.full_name(count))
    }

    fn full_name(self, count: ShardCount) -> String {
        format!("claimstream_{}_shards_of_{}", count.get(), self.name)
    }
}

/// Those that are there, in the order of [`TRIGGERS`].
pub(super) async fn made(
    db: &Database,
    on: &impl ConnectionTrait,
    count: ShardCount,
) -> Result<Vec<Trigger>, StoreError> {
    let names = TRIGGERS.map(|trigger| Value::from(trigger.full_name(count)));
    let args = db.args().with_list("names", names);
    let found = rows(on, RESHARD, db.sql.resharding.triggers.bind(&args)).await?;
    let found = found.iter().map(TriggerRow::read).collect::<Result<Vec<_>, _>>()?;
    let is_there = |trigger: &Trigger| found.iter().any(|row| row.name == trigger.full_name(count));
    Ok(TRIGGERS.into_iter().filter(is_there).collect())
}

/// Proves the right to make triggers, and to see those that are there, on a table that nothing is written to meanwhile; `false` if
/// open transactions are in the way.
pub(super) async fn prove_right(db: &Database) -> Result<bool, StoreError> {
    let make = "CREATE TRIGGER claimstream_proof BEFORE UPDATE ON claimstream_audit FOR EACH ROW BEGIN END";
    Ok(change(db, make).await? && change(db, "DROP TRIGGER IF EXISTS claimstream_proof").await?)
}

/// Sends a statement that changes a table, on a connection that does not come back, because it waits for less than others do; `false` if
/// open transactions are in the way.
pub(super) async fn change(db: &Database, statement: &str) -> Result<bool, StoreError> {
    let mut on = in_time(RESHARD, Link::of_pool(db.relay(), db.dialect, db.timer()), classify).await?;
    on.close_when_dropped();
    let brief = db.sql.session.brief.text();
    in_time(RESHARD, on.execute_unprepared(brief), classify).await?;
    let changed = async {
        match on.execute_unprepared(statement).await {
            Err(error) if refusal(&error) == Some(KNOWN_TRIGGER) => Ok(true),
            Err(error) if matches!(refusal(&error), Some(LOCK_WAIT | DEADLOCK)) => Ok(false),
            changed => changed.map(|_| true),
        }
    };
    in_time(RESHARD, changed, refused).await
}

const KNOWN_TRIGGER: u32 = 1359;
const LOCK_WAIT: u32 = 1205;
/// Also where a cluster has given another node's change the first place.
const DEADLOCK: u32 = 1213;

/// The errors that a user can mend.
fn refused(operation: &'static str, error: DbErr) -> StoreError {
    match refusal(&error) {
        Some(1419) => StoreError::new(StoreErrorKind::Misconfigured, operation, TRUST),
        Some(1142 | 1227) => StoreError::new(StoreErrorKind::Misconfigured, operation, RIGHT),
        _ => classify(operation, error),
    }
}

const RIGHT: &str =
    "the user may not make triggers; GRANT TRIGGER on the database, or run the command as another user";
const TRUST: &str = "the server writes a binary log and trusts no user without SUPER to make triggers; set \
                     log_bin_trust_function_creators = ON for the time of the resharding, or run the command as a user with SUPER";

row! {
    struct TriggerRow of "resharding/triggers" { name: String }
}
