use std::sync::atomic::{AtomicBool, Ordering};

use claimstream_domain::{ClaimRequest, Claimed, Owner, Shard};
use claimstream_ports::{StoreError, StoreErrorKind};
use sea_orm::Value;

use crate::{
    database::{
        dialect::Dialect,
        held::Held,
        unit::{rows, run},
    },
    messages::twins::unite,
    strategy::{
        rows::{marking::Marking, read::Marked, row_claim::Call, row_strategy::RowClaims},
        shared::shard_walk::{Visitor, visit_shards},
    },
};

const CLAIM: &str = "claim";

/// Claims on one connection where one is enough; on SQLite in one transaction, whatever the number of shards.
pub(crate) async fn claim(
    claims: &RowClaims,
    marking: &impl Marking,
    request: ClaimRequest,
) -> Result<Vec<Claimed>, StoreError> {
    let on = Held::new(&claims.db);
    Claiming::new(claims, marking, &on, request).run().await
}

/// One claim call on its way through the shards.
struct Claiming<'a, M> {
    call: Call<'a>,
    marking: &'a M,
    visited: Vec<Shard>,
    taken: u32,
    lease_end: i64,
}

impl<'a, M: Marking> Claiming<'a, M> {
    fn new(claims: &'a RowClaims, marking: &'a M, on: &'a Held<'a>, request: ClaimRequest) -> Self {
        let call = Call { claims, on, request, in_doubt: AtomicBool::default() };
        Self { call, marking, visited: Vec::new(), taken: 0, lease_end: 0 }
    }

    /// Takes due messages, and answers all that it has taken even if it cannot take more.
    async fn run(mut self) -> Result<Vec<Claimed>, StoreError> {
        self.call.request.limit = self.call.request.limit.min(ClaimRequest::MOST);
        let light = self.call.claims.weights.fitting(&self.call.request.queue, self.call.request.budget);
        self.call.request.limit = self.call.request.limit.min(light);
        self.announce().await?;
        let visited = self.visit_shards().await;
        let ended = self.commit().await.and(visited);
        let claimed = match self.taken {
            0 => Vec::new(),
            _ => self.marked().read().await?,
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
        let (claims, owner) = (self.call.claims, self.call.request.owner.clone());
        if !claims.announcements.are_due(owner.instance(), claims.db.clock.elapsed()) {
            return Ok(());
        }
        let args = claims.db.args().with("instance", instance_bytes(&owner)).with("label", owner.label());
        let noted = run(self.call.on, CLAIM, claims.db.sql.claim.instance.bind(&args)).await;
        if noted.is_err() {
            claims.announcements.failed(owner.instance());
        }
        noted.map(|_| ())
    }

    /// Begins the transaction of a claim, where all its shards share one: a file has one writer, and every commit is synced.
    ///
    /// It begins with the first shard that has something due, so that a claim that finds nothing keeps no writer waiting.
    async fn begin(&self) -> Result<(), StoreError> {
        let (db, on) = (self.call.db(), self.call.on);
        if db.dialect == Dialect::MySql || on.is_in_transaction() {
            return Ok(());
        }
        db.restarting(|| db.begin_held(CLAIM, on)).await
    }

    /// Commits what has been taken, where that is one transaction. After an error its rows say what became of it.
    async fn commit(&self) -> Result<(), StoreError> {
        if !self.call.on.is_in_transaction() {
            return Ok(());
        }
        let committed = self.call.db().commit_held(CLAIM, self.call.on).await;
        if committed.is_err() {
            self.call.in_doubt.store(true, Ordering::Relaxed);
            self.call.on.rest();
        }
        committed
    }

    async fn take(&mut self, shard: Shard, limit: u32, low: i64) -> Result<u32, StoreError> {
        self.begin().await?;
        let args = self.call.shard_args(shard).with("low", low).with("limit", i64::from(limit));
        let known = self.lease_end;
        let mut marked = self.marking.mark(&self.call, shard, &args, known).await;
        if let Err(twice) = &marked
            && twice.kind() == StoreErrorKind::Conflict
        {
            self.commit().await?;
            self.call.on.rest();
            unite(self.call.db(), &self.call.request.queue, shard).await?;
            self.begin().await?;
            marked = self.marking.mark(&self.call, shard, &args, known).await;
        }
        let (count, lease_end) = marked?;
        if count > 0 {
            self.lease_end = lease_end;
        }
        self.taken += count;
        Ok(count)
    }

    async fn visit_shards(&mut self) -> Result<(), StoreError> {
        let (claims, queue) = (self.call.claims, self.call.request.queue.clone());
        visit_shards(&claims.known, &queue, &claims.db.clock, self).await
    }

    fn marked(&self) -> Marked<'a, '_> {
        let Self { call, visited, taken, lease_end, .. } = self;
        Marked { call, visited, taken: *taken, lease_end: *lease_end }
    }
}

impl<M: Marking> Visitor for Claiming<'_, M> {
    fn wants_more(&self) -> bool {
        self.taken < self.call.request.limit
    }

    fn has_some(&self) -> bool {
        self.taken > 0
    }

    fn visited(&self) -> &[Shard] {
        &self.visited
    }

    /// Looks without locks which shards have due messages; a transaction that has taken nothing yet ends before.
    async fn look(&self) -> Result<(), StoreError> {
        // Untested: no test has another writer of an SQLite file wait at the moment in which a claim looks
        if self.taken == 0 {
            self.commit().await?;
        }
        let args = self.call.db().args().with("queue", self.call.request.queue.as_str());
        let found = rows(self.call.on, CLAIM, self.call.db().sql.claim.peek.bind(&args)).await?;
        let due = found
            .iter()
            .map(|row| row.number("shard").map(Shard::from_number))
            .collect::<Result<Vec<_>, _>>()?;
        let (known, now) = (&self.call.claims.known, self.call.db().clock.elapsed());
        known.heat(&self.call.request.queue, &due, self.call.request.owner.instance().0, now);
        Ok(())
    }

    /// Takes from one shard; a claim that a watermark kept short is completed from the beginning of the shard.
    async fn visit(&mut self, shard: Shard) -> Result<(), StoreError> {
        self.visited.push(shard);
        let (known, queue) = (&self.call.claims.known, self.call.request.queue.clone());
        let wanted = self.call.request.limit - self.taken;
        let low = known.low(&queue, shard, self.call.db().clock.elapsed());
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
}

fn instance_bytes(owner: &Owner) -> Value {
    Value::Bytes(Some(owner.instance().0.to_be_bytes().to_vec()))
}
