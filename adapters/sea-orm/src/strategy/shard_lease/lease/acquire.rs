use claimstream_ports::{StoreError, StoreErrorKind};

use crate::{
    database::{
        classify::is_locked_by_another,
        held::Held,
        unit::{rows, run},
    },
    strategy::shard_lease::{
        in_flight_list,
        lease::{
            args::{LEASE, next_token},
            charge::charge,
        },
        leases::ShardLease,
        shard_key::ShardKey,
        shard_state::{LeaseStatus, ShardState},
    },
};

impl ShardLease {
    /// Makes sure that we know a fence under which the shard is ours or free, and takes over a lease that has expired; false
    /// if the shard is not to be had.
    pub(crate) async fn ensure_lease(
        &self,
        on: &Held<'_>,
        state: &mut ShardState,
        key: &ShardKey,
    ) -> Result<bool, StoreError> {
        match state.status {
            LeaseStatus::Usable | LeaseStatus::Unknown => {}
            LeaseStatus::Missing => self.make_lease(on, state, key).await?,
            LeaseStatus::Expired => self.take_over(on, state, key).await?,
        }
        Ok(state.status == LeaseStatus::Usable)
    }

    async fn make_lease(
        &self,
        on: &Held<'_>,
        state: &mut ShardState,
        key: &ShardKey,
    ) -> Result<(), StoreError> {
        let args = self.shard_args(key);
        state.lose();
        match run(on, LEASE, self.db.sql.shard_lease.insert.bind(&args)).await {
            Ok(_) => (state.status, state.fence) = (LeaseStatus::Usable, 0),
            // Another instance made it at this moment, and the next look shows which one has it.
            Err(error) if matches!(error.kind(), StoreErrorKind::Conflict | StoreErrorKind::Transient) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Ends another instance's lease that has expired: counts an attempt for the messages in flight, and begins the next fence. A
    /// row that is locked is left alone: its holder may stand still, and a later look comes back to it.
    async fn take_over(
        &self,
        on: &Held<'_>,
        state: &mut ShardState,
        key: &ShardKey,
    ) -> Result<(), StoreError> {
        state.lose();
        let fence = state.fence;
        let args = self.fence_args(key, fence).with("token", next_token());
        let ShardKey { queue, shard } = key;
        self.db.begin_held(LEASE, on).await?;
        let found = match rows(on, LEASE, self.db.sql.shard_lease.over.bind(&args)).await {
            Err(locked) if is_locked_by_another(&locked) => {
                tracing::debug!(%queue, shard = shard.number(), "an expired lease is locked by another session");
                return self.db.roll_back_held(LEASE, on).await;
            }
            found => found?,
        };
        let Some(row) = found.first() else {
            return self.db.roll_back_held(LEASE, on).await;
        };
        let in_flight = in_flight_list::decode(&row.maybe_bytes("flights")?.unwrap_or_default());
        charge(on, &self.db.sql.shard_lease.charge, &args, &in_flight).await?;
        run(on, LEASE, self.db.sql.shard_lease.end.bind(&args)).await?;
        self.db.commit_held(LEASE, on).await?;
        tracing::info!(%queue, shard = shard.number(), cut_off = in_flight.len(), "shard taken over");
        (state.status, state.fence) = (LeaseStatus::Usable, fence + 1);
        Ok(())
    }
}
