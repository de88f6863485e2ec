use std::time::Duration;

use claimstream_domain::{AuditEntry, AuditListed};
use claimstream_ports::StoreError;
use sea_orm::Value;

use crate::database::{
    Database,
    typed_row::row,
    unit::{rows, run},
};

const NOTE: &str = "note an action";
const ENTRIES: &str = "audit";

/// Notes what an operator does.
pub(crate) async fn note(db: &Database, entry: &AuditEntry) -> Result<(), StoreError> {
    let affected = entry.count().map(|count| i64::try_from(count).unwrap_or(i64::MAX));
    let args = db.args().with("actor", entry.actor()).with("action", entry.action().word());
    let args = args.with("subject", entry.subject()).with("affected", Value::BigInt(affected));
    db.restarting(|| run(db.relay(), NOTE, db.sql.audit.note.bind(&args))).await.map(|_| ())
}

/// The newest entries before a number.
pub(crate) async fn entries(
    db: &Database,
    before: Option<u64>,
    limit: u32,
) -> Result<Vec<AuditListed>, StoreError> {
    let before = before.and_then(|before| i64::try_from(before).ok()).unwrap_or(i64::MAX);
    let args = db.args().with("before", before).with("limit", i64::from(limit));
    let found = db.restarting(|| rows(db.relay(), ENTRIES, db.sql.audit.page.bind(&args))).await?;
    let listed = found.iter().map(|row| {
        let AuditRow { number, age, actor, action, subject, affected } = AuditRow::read(row)?;
        Ok(AuditListed {
            number,
            age: Duration::from_micros(age.max(0).unsigned_abs()),
            actor,
            action,
            subject,
            count: affected.map(|count| count.max(0).unsigned_abs()),
        })
    });
    listed.collect()
}

row! {
    struct AuditRow of "audit/page" {
        number: u64,
        age: i64,
        actor: String,
        action: String,
        subject: String,
        affected: Option<i64>,
    }
}
