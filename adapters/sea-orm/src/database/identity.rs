use claimstream_ports::{StoreError, StoreErrorKind};
use sea_orm::ConnectionTrait;

use crate::database::{args::Args, statements::Statements, unit::rows};

/// Tells one outbox from another: the moment at which the tables of its database were made.
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
        let missing = "claimstream_schema has no row for version 1; insert it, with the time of now";
        read.ok_or_else(|| StoreError::new(StoreErrorKind::Corrupt, "open", missing))
    }

    /// What proves to a server that a connection is in a transaction on this outbox's own database.
    pub(crate) fn proof(self, sql: &Statements) -> String {
        sql.savepoint.proof.text().replace(":made_at", &self.0.to_string())
    }
}
