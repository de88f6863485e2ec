use std::{fmt, time::Instant};

use claimstream_ports::StoreError;

use crate::{
    database::typed_row::row,
    database::{
        args::Args,
        beside::rows_beside_the_pool,
        classify::classify,
        clock::micros,
        dialect::Dialect,
        probe::SkipLocked,
        server::{server_name, server_variables},
        unit::rows,
    },
    outbox::{handle::SeaOrmOutbox, schema},
    store::Store,
    strategy::choice::Strategy,
};

const DOCTOR: &str = "doctor";

/// One line of the self-check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// What was looked at.
    pub check: &'static str,
    /// What was found, and what to do where something should be done.
    pub detail: String,
}

/// How bad a finding is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Severity {
    /// As it should be.
    Good,
    /// It works, with less than one might think.
    Warning,
    /// Messages could be lost, doubled or stuck.
    Failure,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Good => "ok  ",
            Severity::Warning => "warn",
            Severity::Failure => "FAIL",
        };
        write!(f, "{severity}  {:<22} {}", self.check, self.detail)
    }
}

pub(crate) fn good(check: &'static str, detail: impl Into<String>) -> Finding {
    Finding { severity: Severity::Good, check, detail: detail.into() }
}

pub(crate) fn warning(check: &'static str, detail: impl Into<String>) -> Finding {
    Finding { severity: Severity::Warning, check, detail: detail.into() }
}

pub(crate) fn failure(check: &'static str, detail: impl Into<String>) -> Finding {
    Finding { severity: Severity::Failure, check, detail: detail.into() }
}

/// `good` if it holds, else `bad`.
/// What was found, or that it was not: a question that walks a large queue may take longer than a statement is given.
fn or_uncounted(check: &'static str, found: Result<Finding, StoreError>) -> Finding {
    found.unwrap_or_else(|error| warning(check, format!("not counted: {error}")))
}

fn either(holds: bool, good: Finding, bad: Finding) -> Finding {
    if holds { good } else { bad }
}

impl SeaOrmOutbox {
    /// The start-up self-check: everything about the database that could lose, double or hold up messages.
    pub async fn doctor(&self) -> Result<Vec<Finding>, StoreError> {
        let store = self.store.clone();
        let work = async move {
            let mut findings = match store.dialect {
                Dialect::MySql => store.examine_server().await?,
                Dialect::Sqlite => store.examine_file().await?,
            };
            findings.extend(store.examine_queues().await?);
            Ok(findings)
        };
        self.store.detached(DOCTOR, work).await
    }
}

impl Store {
    async fn examine_file(&self) -> Result<Vec<Finding>, StoreError> {
        Ok(vec![
            good("server", "SQLite, bundled"),
            good("schema", format!("version {}", schema::VERSION)),
            good("shards", self.shards.get().to_string()),
            or_uncounted("ids", self.examine_ids().await),
            or_uncounted("steps", self.examine_steps().await),
            good("strategy", self.strategy.name()),
            good("payload limit", format!("{} bytes", self.limits.payload.bytes())),
            warning(
                "processes",
                "writers of all processes take turns; use MySQL or MariaDB for more than one machine",
            ),
        ])
    }

    async fn examine_server(&self) -> Result<Vec<Finding>, StoreError> {
        let variables = server_variables(self.relay(), self.sql).await?;
        let read = |name: &str| variables.get(name).map_or("", String::as_str);
        let mut findings = vec![good("server", server_name(self.relay(), self.sql).await?)];
        findings.push(good("schema", format!("version {}, {} shards", schema::VERSION, self.shards.get())));
        findings.push(self.examine_rights().await);
        findings.extend(self.examine_tables().await?);
        findings.push(or_uncounted("ids", self.examine_ids().await));
        findings.push(or_uncounted("steps", self.examine_steps().await));
        findings.extend(self.examine_claim_plan().await?);
        findings.push(self.examine_skip_locked().await?);
        findings.push(self.examine_release().await?);
        findings.push(self.examine_connections(read("max_connections")));
        findings.extend(examine_session(read));
        findings.extend(examine_durability(read));
        findings.extend(examine_cluster(read));
        findings.push(self.examine_clock().await?);
        findings.push(good("payload limit", format!("{} bytes", self.limits.payload.bytes())));
        Ok(findings)
    }

