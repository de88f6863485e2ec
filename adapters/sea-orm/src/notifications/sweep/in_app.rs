use std::{sync::Arc, time::Duration};

use claimstream_ports::StoreError;

use crate::{
    database::{clock::micros, unit::run},
    sweep::{round::Round, sweeper::Sweeper, swept::SWEEP},
};

impl Round {
    /// Entries of inboxes inside the application, read or not, the oldest first.
    pub(super) async fn in_app(&mut self, kept: Option<Duration>) -> Result<u64, StoreError> {
        let Some(age) = kept else { return Ok(0) };
        let chunk = move |sweeper: Arc<Sweeper>, most| async move { sweeper.sweep_in_app(age, most).await };
        let mut swept = 0;
        loop {
            match self.chunk(chunk).await? {
                0 => return Ok(swept),
                some => swept += some,
            }
        }
    }
}

impl Sweeper {
    /// Forgets some of the oldest entries that are older than this, and says how many.
    async fn sweep_in_app(&self, age: Duration, most: u32) -> Result<u64, StoreError> {
        let args = self.db.args().with("age", micros(age)).with("limit", i64::from(most));
        let forget = || run(self.db.relay(), SWEEP, self.db.sql.in_app.forget_older.bind(&args));
        self.db.restarting(forget).await
    }
}
