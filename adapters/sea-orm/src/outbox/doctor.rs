use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use claimstream_domain::{FindingGroup, Severity};
use claimstream_ports::{SelfCheck, StoreError};

use super::{gone_tables::gone_tables, schema};
use crate::{
    database::{args::Args, typed_row::row, unit::rows},
    doctor::{
        examination::{Examination, SchemaVersions},
        finding::{Finding, either, failure, good},
    },
    notifications::{
        failover_remains::{FailoverRemains, FailoverRepair},
        remains::Remains,
    },
    outbox::{
        handle::SeaOrmOutbox,
        rooms::{Notifications, Rooms},
    },
    queues::observe::Observed,
    resharding::shards::status,
};

const DOCTOR: &str = "doctor";
/// How old a count may be that a check uses: a board counts very large queues every five minutes, and a count takes a while.
const COUNTED: Duration = Duration::from_secs(330);

impl SeaOrmOutbox {
    /// The start-up self-check: everything about the database that could lose, double or hold up messages. It walks over whole tables
    /// once, which takes about a minute with a million messages; [`SelfCheck::check`] leaves that out.
    pub async fn doctor(&self) -> Result<Vec<Finding>, StoreError> {
        let rooms = Arc::clone(&self.rooms);
        let work = async move {
            let tables = examine_tables(&rooms).await?;
            if tables.severity == Severity::Failure {
                return Ok(vec![tables]);
            }
            let examination = examination(&rooms, None).await?;
            let mut findings = examination.run().await;
            findings.extend([tables, examination.walk().await]);
            Ok(findings)
        };
        self.rooms.db.detached(DOCTOR, work).await
    }

    /// What an asynchronous failover has left that spans several transactions, of what has not changed for `quiet`, which is longer
    /// than anything that is under way takes; changes nothing and walks over whole tables.
    pub async fn failover_remains(&self, quiet: Duration) -> Result<FailoverRemains, StoreError> {
        let rooms = Arc::clone(&self.rooms);
        let work = async move { remains(&rooms).find(quiet).await };
        self.rooms.db.detached(DOCTOR, work).await
    }

    /// Has that worked on again, and answers how many messages were queued and which requests are left all the same. It may be repeated,
    /// and relays may run meanwhile. After an error a part may be done; a look finds the rest.
    pub async fn repair_failover_remains(
        &self,
        found: &FailoverRemains,
    ) -> Result<FailoverRepair, StoreError> {
        let (rooms, found) = (Arc::clone(&self.rooms), found.clone());
        let work = async move { remains(&rooms).repair(&found).await };
        self.rooms.db.detached(DOCTOR, work).await
    }

    /// Whether the outbox has notification requests, so that settings of notifications matter.
    pub async fn has_notification_requests(&self) -> Result<bool, StoreError> {
        let db = Arc::clone(&self.rooms.db);
        let work = async move {
            let found = rows(db.relay(), DOCTOR, db.sql.doctor.notifications.bind(&Args::new())).await?;
            found.first().map_or(Ok(false), |row| Requests::read(row).map(|requests| requests.used))
        };
        self.rooms.db.detached(DOCTOR, work).await
    }
}

fn remains(rooms: &Rooms) -> Remains<'_> {
    let Notifications { requests, records, .. } = &rooms.notifications;
    Remains { db: &rooms.db, enqueueing: &rooms.enqueueing, requests, records }
}

/// For people who look again and again: nothing walks over whole tables, and queues that this process has counted a moment ago are not counted
/// once more.
#[async_trait]
impl SelfCheck for SeaOrmOutbox {
    async fn check(&self) -> Result<Vec<FindingGroup>, StoreError> {
        let rooms = Arc::clone(&self.rooms);
        let counted = rooms.counted.within(COUNTED);
        let work = async move {
            let tables = examine_tables(&rooms).await?;
            if tables.severity == Severity::Failure {
                return Ok(vec![tables]);
            }
            let mut findings = examination(&rooms, counted).await?.run().await;
            findings.push(tables);
            Ok(findings)
        };
        let findings = self.rooms.db.detached(DOCTOR, work).await?;
        Ok(vec![FindingGroup { about: "outbox", findings }])
    }
}

/// The tables of the applied versions, all of them; without one, most other questions fail.
async fn examine_tables(rooms: &Rooms) -> Result<Finding, StoreError> {
    let (db, sql) = (rooms.db.relay(), rooms.db.sql);
    // Whatever is open has been applied, also where the table of versions is gone.
    let applied = schema::applied(db, sql).await?.max(1);
    let gone = gone_tables(db, sql, rooms.db.dialect, applied).await?;
    Ok(either(
        gone.is_empty(),
        good("tables", "all tables are there"),
        failure("tables", format!("gone: {}; restore them from a backup", gone.join(", "))),
    ))
}

/// An examination that counts the queues, unless they were counted before.
async fn examination(rooms: &Rooms, counted: Option<Arc<Observed>>) -> Result<Examination<'_>, StoreError> {
    let applied = schema::applied(rooms.db.relay(), rooms.db.sql).await?;
    let (shards, _) = status(rooms.db.relay(), rooms.db.sql).await?;
    Ok(Examination {
        db: &rooms.db,
        shards,
        counted,
        strategy: rooms.strategy,
        claim: rooms.claims.statement(),
        step_retention: rooms.sweeper.step_retention,
        schema: SchemaVersions { known: schema::VERSION, applied },
    })
}

row! {
    struct Requests of "doctor/notifications" { used: bool }
}
