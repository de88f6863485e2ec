use claimstream_domain::ShardCount;
use claimstream_ports::{StoreError, StoreErrorKind};
use sea_orm::{ConnectionTrait, DatabaseConnection};

use crate::{
    database::{
        args::Args,
        classify::{classify, is_known_index, is_missing_table},
        clock::ServerClock,
        dialect::Dialect,
        sql::text,
        statements::Statements,
        unit::{rows, run},
    },
    resharding::shards::count,
};

/// The newest version of the tables; [`schema`] holds one script for each.
pub(crate) const VERSION: i64 = 4;

/// The scripts that make the tables, by version, to be applied by other means.
///
/// Each statement is idempotent and atomic, so scripts may run again, also concurrently. After them, one row for each
/// shard goes into `claimstream_shard` and the version into `claimstream_schema`;
/// [`printable_schema`](crate::SeaOrmOutbox::printable_schema) writes that too.
pub fn schema(dialect: Dialect) -> &'static [(i64, &'static str)] {
    match dialect {
        Dialect::MySql => &[
            (1, include_str!("../sql/schema/schema_1.mysql.sql")),
            (
                2,
                concat!(
                    include_str!("../sql/schema/schema_2.mysql.sql"),
                    include_str!("../sql/schema/schema_2_lock.mysql.sql")
                ),
            ),
            (3, include_str!("../sql/schema/schema_3.mysql.sql")),
            (
                4,
                concat!(
                    include_str!("../sql/schema/schema_4_core.mysql.sql"),
                    include_str!("../sql/schema/schema_4_in_app.mysql.sql"),
                    include_str!("../sql/schema/schema_4_serve.mysql.sql"),
                    include_str!("../sql/schema/schema_4_attempts.mysql.sql"),
                    include_str!("../sql/schema/schema_4_receipts.mysql.sql"),
                    include_str!("../sql/schema/schema_4_preferences.mysql.sql"),
                    include_str!("../sql/schema/schema_4_templates.mysql.sql"),
                    include_str!("../sql/schema/schema_4_directory.mysql.sql"),
                    include_str!("../sql/schema/schema_4_digests.mysql.sql"),
                    include_str!("../sql/schema/schema_4_pauses.mysql.sql"),
                    include_str!("../sql/schema/schema_4_audit.mysql.sql"),
                    include_str!("../sql/schema/schema_4_erasures.mysql.sql"),
                    include_str!("../sql/schema/schema_4_resharding.mysql.sql")
                ),
            ),
        ],
        Dialect::Sqlite => &[
            (1, include_str!("../sql/schema/schema_1.sqlite.sql")),
            (
                2,
                concat!(
                    include_str!("../sql/schema/schema_2.sqlite.sql"),
                    include_str!("../sql/schema/schema_2_lock.sqlite.sql")
                ),
            ),
            (3, include_str!("../sql/schema/schema_3.sqlite.sql")),
            (
                4,
                concat!(
                    include_str!("../sql/schema/schema_4_core.sqlite.sql"),
                    include_str!("../sql/schema/schema_4_in_app.sqlite.sql"),
                    include_str!("../sql/schema/schema_4_serve.sqlite.sql"),
                    include_str!("../sql/schema/schema_4_attempts.sqlite.sql"),
                    include_str!("../sql/schema/schema_4_receipts.sqlite.sql"),
                    include_str!("../sql/schema/schema_4_preferences.sqlite.sql"),
                    include_str!("../sql/schema/schema_4_templates.sqlite.sql"),
                    include_str!("../sql/schema/schema_4_directory.sqlite.sql"),
                    include_str!("../sql/schema/schema_4_digests.sqlite.sql"),
                    include_str!("../sql/schema/schema_4_pauses.sqlite.sql"),
                    include_str!("../sql/schema/schema_4_audit.sqlite.sql"),
                    include_str!("../sql/schema/schema_4_erasures.sqlite.sql"),
                    include_str!("../sql/schema/schema_4_resharding.sqlite.sql")
                ),
            ),
        ],
    }
}

impl crate::SeaOrmOutbox {
    /// The whole schema as one script, ready to be pasted into another tool; it may run again.
    pub fn printable_schema(dialect: Dialect, shards: ShardCount) -> String {
        let (now, ignore) = match dialect {
            Dialect::MySql => (
                "UTC_TIMESTAMP(6)",
                ["ON DUPLICATE KEY UPDATE shard = shard", "ON DUPLICATE KEY UPDATE version = version"],
            ),
            Dialect::Sqlite => {
                let now = "CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)";
                (now, ["ON CONFLICT DO NOTHING"; 2])
            }
        };
        let [shard_known, version_known] = ignore;
        let numbers: Vec<String> = shards.shards().map(|shard| format!("({})", shard.number())).collect();
        let numbers = numbers.join(", ");
        let tables: String = schema(dialect).iter().map(|(_, file)| repeatable(file)).collect();
        let versions = schema(dialect).iter().map(|(version, _)| format!("({version}, {now})"));
        let versions = versions.collect::<Vec<_>>().join(", ");
        format!(
            "{tables}\nINSERT INTO claimstream_shard (shard) VALUES {numbers}\n{shard_known};\n\
             INSERT INTO claimstream_schema (version, applied_at) VALUES {versions}\n{version_known};\n"
        )
    }
}

