use std::{
    collections::HashSet,
    sync::atomic::{AtomicI64, Ordering},
};

use claimstream_domain::{MessageId, QueueName, Shard};
use claimstream_ports::{StoreError, StoreErrorKind};
use sea_orm::Value;

use super::shard_state::{LeaseStatus, ShardState};
use crate::{
    database::{
        args::{Args, bytes},
        beside::rows_beside_the_pool,
        classify::{is_locked_by_another, may_have_committed},
        dialect::Dialect,
        held::Held,
        sql::Sql,
        typed_row::row,
        unit::{maybe, rows, run},
    },
    strategy::shard_lease::leases::ShardLease,
};

const LEASE: &str = "shard lease";

/// How a transaction that writes a lease row ended.
pub(crate) enum Written {
    /// Committed, under the fence we knew.
    Yes,
    /// The fence is another one; nothing was written.
    No,
    /// The answer was lost.
    Unknown(StoreError),
}

/// A number that no other write of a lease row by this process has used.
fn next_token() -> i64 {
    static NEWEST: AtomicI64 = AtomicI64::new(0);
    let fresh = (uuid::Uuid::now_v7().as_u64_pair().1 >> 2) as i64;
    let begun = NEWEST.compare_exchange(0, fresh, Ordering::Relaxed, Ordering::Relaxed);
    begun.map_or_else(|_| NEWEST.fetch_add(1, Ordering::Relaxed) + 1, |_| fresh)
}

/// The lease row of one shard of one queue.
impl ShardLease {
    /// Makes sure that we know a fence under which the shard is ours or free; takes over what has run out.
    pub(super) async fn ensure_lease(
        &self,
        on: &Held<'_>,
        state: &mut ShardState,
        queue: &QueueName,
        shard: Shard,
    ) -> Result<bool, StoreError> {
        match state.status {
            LeaseStatus::Usable | LeaseStatus::Unknown => {}
            LeaseStatus::Missing => self.make_lease(on, state, queue, shard).await?,
            LeaseStatus::Expired => self.take_over(on, state, queue, shard).await?,
        }
        Ok(state.status == LeaseStatus::Usable)
    }

