use claimstream_ports::StoreError;
use sea_orm::ConnectionTrait;

use super::{Database, args::Args, classify::corrupt, dialect::Dialect, unit::rows};

/// The time of the database.
impl Database {
    /// The store's time, as far as it is known without asking.
    pub(crate) fn known_now(&self) -> Option<i64> {
        match self.dialect {
            Dialect::Sqlite => Some(self.clock.local()),
            Dialect::MySql => self.clock.estimate(),
        }
    }

    /// The store's time: SQLite's is the machine's, a server is asked unless a fresh reading is at hand.
    pub(crate) async fn now(
        &self,
        on: &impl ConnectionTrait,
        operation: &'static str,
    ) -> Result<i64, StoreError> {
        if let Some(known) = self.known_now() {
            return Ok(known);
        }
        let asked = self.timer().now();
        let found = rows(on, operation, self.sql.session.now.bind(&Args::new())).await?;
        let now = found
            .first()
            .ok_or_else(|| corrupt(operation, "the server did not return the time"))?
            .int("now")?;
        self.clock.note(now, asked);
        Ok(now)
    }
}
