use std::{sync::Arc, time::Duration};

use claimstream_ports::StoreError;

use crate::{
    database::{capability::Capability, unit::run},
    sweep::{
        part::Part,
        round::{Round, before},
        sweeper::Sweeper,
        swept::SWEEP,
    },
};

/// A lock that was not held for that long is forgotten; its fence then goes on from the time.
const KEEP_LOCKS: Duration = Duration::from_secs(24 * 3600);

/// Locks that were not held for a day.
pub(crate) fn part() -> Part {
    Part::new("locks", Capability::Steps, |round, now| {
        Box::pin(async move { round.locks(before(now, KEEP_LOCKS)).await.map(|()| Vec::new()) })
    })
}

impl Round {
    async fn locks(&mut self, bound: i64) -> Result<(), StoreError> {
        let chunk = |sweeper: Arc<Sweeper>, most| async move { sweeper.sweep_locks(bound, most).await };
        while self.chunk(chunk).await? > 0 {}
        Ok(())
    }
}

impl Sweeper {
    /// Forgets some of the locks that were not held since the bound, and returns how many.
    async fn sweep_locks(&self, bound: i64, most: u32) -> Result<u64, StoreError> {
        let args = self.db.args().with("bound", bound).with("limit", i64::from(most));
        self.db.restarting(|| run(self.db.relay(), SWEEP, self.db.sql.locks.forget.bind(&args))).await
    }
}