/// A script whose indexes are made only if they are missing. MySQL has no word for that, so its own tables are asked.
fn repeatable(script: &str) -> String {
    script.split_inclusive('\n').map(|line| unless_there(line).unwrap_or_else(|| line.to_owned())).collect()
}

/// The statements for a line that makes an index on MySQL or MariaDB.
fn unless_there(line: &str) -> Option<String> {
    let (index, on) =
        line.strip_prefix("CREATE INDEX ")?.split_once(" ON ").filter(|(index, _)| !index.contains(' '))?;
    let table = on.split_whitespace().next()?;
    let make = line.trim_end().trim_end_matches(';');
    Some(format!(
        "SET @make = IF(EXISTS (SELECT 1 FROM information_schema.statistics WHERE table_schema = DATABASE()\n\
         \x20\x20   AND table_name = '{table}' AND index_name = '{index}'), 'DO 0',\n\
         \x20 '{make}');\n\
         PREPARE make FROM @make;\nEXECUTE make;\nDEALLOCATE PREPARE make;\n"
    ))
}

/// How often making or reading the schema is tried while other processes do the same.
const TRIES: usize = 10;

/// Makes or checks the tables and answers into how many shards queues are cut.
///
/// Every statement may be repeated: an instance that comes between has made what this one would have made.
pub(crate) async fn prepare(
    db: &DatabaseConnection,
    sql: &Statements,
    dialect: Dialect,
    clock: &ServerClock,
    create: bool,
    shards: ShardCount,
) -> Result<ShardCount, StoreError> {
    let mut tries = 1;
    loop {
        match prepare_once(db, sql, dialect, clock, create, shards).await {
            Err(between) if between.kind() == StoreErrorKind::Transient && tries < TRIES => tries += 1,
            prepared => return prepared,
        }
    }
}

async fn prepare_once(
    db: &DatabaseConnection,
    sql: &Statements,
    dialect: Dialect,
    clock: &ServerClock,
    create: bool,
    shards: ShardCount,
) -> Result<ShardCount, StoreError> {
    let applied = applied(db, sql).await?;
    if applied < VERSION {
        if !create {
            return Err(missing());
        }
        apply(db, sql, dialect, clock, shards, applied).await?;
    }
    count(db, sql).await
}

/// The newest version that has been applied; 0 if there are no tables.
pub(crate) async fn applied(db: &DatabaseConnection, sql: &Statements) -> Result<i64, StoreError> {
    match rows(db, "schema", sql.schema.version.bind(&Args::new())).await {
        Ok(found) => found.first().map_or(Ok(0), |row| row.int("version")),
        Err(error) if is_missing_table(&error) => Ok(0),
        Err(error) => Err(error),
    }
}

/// Applies the scripts that are newer than `applied`. The older ones are left alone: every enqueue shares a lock on the row of the
/// first version, and writing that row would wait for all callers' transactions, and they for it.
async fn apply(
    db: &DatabaseConnection,
    sql: &Statements,
    dialect: Dialect,
    clock: &ServerClock,
    shards: ShardCount,
    applied: i64,
) -> Result<(), StoreError> {
    for (version, statements) in pending(dialect, applied) {
        for statement in &statements {
            match db.execute_unprepared(statement).await.map_err(|e| classify("schema", e)) {
                Err(error) if !is_known_index(&error) => return Err(error),
                Err(_) | Ok(_) => {}
            }
        }
        // The first instance decides the number of shards: one insert of all of them, which fails for everybody else.
        if rows(db, "schema", sql.schema.shard_list.bind(&Args::new())).await?.is_empty() {
            insert_shards(db, sql, &numbers(shards)).await?;
        }
        let applied = Args::at(dialect, clock).with("version", version);
        run(db, "schema", sql.schema.applied.bind(&applied)).await?;
        tracing::info!(version, "schema applied");
    }
    Ok(())
}

/// What is sent for each version that is newer than `applied`, statement by statement.
pub(super) fn pending(dialect: Dialect, applied: i64) -> impl Iterator<Item = (i64, Vec<String>)> {
    let newer = schema(dialect).iter().filter(move |(version, _)| *version > applied);
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

async fn insert_shards(
    db: &DatabaseConnection,
    sql: &Statements,
    numbers: &[Args],
) -> Result<(), StoreError> {
    match run(db, "schema", sql.schema.shard_insert.bind_rows(&Args::new(), numbers)).await {
        Err(decided) if decided.kind() == StoreErrorKind::Conflict => Ok(()),
        done => done.map(|_| ()),
    }
}

fn missing() -> StoreError {
    StoreError::new(
        StoreErrorKind::Misconfigured,
        "open",
        format!(
            "the tables are missing or older than version {VERSION}; run `claimstream schema apply`; a service \
             that opens with create_schema = true makes them itself"
        ),
    )
}
