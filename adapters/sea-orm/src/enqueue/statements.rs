use claimstream_domain::NewMessage;
use claimstream_ports::StoreError;
use sea_orm::{Statement, Value};

use crate::{database::dialect::Dialect, enqueue::rows::Enqueueing};

/// Statements that enqueue messages: run them in one transaction, the proof first and then the inserts in order.
///
/// Any error means that nothing may be committed: roll back. A dedup key that is taken makes the first insert fail with a
/// duplicate-key error, which is the answer.
#[derive(Clone, Debug)]
#[must_use = "statements enqueue nothing until they are run"]
pub struct EnqueueStatements {
    /// Proves that the connection is in a transaction on the outbox's own database, and is refused with 1305 or 1690
    /// otherwise.
    ///
    /// It is several statements: send it as text, in one packet, because MySQL prepares no savepoints. There is none on
    /// SQLite, where no statement can show that: begin with `BEGIN IMMEDIATE`, on the outbox's own file.
    pub proof: Option<String>,
    /// Text and values, to be prepared and executed.
    pub inserts: Vec<(String, Vec<Value>)>,
}

impl Enqueueing {
    /// The statements that enqueue messages, for drivers of other kinds.
    pub(crate) fn statements(&self, messages: &[NewMessage]) -> Result<EnqueueStatements, StoreError> {
        let db = &self.db;
        let bodies = self.checked_rows(messages)?;
        let unique: Vec<&NewMessage> = messages.iter().filter(|m| m.dedup_key.is_some()).collect();
        let keys = self.dedup_rows(&unique);
        let mut inserts: Vec<Statement> = db.inserts(&db.sql.enqueue.dedup_or_fail, &keys);
        inserts.extend(db.inserts(&db.sql.enqueue.message, &bodies));
        inserts.extend(db.inserts(&db.sql.enqueue.queue, &bodies));
        let inserts = inserts.into_iter().map(|s| (s.sql, s.values.map(|v| v.0).unwrap_or_default()));
        let proof = (db.dialect == Dialect::MySql).then(|| db.identity.proof(db.sql));
        Ok(EnqueueStatements { proof, inserts: inserts.collect() })
    }
}
