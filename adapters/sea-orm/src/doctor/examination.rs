use std::{fmt, sync::Arc, time::Duration};

use crate::{
    database::{Database, sql::Sql},
    queues::observe::Observed,
    resharding::status::ShardStatus,
    strategy::choice::Strategy,
};

/// What the start-up self-check looks at.
pub(crate) struct Examination<'a> {
    pub(crate) db: &'a Database,
    pub(crate) shards: ShardStatus,
    /// How the queues stood when they were last counted, if that is enough.
    pub(crate) counted: Option<Arc<Observed>>,
    pub(crate) strategy: Strategy,
    /// The statement that finds due messages, by its name.
    pub(crate) claim: (&'static str, &'a Sql),
    /// How long steps are kept.
    pub(crate) step_retention: Duration,
    pub(crate) schema: SchemaVersions,
}

/// The newest version of the tables that this library knows, and the newest that has been applied.
pub(crate) struct SchemaVersions {
    pub(crate) known: i64,
    pub(crate) applied: i64,
}

impl fmt::Display for SchemaVersions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { known, applied } = self;
        write!(f, "version {applied}")?;
        match applied > known {
            true => write!(f, ", made by a newer version of the library than this one, which knows {known}"),
            false => Ok(()),
        }
    }
}
