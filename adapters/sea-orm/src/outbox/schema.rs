use std::collections::{BTreeMap, BTreeSet};

use claimstream_domain::ShardCount;
use claimstream_ports::{StoreError, StoreErrorKind};
use sea_orm::{
    ConnectionTrait, DatabaseConnection, SqliteTransactionMode, TransactionOptions, TransactionTrait,
};

use crate::{
    database::{
        args::Args,
        capability::{Capability, applied},
        classify::{classify, is_missing_table},
        clock::ServerClock,
        dialect::Dialect,
        sql::text,
        statements::Statements,
        unit::{rows, run},
    },
    resharding::shards::count,
};

/// A version of a capability's tables, with the script that makes it.
type Version = (i64, &'static str);

/// The scripts that make the tables of a capability, by version, to be applied by other means.
///
/// Each statement is idempotent and atomic, so scripts may run again, also concurrently. After those of the outbox, one row for each shard
/// goes into `claimstream_shard`, and after all the versions into `claimstream_schema`;
/// [`printable_schema`](crate::SeaOrmOutbox::printable_schema) writes that too.
pub fn schema(dialect: Dialect, capability: Capability) -> &'static [(i64, &'static str)] {
    macro_rules! versions {
        ($($file:literal),+) => {
            match dialect {
                Dialect::MySql => &[$(include_version!($file, ".mysql.sql")),+],
                Dialect::Sqlite => &[$(include_version!($file, ".sqlite.sql")),+],
            }
        };
    }
    macro_rules! include_version {
        ($file:literal, $end:literal) => {
            (1, include_str!(concat!("../sql/tables/", $file, "_1", $end)))
        };
    }
    let versions: &'static [Version] = match capability {
        Capability::Outbox => versions!("outbox"),
        Capability::ShardLease => versions!("shard_lease"),
        #[cfg(feature = "steps")]
        Capability::Steps => versions!("steps"),
        #[cfg(feature = "notifications")]
        Capability::Notifications => versions!("notifications"),
    };
    versions
}

/// The newest version of a capability's tables.
pub(crate) fn newest(capability: Capability) -> i64 {
    schema(Dialect::MySql, capability).iter().map(|(version, _)| *version).max().unwrap_or_default()
}

impl crate::SeaOrmOutbox {
    /// The tables of the outbox and of these capabilities as one script, ready to be pasted into another tool; it may run again, also on
    /// a database that is used for more.
    pub fn printable_schema(
        dialect: Dialect,
        capabilities: &BTreeSet<Capability>,
        shards: ShardCount,
    ) -> String {
        let (now, insert) = match dialect {
            Dialect::MySql => ("UTC_TIMESTAMP(6)", "INSERT IGNORE"),
            Dialect::Sqlite => {
                ("CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)", "INSERT OR IGNORE")
            }
        };
        let (mut tables, mut versions) = (String::new(), Vec::new());
        for capability in with_outbox(capabilities) {
            for (version, script) in schema(dialect, capability) {
                tables += &match (dialect, capability) {
                    (Dialect::MySql, Capability::Outbox) => with_kept_view(script),
                    _ => (*script).to_owned(),
                };
                tables.push('\n');
                versions.push(format!("('{capability}', {version}, {now})"));
            }
        }
        let numbers = shards.shards().map(|shard| format!("SELECT {} AS shard", shard.number()));
        let (numbers, versions) = (numbers.collect::<Vec<_>>().join(" UNION ALL "), versions.join(", "));
        // A database keeps the number of shards that it has.
        format!(
            "{tables}INSERT INTO claimstream_shard (shard)\nSELECT shard FROM ({numbers}) AS numbers\n WHERE NOT EXISTS (SELECT 1 FROM \
             claimstream_shard);\n{insert} INTO claimstream_schema (capability, version, applied_at) VALUES {versions};\n"
        )
    }
}

