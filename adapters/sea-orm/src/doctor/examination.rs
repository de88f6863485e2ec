use std::time::Duration;

use claimstream_domain::ShardCount;

use crate::{
    database::{Database, sql::Sql},
    strategy::choice::Strategy,
};

/// What the start-up self-check looks at.
pub(crate) struct Examination<'a> {
    pub(crate) db: &'a Database,
    pub(crate) shards: ShardCount,
    pub(crate) strategy: Strategy,
    /// The statement that finds due messages, by its name.
    pub(crate) claim: (&'static str, &'a Sql),
    /// How long steps are kept.
    pub(crate) step_retention: Duration,
    /// The newest version of the tables.
    pub(crate) schema: i64,
}