    /// Tables on InnoDB, times with microseconds, keys compared byte by byte.
    async fn examine_tables(&self) -> Result<Vec<Finding>, StoreError> {
        let engines = rows(self.relay(), DOCTOR, self.sql.doctor.tables.bind(&Args::new())).await?;
        let mut wrong = Vec::new();
        for row in &engines {
            let Table { table_name: table, engine } = Table::read(row)?;
            if !engine.eq_ignore_ascii_case("innodb") {
                wrong.push(format!("{table} is {engine}"));
            }
        }
        let columns = rows(self.relay(), DOCTOR, self.sql.doctor.columns.bind(&Args::new())).await?;
        let mut imprecise = Vec::new();
        let mut collated = Vec::new();
        for row in &columns {
            let Column { table_name: table, column_name: column, column_type: kind } = Column::read(row)?;
            if table == "claimstream_outbox" {
                continue;
            }
            if kind.starts_with("datetime") && kind != "datetime(6)" || kind.starts_with("timestamp") {
                imprecise.push(format!("{table}.{column} is {kind}"));
            }
            if kind.starts_with("char") || kind.starts_with("varchar") || kind.contains("text") {
                collated.push(format!("{table}.{column} is {kind}"));
            }
        }
        Ok(vec![
            either(
                wrong.is_empty() && !engines.is_empty(),
                good("engine", "all tables are InnoDB"),
                failure("engine", format!("tables must be InnoDB: {}", wrong.join(", "))),
            ),
            either(
                imprecise.is_empty(),
                good("times", "all times are DATETIME(6)"),
                failure("times", format!("times must be DATETIME(6): {}", imprecise.join(", "))),
            ),
            either(
                collated.is_empty(),
                good("keys", "all keys are binary"),
                failure("keys", format!("a collation would merge different keys: {}", collated.join(", "))),
            ),
        ])
    }

    /// An id belongs to one message, live or dead, which has one entry and a body that keeps others away.
    async fn examine_ids(&self) -> Result<Finding, StoreError> {
        let counted = rows(self.relay(), DOCTOR, self.sql.doctor.ids.bind(&Args::new())).await?;
        let counted = counted.first().map(Ids::read).transpose()?;
        let Ids { bare, beside, twins } = counted.unwrap_or(Ids { bare: 0, beside: 0, twins: 0 });
        let mut wrong = Vec::new();
        if bare > 0 {
            wrong.push(format!("{bare} dead letters have lost their bodies, the next sweep restores them"));
        }
        if beside > 0 {
            wrong.push(format!(
                "{beside} dead letters have the ids of other messages, a revival gives them ids of their own"
            ));
        }
        if twins > 0 {
            wrong
                .push(format!("{twins} messages have two entries, the claim that meets them takes one away"));
        }
        Ok(either(
            wrong.is_empty(),
            good("ids", "each belongs to one message"),
            warning("ids", wrong.join("; ")),
        ))
    }

    /// Steps are forgotten when they are old and their runs have ended.
    async fn examine_steps(&self) -> Result<Finding, StoreError> {
        let args = self.args().with("kept", micros(self.upkeep.step_retention));
        let found = rows(self.relay(), DOCTOR, self.sql.doctor.steps.bind(&args)).await?;
        let mut open = Vec::new();
        for row in &found {
            let OpenRuns { scope, runs, days } = OpenRuns::read(row)?;
            open.push(format!("{runs} of {scope} (the oldest {days} days old)"));
        }
        let kept = self.upkeep.step_retention;
        Ok(either(
            open.is_empty(),
            good("steps", format!("no run is older than step_retention, {kept:?}, and still open")),
            warning(
                "steps",
                format!(
                    "older than step_retention, {kept:?}, and still open: {}; they are kept until they have ended, so look for \
                     what holds them up, such as a dead letter",
                    open.join(", ")
                ),
            ),
        ))
    }

