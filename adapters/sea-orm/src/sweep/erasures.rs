use std::sync::Arc;

use claimstream_ports::StoreError;

use crate::{
    database::unit::run,
    sweep::{round::Round, sweeper::Sweeper, swept::SWEEP},
};

impl Round {
    /// Erasures before the bound that no request is left from before, the oldest first.
    pub(super) async fn erasures(&mut self, bound: i64) -> Result<(), StoreError> {
        let chunk =
            move |sweeper: Arc<Sweeper>, most| async move { sweeper.sweep_erasures(bound, most).await };
        while self.chunk(chunk).await? > 0 {}
        Ok(())
    }
}

impl Sweeper {
    /// Forgets some of the oldest erasures, and says how many.
    async fn sweep_erasures(&self, bound: i64, most: u32) -> Result<u64, StoreError> {
        let args = self.db.args().with("bound", bound).with("limit", i64::from(most));
        let forget = || run(self.db.relay(), SWEEP, self.db.sql.erasures.forget_older.bind(&args));
        self.db.restarting(forget).await
    }
}
