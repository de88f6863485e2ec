use std::sync::atomic::Ordering;

use claimstream_domain::{Claimed, Owner, Shard};
use claimstream_ports::{StoreError, StoreErrorKind};
use sea_orm::Value;

use crate::{
    database::{
        args::Args,
        dialect::Dialect,
        unit::{rows, run},
    },
    messages::twins::unite,
    strategy::{
        rows::{
            marking::Marking,
            preemptive_update::mark_at_once,
            row_claim::{CLAIM, RowClaim},
            skip_locked::lock_and_mark,
        },
        shared::shard_walk::{WalkProgress, WalkStep},
    },
};

impl RowClaim<'_> {
    /// Takes due messages, and returns all that it has taken even if it cannot take more.
    pub(super) async fn run(mut self) -> Result<Vec<Claimed>, StoreError> {
        self.announce().await?;
        let walked = self.walk_shards().await;
        let ended = self.commit().await.and(walked);
        let claimed = match self.marked {
            0 => Vec::new(),
            _ => self.read().await?,
        };
        match ended {
            Err(error) if claimed.is_empty() => return Err(error),
            Err(error) => {
                tracing::warn!(taken = claimed.len(), %error, "a claim ended early and returns the messages that it has")
            }
            Ok(()) => {}
        }
        Ok(claimed)
    }

    /// Stores once an hour which relay makes these claim ids.
    async fn announce(&self) -> Result<(), StoreError> {
        let (store, owner) = (self.store, &self.request.owner);
        if !store.announcements.are_due(owner.instance(), store.db.clock.elapsed()) {
            return Ok(());
        }
        let args = store.db.args().with("instance", instance_bytes(owner)).with("label", owner.label());
        let noted = run(&self.on, CLAIM, store.db.sql.claim.instance.bind(&args)).await;
        if noted.is_err() {
            store.announcements.failed(owner.instance());
        }
        noted.map(|_| ())
    }

    async fn walk_shards(&mut self) -> Result<(), StoreError> {
        loop {
            let progress = match self.marked {
                enough if enough >= self.request.limit => WalkProgress::Enough,
                0 => WalkProgress::Nothing,
                _ => WalkProgress::Some,
            };
            match self.walk.next(progress, self.db().clock.elapsed()) {
                WalkStep::Look => self.look().await?,
                WalkStep::Visit(shard) => self.visit(shard).await?,
                WalkStep::Done => return Ok(()),
            }
        }
    }

    /// Looks without locks which shards have due messages; a transaction that has taken nothing yet ends before.
    async fn look(&self) -> Result<(), StoreError> {
        // Untested: no test has another writer of an SQLite file wait at the moment in which a claim looks
        if self.marked == 0 {
            self.commit().await?;
        }
        let (db, queue) = (self.db(), &self.request.queue);
        let args = db.args().with("queue", queue.as_str());
        let found = rows(&self.on, CLAIM, db.sql.claim.peek.bind(&args)).await?;
        let due = found
            .iter()
            .map(|row| row.number("shard").map(Shard::from_number))
            .collect::<Result<Vec<_>, _>>()?;
        self.store.known.heat(queue, &due, self.request.owner.instance().0, db.clock.elapsed());
        Ok(())
    }

    /// Takes from one shard; a claim that a watermark kept short is completed from the beginning of the shard.
    async fn visit(&mut self, shard: Shard) -> Result<(), StoreError> {
        let (known, queue) = (&self.store.known, self.request.queue.clone());
        let wanted = self.request.limit - self.marked;
        let low = known.low(&queue, shard, self.db().clock.elapsed());
        let mut count = self.take(shard, wanted, low).await?;
        if count < wanted && low > 0 {
            count += self.take(shard, wanted - count, 0).await?;
        }
        match count == wanted {
            true => known.full(&queue, shard),
            false => known.short(&queue, shard),
        }
        Ok(())
    }

    async fn take(&mut self, shard: Shard, limit: u32, low: i64) -> Result<u32, StoreError> {
        self.begin().await?;
        let args = self.shard_args(shard).with("low", low).with("limit", i64::from(limit));
        let mut marked = self.mark(shard, &args).await;
        if let Err(twice) = &marked
            && twice.kind() == StoreErrorKind::Conflict
        {
            self.commit().await?;
            self.on.rest();
            unite(self.db(), &self.request.queue, shard).await?;
            self.begin().await?;
            marked = self.mark(shard, &args).await;
        }
        let (count, lease_end) = marked?;
        if count > 0 {
            self.lease_end = lease_end;
        }
        self.marked += count;
        Ok(count)
    }

    /// Marks due rows of a shard, at most as many as the arguments contain. Returns how many, and the end of their lease.
    ///
    /// A statement that is refused for a moment is sent again; one that uses `NOWAIT` returns no rows on a refusal instead.
    async fn mark(&self, shard: Shard, args: &Args) -> Result<(u32, i64), StoreError> {
        let db = self.db();
        match self.store.marking {
            Marking::SkipLocked => db.restarting(|| lock_and_mark(self, shard, args.clone())).await,
            Marking::PreemptiveUpdate => db.restarting(|| mark_at_once(self, shard, args.clone())).await,
        }
    }

    /// Begins the transaction of a claim, where all its shards share one: a file has one writer, and every commit is synced.
    ///
    /// It begins with the first shard that has something due, so that a claim that finds nothing keeps no writer waiting.
    async fn begin(&self) -> Result<(), StoreError> {
        let (db, on) = (self.db(), &self.on);
        if db.dialect == Dialect::MySql || on.is_in_transaction() {
            return Ok(());
        }
        db.restarting(|| db.begin_held(CLAIM, on)).await
    }

    /// Commits what has been taken, where that is one transaction. After an error its rows say what became of it.
    async fn commit(&self) -> Result<(), StoreError> {
        if !self.on.is_in_transaction() {
            return Ok(());
        }
        let committed = self.db().commit_held(CLAIM, &self.on).await;
        if committed.is_err() {
            self.in_doubt.store(true, Ordering::Relaxed);
            self.on.rest();
        }
        committed
    }
}

fn instance_bytes(owner: &Owner) -> Value {
    Value::Bytes(Some(owner.instance().0.to_be_bytes().to_vec()))
}