    /// The claim reads its own index in order and sorts nothing.
    async fn examine_claim_plan(&self) -> Result<Vec<Finding>, StoreError> {
        let mut findings = Vec::new();
        for (name, sql) in self.claim_statements() {
            let args = self
                .args()
                .with("queue", "doctor")
                .with("shard", 0)
                .with("claim", crate::database::args::bytes(uuid::Uuid::nil()))
                .with("lease_end", 1_i64)
                .with("low", 0_i64)
                .with("holder", self.holder.clone())
                .with("inline", 0_i64)
                .with("limit", 100_i64);
            let mut statement = sql.bind(&args);
            statement.sql = format!("EXPLAIN FORMAT=TRADITIONAL {}", statement.sql);
            let plan = rows(self.relay(), DOCTOR, statement).await?;
            let plan = Plan::of(&plan)?;
            findings.push(either(
                plan.key == "PRIMARY" && !plan.extra.contains("filesort") || plan.reads_nothing(),
                good("claim plan", format!("{name}: key {}, {}", plan.key, plan.extra)),
                failure("claim plan", format!("{name} must use key PRIMARY without a sort: {plan:?}")),
            ));
        }
        Ok(findings)
    }

    fn claim_statements(&self) -> Vec<(&'static str, &crate::sql::Sql)> {
        match self.strategy {
            Strategy::PreemptiveUpdate => vec![("claim_take", &self.sql.claim.take)],
            Strategy::SkipLocked => vec![("claim_lock", &self.sql.claim.lock)],
            Strategy::ShardLease => vec![("lease_read", &self.sql.shard_lease.read)],
        }
    }

    async fn examine_skip_locked(&self) -> Result<Finding, StoreError> {
        let proof = SkipLocked::probe(self.relay(), self.sql).await?;
        let says = format!("strategy {}; {proof}", self.strategy);
        Ok(match proof {
            SkipLocked::Ignored(_) => warning("locking", says),
            _ => good("locking", says),
        })
    }

    /// A connection that comes back inside a transaction is rolled back: its locks are free and nobody inherits it.
    #[cfg(feature = "mysql")]
    async fn examine_release(&self) -> Result<Finding, StoreError> {
        use sea_orm::{DbErr, RuntimeErr};
        let failed = |e: sea_orm::sqlx::Error| classify(DOCTOR, DbErr::Conn(RuntimeErr::SqlxError(e.into())));
        let pool = self.callers().get_mysql_connection_pool();
        let mut leaking = match self.waiting(pool.acquire()).await {
            Ok(leaking) => leaking,
            Err(sea_orm::sqlx::Error::PoolTimedOut) => {
                return Ok(warning("release", "not looked at: callers have all their connections in use"));
            }
            Err(error) => return Err(failed(error)),
        };
        let on = crate::database::sqlx_connection::SqlxMySql::new(&mut leaking);
        sea_orm::ConnectionTrait::execute_unprepared(&on, "BEGIN").await.map_err(|e| classify(DOCTOR, e))?;
        rows(&on, DOCTOR, self.sql.probe.lock.bind(&Args::new())).await?;
        drop(leaking);
        // On a connection beside the pool, which cannot be the one that leaked, and which nobody has to wait for.
        Ok(match rows_beside_the_pool(self, DOCTOR, self.sql.probe.lock.bind(&Args::new())).await {
            Ok(_) => {
                good("release", "a transaction left open is rolled back when its connection is released")
            }
            Err(error) => {
                failure("release", format!("a transaction left open survived its release: {error}"))
            }
        })
    }

    #[cfg(not(feature = "mysql"))]
    async fn examine_release(&self) -> Result<Finding, StoreError> {
        Ok(good("release", "not looked at"))
    }

    /// Whether the server lets this process have all the connections that it may want.
    #[cfg(feature = "mysql")]
    pub(crate) fn examine_connections(&self, allowed: &str) -> Finding {
        let own = self.relay().get_mysql_connection_pool().options().get_max_connections();
        let (callers, allowed) = (self.callers.most, allowed.parse::<u32>().unwrap_or(u32::MAX));
        let says = format!("up to {callers} for callers and {own} for leases; the server takes {allowed}");
        match own + callers < allowed {
            true => good("connections", says),
            false => warning("connections", format!("{says}; lower max_connections, or raise the server's")),
        }
    }

    #[cfg(not(feature = "mysql"))]
    pub(crate) fn examine_connections(&self, _: &str) -> Finding {
        good("connections", "not looked at")
    }