    async fn make_lease(
        &self,
        on: &Held<'_>,
        state: &mut ShardState,
        queue: &QueueName,
        shard: Shard,
    ) -> Result<(), StoreError> {
        let args = self.db.args().with("queue", queue.as_str()).with("shard", shard.number());
        state.lose();
        match run(on, LEASE, self.db.sql.shard_lease.insert.bind(&args)).await {
            Ok(_) => (state.status, state.fence) = (LeaseStatus::Usable, 0),
            // Somebody else made it at this moment, and the next look tells who has it.
            Err(error) if matches!(error.kind(), StoreErrorKind::Conflict | StoreErrorKind::Transient) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Ends somebody's lease that has run out: counts an attempt for what was in flight, and begins the next fence. A row
    /// that is locked is left alone: its holder may stand still, and a later look comes back to it.
    async fn take_over(
        &self,
        on: &Held<'_>,
        state: &mut ShardState,
        queue: &QueueName,
        shard: Shard,
    ) -> Result<(), StoreError> {
        state.lose();
        let fence = state.fence;
        let args = self.lease_args(queue, shard, fence).with("token", next_token());
        self.db.begin_held(LEASE, on).await?;
        let found = match rows(on, LEASE, self.db.sql.shard_lease.over.bind(&args)).await {
            Err(locked) if is_locked_by_another(&locked) => {
                tracing::debug!(%queue, shard = shard.number(), "somebody has locked the lease that has run out");
                return self.db.roll_back_held(LEASE, on).await;
            }
            found => found?,
        };
        let Some(row) = found.first() else {
            return self.db.roll_back_held(LEASE, on).await;
        };
        let in_flight = ShardState::read_bytes(&row.maybe_bytes("flights")?.unwrap_or_default());
        self.charge(on, &self.db.sql.shard_lease.charge, &args, &in_flight).await?;
        run(on, LEASE, self.db.sql.shard_lease.end.bind(&args)).await?;
        self.db.commit_held(LEASE, on).await?;
        tracing::info!(%queue, shard = shard.number(), cut_off = in_flight.len(), "shard taken over");
        (state.status, state.fence) = (LeaseStatus::Usable, fence + 1);
        Ok(())
    }

    /// Counts an attempt for messages whose claim has run out.
    async fn charge(
        &self,
        on: &Held<'_>,
        sql: &Sql,
        shard: &Args,
        in_flight: &[(i64, MessageId)],
    ) -> Result<(), StoreError> {
        for some in in_flight.chunks(512) {
            let args = span(shard.clone(), some.iter().copied());
            run(on, LEASE, sql.bind(&args)).await?;
        }
        Ok(())
    }

    /// Writes the lease row as `state` now stands, before anything of it is handed out, and counts an attempt for what has
    /// `lapsed` in our own hands; false if the lease is not ours.
    pub(super) async fn write_claim(
        &self,
        on: &Held<'_>,
        state: &mut ShardState,
        begins: bool,
        queue: &QueueName,
        shard: Shard,
        lapsed: &[(i64, MessageId)],
    ) -> Result<bool, StoreError> {
        let new_fence = state.fence + i64::from(begins);
        let args = self.lease_write(state, &HashSet::new(), queue, shard, new_fence);
        let was_locked_lately = self.was_locked_lately(queue, shard);
        let write = || self.write_and_charge(on, queue, shard, &args, lapsed);
        let written = self.written_whole(on, write).await;
        state.written = Some(self.db.clock.elapsed());
        let ours = match written {
            // Somebody else is taking the free shard at this moment.
            Err(locked) if begins && was_locked_lately && is_locked_by_another(&locked) => false,
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

    /// Repeats a write that met a deadlock, and undoes what one that went wrong has left of a transaction, so that nobody
    /// waits for it.
    ///
    /// One that met a row which somebody keeps locked is not repeated here: who holds it may stand still, and whoever comes
    /// again for it waits with empty hands meanwhile.
    pub(super) async fn written_whole<F: Future<Output = Result<Written, StoreError>>>(
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

    /// Writes a lease row by a statement, and says how many rows that were: none if the lease is not ours. It fails at once
    /// where the last call that waited for the row did so in vain, and nobody has found it free since.
    pub(super) async fn write_lease(
        &self,
        on: &Held<'_>,
        queue: &QueueName,
        shard: Shard,
        sql: &Sql,
        args: &Args,
    ) -> Result<u64, StoreError> {
        let write = async {
            if self.was_locked_lately(queue, shard) {
                rows(on, LEASE, self.db.sql.shard_lease.lock.bind(args)).await?;
                self.owned.found_free(queue, shard);
            }
            run(on, LEASE, sql.bind(args)).await
        };
        let written = write.await;
        if written.as_ref().is_err_and(is_locked_by_another) {
            self.owned.found_locked(queue, shard, self.db.clock.elapsed());
        }
        written
    }

    fn was_locked_lately(&self, queue: &QueueName, shard: Shard) -> bool {
        self.db.dialect == Dialect::MySql
            && self.owned.was_locked_lately(queue, shard, self.db.clock.elapsed())
    }

    async fn write_and_charge(
        &self,
        on: &Held<'_>,
        queue: &QueueName,
        shard: Shard,
        args: &Args,
        lapsed: &[(i64, MessageId)],
    ) -> Result<Written, StoreError> {
        let write = || self.write_lease(on, queue, shard, &self.db.sql.shard_lease.write, args);
        if lapsed.is_empty() && !self.was_locked_lately(queue, shard) {
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
        self.charge(on, &self.db.sql.shard_lease.count, args, lapsed).await?;
        committed(self.db.commit_held(LEASE, on).await)
    }

    /// Whether the newest write of a lease row is the one with these arguments, after its answer was lost. The books are open
    /// meanwhile, so it is asked beside the pool.
    pub(crate) async fn has_token(&self, args: &Args, lost: StoreError) -> Result<bool, StoreError> {
        self.db.note_trouble(&lost);
        let question = || self.db.sql.shard_lease.token.bind(args);
        // An error of the question says nothing about the commit, whatever its kind.
        let answer = self.db.asking_back(|| rows_beside_the_pool(&self.db, LEASE, question())).await;
        let found = answer.map_err(|_| in_doubt(&lost))?;
        let Some(row) = found.first() else { return Err(in_doubt(&lost)) };
        let Newest { fence, token } = Newest::read(row)?;
        let asked = |name| match args.one(name) {
            Some(Value::BigInt(Some(number))) => *number,
            _ => 0,
        };
        match fence == asked("new_fence") && token == asked("token") {
            true => Ok(true),
            // It was not written, or somebody has taken the shard over since and nobody can tell any more.
            false => Err(in_doubt(&lost)),
        }
    }

    /// The arguments that write `state` into its lease row, without what has ended.
    pub(crate) fn lease_write(
        &self,
        state: &ShardState,
        ended: &HashSet<MessageId>,
        queue: &QueueName,
        shard: Shard,
        new_fence: i64,
    ) -> Args {
        let left = state.in_flight.len() - ended.len();
        let new_holder = if left == 0 { Value::Bytes(None) } else { self.holder.clone() };
        self.written_under(queue, shard, state.fence, new_fence, left)
            .with("new_holder", new_holder)
            .with("label", maybe((left > 0).then_some(state.label.as_str())))
            .with("until", state.until(ended))
            .with("flights", state.to_bytes(ended))
    }

    /// The arguments of any write of a lease row by its holder.
    pub(crate) fn written_under(
        &self,
        queue: &QueueName,
        shard: Shard,
        fence: i64,
        new_fence: i64,
        in_flight: usize,
    ) -> Args {
        self.lease_args(queue, shard, fence)
            .with("new_fence", new_fence)
            .with("in_flight", in_flight as i64)
            .with("token", next_token())
    }

    pub(crate) fn lease_args(&self, queue: &QueueName, shard: Shard, fence: i64) -> Args {
        self.db
            .args()
            .with("queue", queue.as_str())
            .with("shard", shard.number())
            .with("fence", fence)
            .with("holder", self.holder.clone())
    }
}

/// Adds the due times between which messages lie, and their ids.
pub(crate) fn span(args: Args, messages: impl Iterator<Item = (i64, MessageId)> + Clone) -> Args {
    let dues = messages.clone().map(|(due, _)| due);
    args.with("first", dues.clone().min().unwrap_or_default())
        .with("last", dues.max().unwrap_or_default())
        .with_list("ids", messages.map(|(_, id)| bytes(id.uuid())))
}

/// A commit of which nobody can tell whether it took effect.
fn in_doubt(lost: &StoreError) -> StoreError {
    StoreError::new(StoreErrorKind::Unavailable, LEASE, format!("the outcome is unknown: {lost}"))
}

pub(crate) fn committed(answer: Result<(), StoreError>) -> Result<Written, StoreError> {
    match answer {
        Ok(()) => Ok(Written::Yes),
        Err(lost) if may_have_committed(&lost) => Ok(Written::Unknown(lost)),
        Err(error) => Err(error),
    }
}

row! {
    /// What the newest write of a lease row has left there.
    struct Newest of "shard_lease/token" { fence: i64, token: i64 }
}
