use claimstream_domain::ShardCount;
use claimstream_ports::StoreError;
#[cfg(feature = "mysql")]
use claimstream_ports::StoreErrorKind;
use sea_orm::ConnectionTrait;
#[cfg(feature = "mysql")]
use sea_orm::DbErr;

use super::RESHARD;
use crate::database::{
    Database, classify::classify, deadline::in_time, dialect::Dialect, sql::text, unit::run,
};
#[cfg(feature = "mysql")]
use crate::database::{classify::refusal, link::Link};

/// What makes the triggers on a server, the one that is the cut last.
#[cfg(feature = "mysql")]
const ON_SERVER: [&str; 3] = [
    include_str!("../sql/schema/schema_cut_message.mysql.sql"),
    include_str!("../sql/schema/schema_cut_revived.mysql.sql"),
    include_str!("../sql/schema/schema_cut_queue.mysql.sql"),
];

const IN_FILE: &str = include_str!("../sql/schema/schema_cut_queue.sqlite.sql");

/// The names of the triggers, without their number.
#[cfg(feature = "mysql")]
const NAMES: [&str; 3] = ["queue", "revived", "message"];

/// Has every message be written by a count, whatever count its writer knows; `false` if open transactions are in the way, and nothing
/// has changed.
///
/// A server makes a trigger when each transaction has ended that has used its table. While it waits, those that begin wait behind it,
/// so it waits for a second and no longer.
pub(crate) async fn cut(db: &Database, to: ShardCount) -> Result<bool, StoreError> {
    let args = db.args().with("shards", to.get());
    match db.dialect {
        #[cfg(feature = "mysql")]
        Dialect::MySql => {
            for trigger in ON_SERVER {
                if !change(db, &of_count(trigger, to)).await? {
                    return Ok(false);
                }
            }
            db.restarting(|| run(db.relay(), RESHARD, db.sql.resharding.cut.bind(&args))).await?;
        }
        #[cfg(not(feature = "mysql"))]
        Dialect::MySql => {}
        Dialect::Sqlite => {
            let trigger = of_count(IN_FILE, to);
            let whole = || async {
                let on = db.begin(RESHARD).await?;
                in_time(RESHARD, on.execute_unprepared(&trigger), classify).await?;
                run(&on, RESHARD, db.sql.resharding.cut.bind(&args)).await?;
                db.commit(RESHARD, on).await
            };
            db.restarting(whole).await?;
        }
    }
    Ok(true)
}

/// Takes the triggers away, and forgets the resharding; `false` if open transactions are in the way.
pub(crate) async fn end(db: &Database, to: ShardCount) -> Result<bool, StoreError> {
    let args = db.args().with("shards", to.get());
    match db.dialect {
        #[cfg(feature = "mysql")]
        Dialect::MySql => {
            for name in NAMES {
                let drop = format!("DROP TRIGGER IF EXISTS claimstream_{}_shards_of_{name}", to.get());
                if !change(db, &drop).await? {
                    return Ok(false);
                }
            }
            db.restarting(|| run(db.relay(), RESHARD, db.sql.resharding.end.bind(&args))).await?;
        }
        #[cfg(not(feature = "mysql"))]
        Dialect::MySql => {}
        Dialect::Sqlite => {
            let drop = format!("DROP TRIGGER IF EXISTS claimstream_{}_shards_of_queue", to.get());
            let whole = || async {
                let on = db.begin(RESHARD).await?;
                in_time(RESHARD, on.execute_unprepared(&drop), classify).await?;
                run(&on, RESHARD, db.sql.resharding.end.bind(&args)).await?;
                db.commit(RESHARD, on).await
            };
            db.restarting(whole).await?;
        }
    }
    Ok(true)
}

fn of_count(trigger: &str, count: ShardCount) -> String {
    text(trigger).replace(":shards", &count.get().to_string())
}

/// Sends a statement that changes a table, on a connection that does not come back, because it waits for less than others do.
#[cfg(feature = "mysql")]
async fn change(db: &Database, statement: &str) -> Result<bool, StoreError> {
    let mut on = in_time(RESHARD, Link::of_pool(db.relay(), db.dialect), classify).await?;
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

#[cfg(feature = "mysql")]
const KNOWN_TRIGGER: u32 = 1359;
#[cfg(feature = "mysql")]
const LOCK_WAIT: u32 = 1205;
/// Also where a cluster has given another node's change the first place.
#[cfg(feature = "mysql")]
const DEADLOCK: u32 = 1213;

/// The errors that a user can mend.
#[cfg(feature = "mysql")]
fn refused(operation: &'static str, error: DbErr) -> StoreError {
    match refusal(&error) {
        Some(1419) => StoreError::new(StoreErrorKind::Misconfigured, operation, TRUST),
        Some(1142 | 1227) => StoreError::new(StoreErrorKind::Misconfigured, operation, RIGHT),
        _ => classify(operation, error),
    }
}

#[cfg(feature = "mysql")]
const RIGHT: &str =
    "the user may not make triggers; GRANT TRIGGER on the database, or run the command as another user";
#[cfg(feature = "mysql")]
const TRUST: &str = "the server writes a binary log and trusts no user without SUPER to make triggers; set                      log_bin_trust_function_creators = ON for the time of the resharding, or run the command as a user with SUPER";
