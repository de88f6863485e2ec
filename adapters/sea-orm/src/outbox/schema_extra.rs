use std::sync::Arc;

use claimstream_ports::{StoreError, StoreErrorKind};
use sea_orm::ConnectionTrait;

use super::handle::SeaOrmOutbox;
use crate::database::{Database, classify::classify, dialect::Dialect, server::server_name};

const EXTRA: &str = "schema extra";

/// A part of the schema that Claimstream itself never uses, for programs in other languages. There is none on SQLite.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SchemaExtra {
    /// The stored procedure `claimstream_enqueue`, which writes a message in the transaction of its caller.
    EnqueueRoutine,
    /// The view `claimstream_debezium`, which shows stored messages under the names of Debezium's outbox event router.
    DebeziumView,
}

impl SchemaExtra {
    /// What it makes, as the database calls it.
    pub fn object(self) -> &'static str {
        match self {
            Self::EnqueueRoutine => "claimstream_enqueue",
            Self::DebeziumView => "claimstream_debezium",
        }
    }

    /// A script for the shell of MySQL or MariaDB; it may run again, and replaces what an earlier version has made.
    pub fn script(self) -> String {
        match self {
            Self::EnqueueRoutine => {
                format!("{};\nDELIMITER //\n{}//\nDELIMITER ;\n", TAKE_ROUTINE_AWAY.trim_end(), self.making())
            }
            Self::DebeziumView => format!("{};\n", self.making().trim_end()),
        }
    }

    fn making(self) -> &'static str {
        match self {
            Self::EnqueueRoutine => include_str!("../sql/schema/schema_extra_enqueue.mysql.sql"),
            Self::DebeziumView => include_str!("../sql/schema/schema_extra_debezium.mysql.sql"),
        }
    }
}

/// MySQL cannot replace a procedure.
const TAKE_ROUTINE_AWAY: &str = include_str!("../sql/schema/schema_extra_enqueue_drop.mysql.sql");

impl SeaOrmOutbox {
    /// Makes a part of the schema that other programs use, in place of an earlier one. SQLite is refused as `Unsupported`.
    ///
    /// MySQL cannot replace a procedure: a call between its end and its beginning anew is refused with 1305.
    pub async fn make_extra(&self, extra: SchemaExtra) -> Result<(), StoreError> {
        let db = Arc::clone(&self.rooms.db);
        self.rooms.db.detached(EXTRA, async move { make(&db, extra).await }).await
    }
}

async fn make(db: &Database, extra: SchemaExtra) -> Result<(), StoreError> {
    if db.dialect == Dialect::Sqlite {
        let object = extra.object();
        let why = format!("SQLite has no {object}; docs/other-languages.md has the INSERTs for it");
        return Err(StoreError::new(StoreErrorKind::Unsupported, EXTRA, why));
    }
    let cannot_replace =
        extra == SchemaExtra::EnqueueRoutine && server_name(db.relay(), db.sql).await?.starts_with("MySQL");
    for statement in cannot_replace.then_some(TAKE_ROUTINE_AWAY).into_iter().chain([extra.making()]) {
        // As text, because servers prepare no statement that makes a procedure.
        db.relay().execute_unprepared(statement).await.map_err(|e| classify(EXTRA, e))?;
    }
    tracing::info!(object = extra.object(), "schema extra made");
    Ok(())
}