/// The script of the outbox whose view is made only where there are no leases of shards: with them it has more columns to read. MySQL has no word
/// for that, so its own tables are asked.
fn with_kept_view(script: &str) -> String {
    let made = text(script);
    let view = made.split(';').map(str::trim).find(|statement| is_view(statement));
    let Some(view) = view else { return script.to_owned() };
    let begin = script.find("CREATE OR REPLACE").unwrap_or_default();
    let end = script[begin..].find(';').map_or(script.len(), |length| begin + length + 1);
    let quoted = view.replace('\'', "''");
    format!(
        "{}SET @make = IF(EXISTS (SELECT 1 FROM information_schema.tables WHERE table_schema = DATABASE()\n\
         \x20\x20   AND table_name = 'claimstream_lease'), 'DO 0',\n  '{quoted}');\n\
         PREPARE make FROM @make;\nEXECUTE make;\nDEALLOCATE PREPARE make;{}",
        &script[..begin],
        &script[end..]
    )
}

fn is_view(statement: &str) -> bool {
    statement.starts_with("CREATE") && statement.contains(" VIEW ")
}

fn with_outbox(capabilities: &BTreeSet<Capability>) -> BTreeSet<Capability> {
    capabilities.iter().copied().chain([Capability::Outbox]).collect()
}

/// How often making or reading the schema is tried while other processes do the same.
const TRIES: usize = 10;

/// Does work on the schema again that met other processes at the same.
async fn repeated<T, F: Future<Output = Result<T, StoreError>>>(
    mut work: impl FnMut() -> F,
) -> Result<T, StoreError> {
    let mut tries = 1;
    loop {
        match work().await {
            Err(between) if between.kind() == StoreErrorKind::Transient && tries < TRIES => tries += 1,
            done => return done,
        }
    }
}

/// What an opening asks of the tables of a database.
pub(crate) struct Schema<'a> {
    pub(crate) db: &'a DatabaseConnection,
    pub(crate) sql: &'a Statements,
    pub(crate) dialect: Dialect,
    pub(crate) clock: &'a ServerClock,
    /// Whether missing tables are made.
    pub(crate) create: bool,
    /// Into how many shards queues are cut, if that is not decided yet.
    pub(crate) shards: ShardCount,
}

impl Schema<'_> {
    /// Makes or checks the tables of the outbox and of these capabilities, and returns into how many shards queues are cut.
    ///
    /// Every statement may be repeated: an instance that comes between has made what this one would have made.
    pub(crate) async fn prepare(
        &self,
        capabilities: &BTreeSet<Capability>,
    ) -> Result<ShardCount, StoreError> {
        repeated(|| self.prepare_once(capabilities)).await
    }

    async fn prepare_once(&self, capabilities: &BTreeSet<Capability>) -> Result<ShardCount, StoreError> {
        let applied = applied(self.db, self.sql).await?;
        match (self.create, missing(capabilities, &applied)) {
            (true, _) => self.apply(&older(capabilities, &applied), &applied).await?,
            (false, missing) if !missing.is_empty() => return Err(not_there(&missing)),
            (false, _) => {}
        }
        count(self.db, self.sql).await
    }

    /// Applies the scripts that are newer than what was applied. The older ones are left alone: every enqueue shares a lock on the row of the
    /// outbox's first version, and writing that row would wait for all callers' transactions, and they for it.
    async fn apply(
        &self,
        missing: &[Capability],
        applied: &BTreeMap<Capability, i64>,
    ) -> Result<(), StoreError> {
        for capability in missing {
            let known = applied.get(capability).copied().unwrap_or_default();
            for (version, statements) in pending(self.dialect, *capability, known) {
                self.make(*capability, &statements).await?;
                if *capability == Capability::Outbox {
                    self.insert_shards().await?;
                }
                let args = Args::at(self.dialect, self.clock).with("capability", capability.name());
                let args = args.with("version", version);
                run(self.db, "schema", self.sql.schema.applied.bind(&args)).await?;
                tracing::info!(%capability, version, "schema applied");
            }
        }
        Ok(())
    }

    /// Sends the statements of a version; on SQLite in one transaction, so that no reader finds a view gone that is made again.
    async fn make(&self, capability: Capability, statements: &[String]) -> Result<(), StoreError> {
        let failed = |error| classify("schema", error);
        if self.dialect == Dialect::Sqlite {
            let sqlite_transaction_mode = Some(SqliteTransactionMode::Immediate);
            let options = TransactionOptions { sqlite_transaction_mode, ..Default::default() };
            let on = self.db.begin_with_options(options).await.map_err(failed)?;
            for statement in statements {
                on.execute_unprepared(statement).await.map_err(failed)?;
            }
            return on.commit().await.map_err(failed);
        }
        for statement in statements {
            // Another process may have made leases meanwhile, and with them a view that shows more.
            let is_made = capability == Capability::Outbox && is_view(statement) && self.has_leases().await?;
            if !is_made {
                self.db.execute_unprepared(statement).await.map_err(failed)?;
            }
        }
        Ok(())
    }

    async fn has_leases(&self) -> Result<bool, StoreError> {
        let there =
            self.sql.schema.there.bind(&Args::new()).sql.replace("claimstream_schema", "claimstream_lease");
        match self.db.execute_unprepared(&there).await.map_err(|error| classify("schema", error)) {
            Err(error) if is_missing_table(&error) => Ok(false),
            there => there.map(|_| true),
        }
    }

    /// The first instance decides the number of shards: one insert of all of them, which fails for every other instance.
    async fn insert_shards(&self) -> Result<(), StoreError> {
        let sql = &self.sql.schema;
        if !rows(self.db, "schema", sql.shard_list.bind(&Args::new())).await?.is_empty() {
            return Ok(());
        }
        let insert = sql.shard_insert.bind_rows(&Args::new(), &numbers(self.shards));
        match run(self.db, "schema", insert).await {
            Err(decided) if decided.kind() == StoreErrorKind::Conflict => Ok(()),
            done => done.map(|_| ()),
        }
    }
}

