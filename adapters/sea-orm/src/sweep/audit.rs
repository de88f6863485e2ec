use std::{sync::Arc, time::Duration};

use claimstream_ports::StoreError;

use crate::{
    database::{clock::micros, unit::run},
    sweep::{round::Round, sweeper::Sweeper, swept::SWEEP},
};

/// What operators did is kept for a year.
const KEEP_AUDIT: Duration = Duration::from_secs(365 * 24 * 3600);

impl Round {
    /// Entries of the audit log, the oldest first.
    pub(super) async fn audit(&mut self) -> Result<(), StoreError> {
        let chunk = |sweeper: Arc<Sweeper>, most| async move { sweeper.sweep_audit(most).await };
        while self.chunk(chunk).await? > 0 {}
        Ok(())
    }
}

impl Sweeper {
    /// Forgets some of the oldest entries that are older than a year, and says how many.
    async fn sweep_audit(&self, most: u32) -> Result<u64, StoreError> {
        let args = self.db.args().with("age", micros(KEEP_AUDIT)).with("limit", i64::from(most));
        let forget = || run(self.db.relay(), SWEEP, self.db.sql.audit.forget_older.bind(&args));
        self.db.restarting(forget).await
    }
}
