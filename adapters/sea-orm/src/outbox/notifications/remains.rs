use std::time::Duration;

use claimstream_ports::{StoreError, StoreErrorKind};

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
    outbox::{handle::SeaOrmOutbox, state::OutboxState},
};

const DOCTOR: &str = "doctor";

impl SeaOrmOutbox {
    /// What an asynchronous failover has left that spans several transactions, of what has not changed for `quiet`, which is longer
    /// than anything that is under way takes; changes nothing and walks over whole tables.
    pub async fn failover_remains(&self, quiet: Duration) -> Result<FailoverRemains, StoreError> {
        self.detached(DOCTOR, move |state| async move {
            match are_there(&state).await? {
                true => remains(&state).find(quiet).await,
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
        self.detached(DOCTOR, move |state| async move { remains(&state).repair(&found).await }).await
    }

    /// Whether the outbox has notification requests, so that settings of notifications matter.
    pub async fn has_notification_requests(&self) -> Result<bool, StoreError> {
        self.detached(DOCTOR, move |state| async move {
            if !are_there(&state).await? {
                return Ok(false);
            }
            let db = &state.db;
            let found = rows(db.relay(), DOCTOR, db.sql.notifications.are_used.bind(&Args::new())).await;
            let found = match found {
                // The user may lack the rights on what this process does not use.
                Err(error)
                    if error.kind() == StoreErrorKind::Misconfigured
                        && !state.needed.contains(&Capability::Notifications) =>
                {
                    return Ok(false);
                }
                found => found?,
            };
            found.first().map_or(Ok(false), |row| Requests::read(row).map(|requests| requests.used))
        })
        .await
    }
}

/// Whether the tables of notifications are there.
async fn are_there(state: &OutboxState) -> Result<bool, StoreError> {
    Ok(applied(state.db.relay(), state.db.sql).await?.contains_key(&Capability::Notifications))
}

fn remains(state: &OutboxState) -> Remains<'_> {
    let Repositories { requests, records, .. } = &state.notifications;
    Remains { db: &state.db, enqueueing: &state.enqueueing, requests, records }
}

row! {
    struct Requests of "notifications/are_used" { used: bool }
}
