use claimstream_ports::{StoreError, StoreErrorKind};

use super::{
    extra_statement::{EXTRA, send},
    handle::SeaOrmOutbox,
    routine_grants::RoutineGrants,
};
use crate::database::{
    Database, args::Args, dialect::Dialect, server::server_name, typed_row::row, unit::rows,
};

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
            Self::EnqueueRoutine => include_str!("../sql/extras/enqueue.mysql.sql"),
            Self::DebeziumView => include_str!("../sql/extras/debezium.mysql.sql"),
        }
    }
}

/// MySQL cannot replace a procedure.
const TAKE_ROUTINE_AWAY: &str = include_str!("../sql/extras/enqueue_drop.mysql.sql");

impl SeaOrmOutbox {
    /// Makes a part of the schema that other programs use, in place of an earlier one. SQLite is refused as `Unsupported`.
    ///
    /// MySQL cannot replace a procedure. There one that is the same already is left alone, and an earlier one is dropped and created again
    /// with the rights on it: a call in between is refused with 1305. If this user may not read or give those rights, the error says so
    /// and nothing was changed.
    pub async fn make_extra(&self, extra: SchemaExtra) -> Result<(), StoreError> {
        self.detached(EXTRA, move |state| async move { make(&state.db, extra).await }).await
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
    match cannot_replace {
        true => make_again(db, extra.making()).await?,
        false => send(db, extra.making()).await?,
    }
    tracing::info!(object = extra.object(), "schema extra made");
    Ok(())
}

/// Takes an earlier routine away and makes it again; with a routine MySQL takes away what was granted on it.
async fn make_again(db: &Database, making: &str) -> Result<(), StoreError> {
    let standing = rows(db.relay(), EXTRA, db.sql.routine.standing.bind(&Args::new())).await?;
    let Some(standing) = standing.first().map(Standing::read).transpose()? else {
        return send(db, making).await;
    };
    if standing.is_own && standing.body.is_some_and(|body| making.trim_end().ends_with(body.trim_end())) {
        return Ok(());
    }
    let grants = RoutineGrants::read(db).await?;
    grants.give(db).await.map_err(|error| grants.refused(&error))?;
    send(db, TAKE_ROUTINE_AWAY).await?;
    let made = send(db, making).await;
    let given = grants.give(db).await;
    made.and(given).map_err(|error| grants.lost(&error))
}

row! {
    struct Standing of "routine/standing" { body: Option<String>, is_own: bool }
}
