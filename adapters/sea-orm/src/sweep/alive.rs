use claimstream_ports::StoreError;
use sea_orm::ConnectionTrait;

use crate::{
    database::{
        transaction::Transaction,
        unit::{Row, rows},
    },
    sweep::{sweeper::Sweeper, swept::SWEEP},
};

/// When the oldest message that is live or may be revived came into being, and the oldest but for ticks of timers that may be revived.
#[derive(Clone, Copy)]
pub(crate) struct Alive {
    pub(crate) any: Option<i64>,
    pub(crate) but_ticks: Option<i64>,
}

impl Sweeper {
    /// When the oldest messages that are live or may be revived came into being.
    pub(crate) async fn oldest_alive(&self) -> Result<Alive, StoreError> {
        self.db
            .restarting(|| async {
                let snapshot = self.snapshot().await?;
                let oldest = self.oldest_in(&snapshot).await;
                self.db.roll_back(SWEEP, Transaction::of_pool(snapshot)).await?;
                oldest
            })
            .await
    }

    async fn oldest_in(&self, snapshot: &impl ConnectionTrait) -> Result<Alive, StoreError> {
        let dead = rows(snapshot, SWEEP, self.db.sql.alive.dead.bind(&self.db.args())).await?;
        let of = |column| dead.first().map(|row| row.maybe_int(column)).transpose().map(Option::flatten);
        let mut oldest = Alive { any: of("created_at")?, but_ticks: of("but_ticks")? };
        let mut look = |row: &Row| {
            let first_at = row.maybe_int("first_at")?;
            for oldest in [&mut oldest.any, &mut oldest.but_ticks] {
                *oldest = [*oldest, first_at].into_iter().flatten().min();
            }
            Ok(())
        };
        self.each_live(snapshot, &self.db.sql.alive.live, &mut look).await?;
        let unreadable = rows(snapshot, SWEEP, self.db.sql.alive.unreadable.bind(&self.db.args())).await?;
        unreadable.iter().try_for_each(&mut look)?;
        Ok(oldest)
    }
}
