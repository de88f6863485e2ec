use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use claimstream_domain::{FindingGroup, Severity};
use claimstream_ports::{SelfCheck, StoreError};

use super::{gone_tables::gone_tables, schema::newest};
use crate::{
    database::{
        capability::{Capability, applied},
        sql::Sql,
        statements::Statements,
    },
    doctor::{
        examination::{Examination, SchemaVersions, Version},
        finding::{Finding, either, failure, good},
    },
    outbox::{handle::SeaOrmOutbox, state::OutboxState},
    queues::observe::Observed,
    resharding::shards::status,
};
#[cfg(feature = "steps")]
use crate::{doctor::finding::or_uncounted, steps::examine::examine_steps};

const DOCTOR: &str = "doctor";
/// How old a count may be that a check uses: a board counts very large queues every five minutes, and a count takes a while.
const COUNTED: Duration = Duration::from_secs(330);

impl SeaOrmOutbox {
    /// The start-up self-check: everything about the database that could lose, double or hold up messages. It walks over whole tables
    /// once, which takes about a minute with a million messages; [`SelfCheck::check`] leaves that out.
    pub async fn doctor(&self) -> Result<Vec<Finding>, StoreError> {
        self.detached(DOCTOR, move |state| async move {
            let tables = examine_tables(&state).await?;
            if tables.severity == Severity::Failure {
                return Ok(vec![tables]);
            }
            let examination = examination(&state, None).await?;
            let mut findings = examination.run().await;
            findings.extend(examine_others(&state, &examination).await);
            findings.extend([tables, examination.walk().await]);
            Ok(findings)
        })
        .await
    }
}

/// For people who look again and again: nothing walks over whole tables, and queues that this process has counted a moment ago are not counted
/// once more.
#[async_trait]
impl SelfCheck for SeaOrmOutbox {
    async fn check(&self) -> Result<Vec<FindingGroup>, StoreError> {
        let state = Arc::clone(&self.state);
        let counted = state.counted.within(COUNTED);
        let work = async move {
            let tables = examine_tables(&state).await?;
            if tables.severity == Severity::Failure {
                return Ok(vec![tables]);
            }
            let examination = examination(&state, counted).await?;
            let mut findings = examination.run().await;
            findings.extend(examine_others(&state, &examination).await);
            findings.push(tables);
            Ok(findings)
        };
        let findings = self.state.db.detached(DOCTOR, work).await?;
        Ok(vec![FindingGroup { about: "outbox", findings }])
    }
}

/// The tables of the applied versions, all of them; without one, most other questions fail.
async fn examine_tables(state: &OutboxState) -> Result<Finding, StoreError> {
    let (db, sql) = (state.db.relay(), state.db.sql);
    // Whatever is open has been applied, also where the table of versions is gone.
    let mut applied = applied(db, sql).await?;
    applied.entry(Capability::Outbox).or_insert(1);
    let gone = gone_tables(db, sql, state.db.dialect, &applied).await?;
    Ok(either(
        gone.is_empty(),
        good("tables", "all tables are there"),
        failure("tables", format!("gone: {}; restore them from a backup", gone.join(", "))),
    ))
}

/// An examination that counts the queues, unless they were counted before.
async fn examination(
    state: &OutboxState,
    counted: Option<Arc<Observed>>,
) -> Result<Examination<'_>, StoreError> {
    let applied = applied(state.db.relay(), state.db.sql).await?;
    let version = |(one, applied)| (one, Version { applied, known: newest(one) });
    let schema = SchemaVersions(applied.into_iter().map(version).collect());
    let (shards, _) = status(state.db.relay(), state.db.sql).await?;
    Ok(Examination {
        db: &state.db,
        shards,
        counted,
        strategy: state.strategy,
        claim: state.claims.due_statement(),
        rights: schema.0.keys().map(|one| (rights(state.db.sql, *one), state.needed.contains(one))).collect(),
        schema,
    })
}

fn rights(sql: &Statements, capability: Capability) -> &Sql {
    match capability {
        Capability::Outbox => &sql.doctor.rights,
        Capability::ShardLease => &sql.shard_lease.rights,
        #[cfg(feature = "steps")]
        Capability::Steps => &sql.steps.rights,
        #[cfg(feature = "notifications")]
        Capability::Notifications => &sql.notifications.rights,
    }
}

/// What other capabilities than the outbox look at, as far as their tables are there.
async fn examine_others(state: &OutboxState, examination: &Examination<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    #[cfg(feature = "steps")]
    if examination.schema.has(Capability::Steps) {
        findings.push(or_uncounted("steps", examine_steps(&state.db, state.step_retention).await));
    }
    findings
}