    async fn examine_clock(&self) -> Result<Finding, StoreError> {
        self.clock.forget();
        let asked = Instant::now();
        let server = self.now(self.relay(), DOCTOR).await?;
        let (offset, trip) = (self.clock.local() - server, asked.elapsed());
        let detail = format!(
            "this machine is {:+.3} s off the server's clock (asked in {trip:?})",
            offset as f64 / 1e6
        );
        Ok(either(
            offset.unsigned_abs() < 5_000_000,
            good("clock", detail.clone()),
            warning("clock", format!("{detail}; leases are not affected, scheduled times are the server's")),
        ))
    }
}

fn examine_session<'a>(read: impl Fn(&str) -> &'a str) -> Vec<Finding> {
    let isolation = [read("transaction_isolation"), read("tx_isolation")].concat();
    let strict = read("sql_mode").contains("STRICT_TRANS_TABLES");
    vec![
        either(
            isolation.contains("READ-COMMITTED"),
            good("isolation", "READ COMMITTED on our connections"),
            failure("isolation", format!("must be READ COMMITTED on our connections, is {isolation}")),
        ),
        either(
            strict,
            good("sql_mode", "strict"),
            failure("sql_mode", format!("must be strict, is {}", read("sql_mode"))),
        ),
        either(
            read("time_zone") == "+00:00",
            good("time zone", "+00:00 on our connections"),
            warning(
                "time zone",
                format!("{} on our connections; all our times are UTC_TIMESTAMP", read("time_zone")),
            ),
        ),
    ]
}

fn examine_durability<'a>(read: impl Fn(&str) -> &'a str) -> Vec<Finding> {
    let statement_log = read("log_bin") == "ON" && read("binlog_format") == "STATEMENT";
    vec![
        either(
            read("innodb_flush_log_at_trx_commit") == "1",
            good("durability", "innodb_flush_log_at_trx_commit = 1"),
            warning(
                "durability",
                format!(
                    "innodb_flush_log_at_trx_commit = {}; a crash of the server may lose committed messages, set it to 1",
                    read("innodb_flush_log_at_trx_commit")
                ),
            ),
        ),
        either(
            !statement_log,
            good("binary log", format!("log_bin {}, format {}", read("log_bin"), read("binlog_format"))),
            failure("binary log", "binlog_format = STATEMENT replicates claims wrongly; set ROW or MIXED"),
        ),
        either(
            read("read_only") != "ON" && read("innodb_read_only") != "ON",
            good("writable", "read_only = OFF"),
            failure("writable", "the server is read-only; connect to the primary"),
        ),
    ]
}

fn examine_cluster<'a>(read: impl Fn(&str) -> &'a str) -> Vec<Finding> {
    let product = format!("{} {}", read("version"), read("version_comment")).to_lowercase();
    vec![
        either(
            read("wsrep_on") != "ON",
            good("cluster", "no Galera"),
            warning("cluster", "Galera: locks are local to a node; let all relays use the same node"),
        ),
        either(
            !product.contains("tidb") && !product.contains("vitess"),
            good("product", product.trim().to_owned()),
            warning("product", format!("{product} is not tested; use strategy preemptive_update")),
        ),
    ]
}

/// The lines of an EXPLAIN that decide.
#[derive(Debug)]
struct Plan {
    key: String,
    extra: String,
}

impl Plan {
    /// Reads the columns that all servers have.
    fn of(plan: &[crate::database::unit::Row]) -> Result<Self, StoreError> {
        let mut read = Self { key: String::new(), extra: String::new() };
        for row in plan {
            read.key = row.named_text("key")?.unwrap_or_default();
            read.extra = row.named_text("Extra")?.unwrap_or_default();
        }
        Ok(read)
    }

    /// The server has looked at the lease already: nobody holds the shard, and there is nothing to read.
    fn reads_nothing(&self) -> bool {
        self.key.is_empty() && self.extra.contains("const table")
    }
}

row! {
    struct Table of "doctor/tables" { table_name: String, engine: String }
}

row! {
    struct Column of "doctor/columns" { table_name: String, column_name: String, column_type: String }
}

row! {
    /// How many ids do not belong to one message.
    struct Ids of "doctor/ids" { bare: i64, beside: i64, twins: i64 }
}

row! {
    struct OpenRuns of "doctor/steps" { scope: String, runs: i64, days: i64 }
}
