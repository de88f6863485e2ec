use std::sync::Arc;

use async_trait::async_trait;
use claimstream_domain::FindingGroup;
use claimstream_ports::{SelfCheck, StoreError};

use super::schema;
use crate::{
    database::{args::Args, typed_row::row, unit::rows},
    doctor::{
        examination::{Examination, SchemaVersions},
        finding::Finding,
    },
    outbox::handle::SeaOrmOutbox,
};

const DOCTOR: &str = "doctor";

impl SeaOrmOutbox {
    /// The start-up self-check: everything about the database that could lose, double or hold up messages.
    pub async fn doctor(&self) -> Result<Vec<Finding>, StoreError> {
        let rooms = Arc::clone(&self.rooms);
        let work = async move {
            let applied = schema::applied(rooms.db.relay(), rooms.db.sql).await?;
            let examination = Examination {
                db: &rooms.db,
                shards: rooms.enqueueing.shards,
                strategy: rooms.strategy,
                claim: rooms.claims.statement(),
                step_retention: rooms.sweeper.step_retention,
                schema: SchemaVersions { known: schema::VERSION, applied },
            };
            examination.run().await
        };
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

#[async_trait]
impl SelfCheck for SeaOrmOutbox {
    async fn check(&self) -> Result<Vec<FindingGroup>, StoreError> {
        Ok(vec![FindingGroup { about: "outbox", findings: self.doctor().await? }])
    }
}

row! {
    struct Requests of "doctor/notifications" { used: bool }
}
