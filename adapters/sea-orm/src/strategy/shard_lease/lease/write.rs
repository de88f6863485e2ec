use claimstream_domain::MessageId;
use claimstream_ports::StoreError;

use crate::{
    database::{
        args::Args,
        classify::{is_locked_by_another, may_have_committed},
        dialect::Dialect,
        held::Held,
        sql::Sql,
        unit::{rows, run},
    },
    messages::by_id::Ids,
    strategy::shard_lease::{
        lease::{args::LEASE, charge::charge, written::Written},
        leases::ShardLease,
        shard_key::ShardKey,
        shard_state::ShardState,
    },
};

/// The fence that a write of a lease row leaves there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NextFence {
    /// The lease goes on under its fence.
    Same,
    /// A new lease begins, under the next fence.
    Raised,
}

impl ShardLease {
    /// Writes the lease row as `state` now stands, before anything of it is handed out, and counts an attempt for the messages
    /// whose claim has `expired` in our own hands; false if the lease is not ours.
    pub(crate) async fn write_state(
        &self,
        on: &Held<'_>,
        state: &mut ShardState,
        next: NextFence,
        key: &ShardKey,
        expired: &[(i64, MessageId)],
    ) -> Result<bool, StoreError> {
        let new_fence = state.fence + i64::from(next == NextFence::Raised);
        let args = self.state_args(state, &Ids::default(), key, new_fence, None);
        let was_locked = self.was_locked_lately(key);
        let write = || self.write_and_charge(on, key, &args, expired);
        let written = self.written_whole(on, write).await;
        state.written = Some(self.db.clock.elapsed());
        let ours = match written {
            // Another instance is taking the free shard at this moment.
            Err(locked) if next == NextFence::Raised && was_locked && is_locked_by_another(&locked) => false,
            Err(error) => return Err(error),
            Ok(Written::Yes) => true,
            Ok(Written::No) => false,
            Ok(Written::Unknown(lost)) => self.has_token(&args, lost).await?,
        };
        if ours {
            state.fence = new_fence;
        }
        Ok(ours)
    }

    /// Repeats a write that met a deadlock, and rolls back the open transaction of one that went wrong, so that no other session
    /// waits for it.
    ///
    /// A write that met a locked row is not repeated here: the session that has locked it may stand still. The caller may come
    /// again, and waits without a connection meanwhile.
    pub(crate) async fn written_whole<F: Future<Output = Result<Written, StoreError>>>(
        &self,
        on: &Held<'_>,
        write: impl Fn() -> F,
    ) -> Result<Written, StoreError> {
        let once = || async {
            let written = write().await;
            if written.is_err() {
                on.undo().await;
            }
            match written {
                Err(locked) if is_locked_by_another(&locked) => Ok(Err(locked)),
                written => written.map(Ok),
            }
        };
        self.db.restarting(once).await?
    }

    /// Writes a lease row by a statement, and answers how many rows that were: none if the lease is not ours. It fails at once
    /// where the last call that waited for the row did so without success, and no call has found it free since.
    pub(crate) async fn write_lease(
        &self,
        on: &Held<'_>,
        key: &ShardKey,
        sql: &Sql,
        args: &Args,
    ) -> Result<u64, StoreError> {
        let write = async {
            if self.was_locked_lately(key) {
                rows(on, LEASE, self.db.sql.shard_lease.lock.bind(args)).await?;
                self.owned.found_free(key);
            }
            run(on, LEASE, sql.bind(args)).await
        };
        let written = write.await;
        if written.as_ref().is_err_and(is_locked_by_another) {
            self.owned.found_locked(key, self.db.clock.elapsed());
        }
        written
    }

    pub(crate) fn was_locked_lately(&self, key: &ShardKey) -> bool {
        self.db.dialect == Dialect::MySql && self.owned.was_locked_lately(key, self.db.clock.elapsed())
    }

    async fn write_and_charge(
        &self,
        on: &Held<'_>,
        key: &ShardKey,
        args: &Args,
        expired: &[(i64, MessageId)],
    ) -> Result<Written, StoreError> {
        let write = || self.write_lease(on, key, &self.db.sql.shard_lease.write, args);
        if expired.is_empty() && !self.was_locked_lately(key) {
            return match write().await {
                Ok(0) => Ok(Written::No),
                Ok(_) => Ok(Written::Yes),
                Err(lost) if may_have_committed(&lost) => Ok(Written::Unknown(lost)),
                Err(error) => Err(error),
            };
        }
        self.db.begin_held(LEASE, on).await?;
        if write().await? == 0 {
            self.db.roll_back_held(LEASE, on).await?;
            return Ok(Written::No);
        }
        charge(on, &self.db.sql.shard_lease.count, args, expired).await?;
        Written::by_commit(self.db.commit_held(LEASE, on).await)
    }
}
