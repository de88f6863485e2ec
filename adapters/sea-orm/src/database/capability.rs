use std::{collections::BTreeMap, fmt};

use claimstream_ports::{StoreError, StoreErrorKind};
use sea_orm::{ConnectionTrait, Statement};

use crate::database::{
    args::Args,
    classify::is_missing_table,
    statements::Statements,
    typed_row::row,
    unit::{Row, rows},
};

/// What a database can be used for, each with tables of its own.
///
/// `claimstream_schema` lists those whose tables are there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub enum Capability {
    /// Queues, dead letters, pauses and the audit log; always there.
    Outbox,
    /// Leases of whole shards, which the strategy `shard_lease` needs.
    ShardLease,
    /// The step ledger with inbox, sagas, TCC and timer events, and locks, which the strategy `lock_guarded` needs.
    #[cfg(feature = "steps")]
    Steps,
    /// Requests, records, recipients, templates, preferences, receipts and inboxes.
    #[cfg(feature = "notifications")]
    Notifications,
}

impl Capability {
    /// Those that this build has, in the order in which their tables are made.
    pub const ALL: &'static [Self] = &[
        Self::Outbox,
        Self::ShardLease,
        #[cfg(feature = "steps")]
        Self::Steps,
        #[cfg(feature = "notifications")]
        Self::Notifications,
    ];

    /// The word for it in `claimstream_schema` and in configurations.
    pub fn name(self) -> &'static str {
        match self {
            Self::Outbox => "outbox",
            Self::ShardLease => "shard_lease",
            #[cfg(feature = "steps")]
            Self::Steps => "steps",
            #[cfg(feature = "notifications")]
            Self::Notifications => "notifications",
        }
    }

    /// The capability of this name, if this build has it.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|known| known.name() == name)
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The capabilities whose tables are in a database, with the newest version of each that has been applied.
///
/// One that this build does not have is left out.
pub(crate) async fn applied(
    on: &impl ConnectionTrait,
    sql: &Statements,
) -> Result<BTreeMap<Capability, i64>, StoreError> {
    let found = match rows(on, "schema", sql.schema.versions.bind(&Args::new())).await {
        Ok(found) => found,
        Err(error) if is_missing_table(&error) => return Ok(BTreeMap::new()),
        Err(error) => return Err(error),
    };
    let mut applied = BTreeMap::new();
    for row in &found {
        let VersionRow { capability, version } = VersionRow::read(row)?;
        applied.extend(Capability::of_name(&capability).map(|known| (known, version)));
    }
    Ok(applied)
}

/// The rows that a statement reads from tables of this capability; none where they are not there.
///
/// A server refuses a user without rights on a table that is missing as it does on one that is there, so the answer is what has been applied.
pub(crate) async fn rows_of(
    on: &impl ConnectionTrait,
    operation: &'static str,
    sql: &Statements,
    capability: Capability,
    statement: Statement,
) -> Result<Vec<Row>, StoreError> {
    match rows(on, operation, statement).await {
        Err(error) if error.kind() == StoreErrorKind::Misconfigured => {
            match applied(on, sql).await?.contains_key(&capability) {
                true => Err(error),
                false => Ok(Vec::new()),
            }
        }
        read => read,
    }
}

row! {
    struct VersionRow of "schema/versions" { capability: String, version: i64 }
}
