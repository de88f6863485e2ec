use claimstream_ports::{StoreError, StoreErrorKind};
use sea_orm::ConnectionTrait;

use crate::database::{args::Args, sql::Sql, statements::Statements, unit::rows};

/// Identifies an outbox: the moment at which the tables of its database were made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Identity(i64);

impl Identity {
    /// The identity of the outbox that a connection leads to, if one is there.
    pub(crate) async fn read(
        on: &impl ConnectionTrait,
        operation: &'static str,
        sql: &Statements,
    ) -> Result<Option<Self>, StoreError> {
        let found = rows(on, operation, sql.schema.identity.bind(&Args::new())).await?;
        found.first().map(|row| row.int("made_at").map(Self)).transpose()
    }

    /// The identity of an outbox that is being opened.
    pub(crate) async fn of_opened(on: &impl ConnectionTrait, sql: &Statements) -> Result<Self, StoreError> {
        let read = Self::read(on, "open", sql).await?;
        let missing =
            "claimstream_schema has no row for version 1 of the outbox; insert it, with the time of now";
        read.ok_or_else(|| StoreError::new(StoreErrorKind::Corrupt, "open", missing))
    }

    /// What proves to a server that a connection is in a transaction on this outbox's own database.
    pub(crate) fn proof(self, sql: &Statements) -> String {
        self.shown(&sql.savepoint.proof)
    }

    /// The proof of a session that [remembers](Self::proof_to_remember) an earlier one; any other session is refused.
    pub(crate) fn proof_of_known(self, sql: &Statements) -> String {
        self.shown(&sql.savepoint.known)
    }

    /// The proof, which the session remembers.
    ///
    /// It ends with a statement that is refused outside a transaction: another node of Galera may end one between two statements of a
    /// packet.
    pub(crate) fn proof_to_remember(self, sql: &Statements) -> String {
        [&sql.savepoint.proof, &sql.savepoint.remember, &sql.savepoint.undo]
            .map(|part| self.shown(part))
            .join("; ")
    }

    /// Shows that a session outside a transaction remembers that it leads to this outbox's own database.
    #[cfg(feature = "mysql")]
    pub(crate) fn at_home(self, sql: &Statements) -> String {
        self.shown(&sql.savepoint.at_home)
    }

    /// Proves it to a session that does not, and has it remember.
    #[cfg(feature = "mysql")]
    pub(crate) fn home_to_remember(self, sql: &Statements) -> String {
        self.shown(&sql.savepoint.home) + "; " + &self.shown(&sql.savepoint.remember)
    }

    fn shown(self, statement: &Sql) -> String {
        statement.text().replace(":made_at", &self.0.to_string())
    }
}