impl crate::SeaOrmOutbox {
    /// Makes the tables of a capability if they are missing or older, and those of no other.
    pub async fn add_capability(&self, capability: Capability) -> Result<(), StoreError> {
        self.detached("schema", move |state| async move {
            let (db, shards) = (&state.db, state.enqueueing.shards);
            let schema = Schema {
                db: db.relay(),
                sql: db.sql,
                dialect: db.dialect,
                clock: &db.clock,
                create: true,
                shards,
            };
            let added = || async {
                let applied = applied(schema.db, schema.sql).await?;
                schema.apply(&missing(&BTreeSet::from([capability]), &applied), &applied).await
            };
            repeated(added).await
        })
        .await
    }
}

/// The outbox and these capabilities, without those whose tables are there in the newest version.
pub(super) fn missing(
    capabilities: &BTreeSet<Capability>,
    applied: &BTreeMap<Capability, i64>,
) -> Vec<Capability> {
    let all = with_outbox(capabilities).into_iter();
    all.filter(|one| applied.get(one).copied().unwrap_or_default() < newest(*one)).collect()
}

/// What an opening that makes tables applies: what is [missing], and newer versions of whatever else is there.
pub(super) fn older(
    capabilities: &BTreeSet<Capability>,
    applied: &BTreeMap<Capability, i64>,
) -> Vec<Capability> {
    missing(&capabilities.iter().chain(applied.keys()).copied().collect(), applied)
}

/// What is sent for each version of a capability's tables that is newer than `applied`, statement by statement.
pub(super) fn pending(
    dialect: Dialect,
    capability: Capability,
    applied: i64,
) -> impl Iterator<Item = (i64, Vec<String>)> {
    let newer = schema(dialect, capability).iter().filter(move |(version, _)| *version > applied);
    newer.map(|(version, script)| {
        let script = text(script);
        let statements = script.split(';').map(str::trim).filter(|statement| !statement.is_empty());
        (*version, statements.map(str::to_owned).collect())
    })
}

/// A row for each shard.
pub(super) fn numbers(shards: ShardCount) -> Vec<Args> {
    shards.shards().map(|shard| Args::new().with("shard", i64::from(shard.number()))).collect()
}

fn not_there(missing: &[Capability]) -> StoreError {
    let names: Vec<_> = missing.iter().map(|capability| capability.name()).collect();
    let added: Vec<_> = names.iter().copied().filter(|name| *name != Capability::Outbox.name()).collect();
    let added = if added.is_empty() { String::new() } else { format!(" --for {}", added.join(",")) };
    let names = names.join(", ");
    StoreError::new(
        StoreErrorKind::Misconfigured,
        "open",
        format!(
            "tables are missing or older than this version needs, those of: {names}; run `claimstream schema apply{added}`; a service that \
             opens with create_schema = true makes them itself"
        ),
    )
}
