use std::sync::Arc;

use claimstream_domain::AuditEntry;
use claimstream_ports::{AuditLog, StoreError};

use crate::access::User;

/// Where the board notes what people do: in the store, if it has an audit log, and in the log of the process.
#[derive(Clone)]
pub(crate) struct Audit(Option<Arc<dyn AuditLog>>);

impl Audit {
    pub(crate) fn of(log: Option<Arc<dyn AuditLog>>) -> Self {
        Self(log)
    }

    /// Notes an action, which is refused if that fails.
    pub(crate) async fn note(&self, entry: &AuditEntry) -> Result<(), StoreError> {
        if let Some(log) = &self.0 {
            log.note_action(entry).await?;
        }
        Self::log(entry);
        Ok(())
    }

    /// Writes an entry into the log of the process alone.
    pub(crate) fn log(entry: &AuditEntry) {
        let (actor, action) = (entry.actor(), entry.action().word());
        let (on, count) = (entry.subject(), entry.count());
        tracing::info!(target: "claimstream_board::audit", actor, action, on, count, "board: an operator acted");
    }
}

/// Writes into the log of the process that a user signed in or out, which changes nothing and is not kept.
pub(crate) fn log_session(user: &User, action: &'static str) {
    tracing::info!(target: "claimstream_board::audit", actor = user.name, action, on = "board", "board: an operator acted");
}
