use std::{collections::BTreeMap, fmt, sync::Arc};

use crate::{
    database::{Database, capability::Capability, sql::Sql},
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
    pub(crate) schema: SchemaVersions,
    /// The scripts that show which rights the user has, one for each capability whose tables are there, and whether this process uses it.
    pub(crate) rights: Vec<(&'a Sql, bool)>,
}

/// The capabilities whose tables are there, with the newest version of each that has been applied and the newest that this library knows.
pub(crate) struct SchemaVersions(pub(crate) BTreeMap<Capability, Version>);

#[derive(Clone, Copy)]
pub(crate) struct Version {
    pub(crate) applied: i64,
    pub(crate) known: i64,
}

impl SchemaVersions {
    /// Whether the tables of a capability are there.
    pub(crate) fn has(&self, capability: Capability) -> bool {
        self.0.contains_key(&capability)
    }
}

impl fmt::Display for SchemaVersions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = |(capability, Version { applied, known }): (&Capability, &Version)| match applied
            > known
        {
            true => format!(
                "{capability} version {applied}, made by a newer version of the library than this one, which knows {known}"
            ),
            false if applied < known => {
                format!("{capability} version {applied}, older than {known}, which this library knows")
            }
            false => format!("{capability} version {applied}"),
        };
        f.write_str(&self.0.iter().map(version).collect::<Vec<_>>().join(", "))
    }
}
