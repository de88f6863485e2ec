use std::time::Duration;

use claimstream_ports::StoreError;

use super::{RESHARD, of_shard};
use crate::{
    database::{Database, store_timer::Stopwatch, unit::run},
    strategy::shard_lease::shard_key::ShardKey,
};

/// A shard from which relays begin no claim, for as long as this is renewed.
pub(super) struct Closed<'a> {
    db: &'a Database,
    key: &'a ShardKey,
    renewed: Stopwatch,
}

impl<'a> Closed<'a> {
    /// How long relays begin no claim unless that is renewed.
    const CLOSED_FOR: Duration = Duration::from_secs(10);
    const RENEWED_AFTER: Duration = Duration::from_secs(2);

    /// Closes a shard.
    pub(super) async fn close(db: &'a Database, key: &'a ShardKey) -> Result<Self, StoreError> {
        let mut closed = Self { db, key, renewed: db.timer().stopwatch() };
        closed.write().await?;
        Ok(closed)
    }

    /// Keeps it closed; to be called between any two statements that may be slow.
    pub(super) async fn renew(&mut self) -> Result<(), StoreError> {
        match self.renewed.elapsed() > Self::RENEWED_AFTER {
            true => self.write().await,
            false => Ok(()),
        }
    }

    async fn write(&mut self) -> Result<(), StoreError> {
        let args = of_shard(self.db, self.key).with("after", Self::CLOSED_FOR.as_micros() as i64);
        let close = &self.db.sql.resharding.close;
        self.renewed = self.db.timer().stopwatch(); // not after the answer: that may be late
        self.db.restarting(|| run(self.db.relay(), RESHARD, close.bind(&args))).await.map(|_| ())
    }

    /// Lets relays claim again.
    pub(super) async fn let_go(self) -> Result<(), StoreError> {
        let args = of_shard(self.db, self.key);
        let let_go = &self.db.sql.resharding.let_go;
        self.db.restarting(|| run(self.db.relay(), RESHARD, let_go.bind(&args))).await.map(|_| ())
    }
}
