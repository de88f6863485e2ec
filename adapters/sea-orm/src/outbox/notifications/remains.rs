use std::time::Duration;

use claimstream_ports::StoreError;

use crate::{
    database::{
        args::Args,
        capability::{Capability, applied},
        typed_row::row,
        unit::rows,
    },
    notifications::{
        failover_remains::{FailoverRemains, FailoverRepair},
        remains::Remains,
        repositories::Repositories,
    },
    outbox::{handle::SeaOrmOutbox, rooms::Rooms},
};

const DOCTOR: &str = "doctor";

impl SeaOrmOutbox {
    /// What an asynchronous failover has left that spans several transactions, of what has not changed for `quiet`, which is longer
    /// than anything that is under way takes; changes nothing and walks over whole tables.
    pub async fn failover_remains(&self, quiet: Duration) -> Result<FailoverRemains, StoreError> {
        self.detached(DOCTOR, move |rooms| async move {
            match are_there(&rooms).await? {
                true => remains(&rooms).find(quiet).await,
                false => Ok(FailoverRemains::default()),
            }
        })
        .await
    }

    /// Has that worked on again, and answers how many messages were queued and which requests are left all the same. It may be repeated,
    /// and relays may run meanwhile. After an error a part may be done; a look finds the rest.
    pub async fn repair_failover_remains(
        &self,
        found: &FailoverRemains,
    ) -> Result<FailoverRepair, StoreError> {
        let found = found.clone();
        self.detached(DOCTOR, move |rooms| async move { remains(&rooms).repair(&found).await }).await
    }

    /// Whether the outbox has notification requests, so that settings of notifications matter.
    pub async fn has_notification_requests(&self) -> Result<bool, StoreError> {
        self.detached(DOCTOR, move |rooms| async move {
            if !are_there(&rooms).await? {
                return Ok(false);
            }
            let db = &rooms.db;
            let found = rows(db.relay(), DOCTOR, db.sql.notifications.are_used.bind(&Args::new())).await?;
            found.first().map_or(Ok(false), |row| Requests::read(row).map(|requests| requests.used))
        })
        .await
    }
}

/// Whether the tables of notifications are there.
async fn are_there(rooms: &Rooms) -> Result<bool, StoreError> {
    Ok(applied(rooms.db.relay(), rooms.db.sql).await?.contains_key(&Capability::Notifications))
}

fn remains(rooms: &Rooms) -> Remains<'_> {
    let Repositories { requests, records, .. } = &rooms.notifications;
    Remains { db: &rooms.db, enqueueing: &rooms.enqueueing, requests, records }
}

row! {
    struct Requests of "notifications/are_used" { used: bool }
}
