use std::time::Duration;

use claimstream_ports::{StoreError, StoreErrorKind};

use crate::{
    database::{classify::classify, deadline::in_time, held::Held, retries::Busy},
    strategy::shard_lease::{leases::ShardLease, shard_key::ShardKey, turn::Turn},
};

impl ShardLease {
    /// How long a call waits for a shard that it can do without for now, or that keeps it from others.
    pub(crate) const SOON: Duration = Duration::from_secs(1);

    /// Waits for the turn in all of the shards, no longer than `patience`, and then for a connection. A connection that `on`
    /// has already goes back before the call waits for anything. Every call names its shards in one order.
    pub(crate) async fn turn(
        &self,
        operation: &'static str,
        keys: &[ShardKey],
        on: &Held<'_>,
        patience: Duration,
    ) -> Result<Turn, StoreError> {
        let turn = self.wait_for_turn(keys, on, patience).await;
        let turn = turn.map_err(|busy| StoreError::new(StoreErrorKind::Transient, operation, busy))?;
        in_time(operation, on.connect(), classify).await?;
        Ok(turn)
    }

    /// The turn of a call that can skip the shard; none if other calls are at work there for longer than `patience`.
    pub(crate) async fn turn_soon(
        &self,
        operation: &'static str,
        key: &ShardKey,
        on: &Held<'_>,
        patience: Duration,
    ) -> Result<Option<Turn>, StoreError> {
        match self.wait_for_turn(std::slice::from_ref(key), on, patience).await {
            Err(busy) => {
                tracing::debug!(%busy, "shard skipped");
                Ok(None)
            }
            Ok(turn) => {
                in_time(operation, on.connect(), classify).await?;
                Ok(Some(turn))
            }
        }
    }

    async fn wait_for_turn(
        &self,
        keys: &[ShardKey],
        on: &Held<'_>,
        patience: Duration,
    ) -> Result<Turn, Busy> {
        match self.owned.turn_now(keys) {
            Some(turn) => Ok(turn),
            None => {
                on.rest();
                self.owned.turn(keys, patience).await
            }
        }
    }
}
