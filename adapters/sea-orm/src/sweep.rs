use std::{collections::HashSet, time::Duration};

use claimstream_ports::{StoreError, StoreErrorKind};
use sea_orm::{ConnectionTrait, IsolationLevel, TransactionTrait, Value};
use uuid::Uuid;

use crate::{
    args::bytes,
    classify::classify,
    clock::micros,
    dialect::Dialect,
    outbox::SeaOrmOutbox,
    transaction::Transaction,
    unit::{Store, rows, run},
};

const SWEEP: &str = "sweep";

/// How many rows one statement deletes.
const CHUNK: i64 = 500;

/// How many live messages one statement reads.
const LIVE_PAGE: i64 = 10_000;

/// Instances are kept at least that long, for people who look at what happened.
const KEEP_INSTANCES: Duration = Duration::from_secs(24 * 3600);

/// What a sweep has taken away.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Swept {
    /// Bodies of finished messages.
    pub bodies: u64,
    /// Dedup keys.
    pub dedup_keys: u64,
}

impl SeaOrmOutbox {
    /// The shortest time that finished messages are kept for: longer than any transaction that enqueues may last.
    pub const SHORTEST_KEEP: Duration = Duration::from_secs(3600);

    /// Deletes the bodies of messages that were finished, and forgets the dedup keys that were taken, longer than `keep`
    /// ago. A key is kept as long as its message is live.
    ///
    /// Settling a message deletes its queue entry only, because deleting the body with it would cost a quarter of the
    /// throughput; the body is left for this. Bodies go by primary key in small chunks.
    pub async fn sweep(&self, keep: Duration) -> Result<Swept, StoreError> {
        if keep < Self::SHORTEST_KEEP {
            let why = format!("keep = {keep:?} is too short; use {:?} or longer", Self::SHORTEST_KEEP);
            return Err(StoreError::new(StoreErrorKind::Unsupported, SWEEP, why));
        }
        let store = self.store.clone();
        self.store.detached(SWEEP, async move { store.sweep(keep).await }).await
    }
}

impl Store {
    /// One bound for all of it: what is live is read after the bound was, so that nothing that is stored before the bound
    /// and not among the live can become live again, unless by a revival, which stores it anew.
    async fn sweep(&self, keep: Duration) -> Result<Swept, StoreError> {
        self.clock.forget();
        let now = self.restarting(|| self.now(&self.db, SWEEP)).await?;
        let before = |keep: Duration| now.saturating_sub(micros(keep)).max(0);
        let bodies = self.sweep_bodies(before(keep)).await?;
        let dedup_keys = self.sweep_dedup_keys(before(keep)).await?;
        let args = self.args().with("bound", before(keep.max(KEEP_INSTANCES)));
        self.restarting(|| run(&self.db, SWEEP, self.sql.sweep_instances.bind(&args))).await?;
        tracing::info!(bodies, dedup_keys, "swept");
        Ok(Swept { bodies, dedup_keys })
    }

    /// Ids that tell their time show where to stop: those made after the bound are passed over, and only ids that lie
    /// beyond all times, such as random ones, are looked at behind them.
    async fn sweep_bodies(&self, bound: i64) -> Result<u64, StoreError> {
        let live = self.restarting(|| self.live()).await?;
        let tomorrow = self.clock.local().max(bound).saturating_add(micros(KEEP_INSTANCES));
        let told = self.sweep_bodies_between(Uuid::nil(), first_id_of(bound), bound, &live).await?;
        let untold = self.sweep_bodies_between(first_id_of(tomorrow), Uuid::max(), bound, &live).await?;
        Ok(told + untold)
    }

    async fn sweep_bodies_between(
        &self,
        mut after: Uuid,
        last: Uuid,
        bound: i64,
        live: &HashSet<Uuid>,
    ) -> Result<u64, StoreError> {
        let mut swept = 0;
        loop {
            let args = self.args().with("after", bytes(after)).with("last", bytes(last));
            let args = args.with("bound", bound).with("limit", CHUNK);
            let page = self.restarting(|| rows(&self.db, SWEEP, self.sql.sweep_page.bind(&args))).await?;
            let page = page.iter().map(|row| row.uuid(0)).collect::<Result<Vec<_>, _>>()?;
            let Some(newest) = page.last() else { return Ok(swept) };
            after = *newest;
            let done: Vec<Value> = page.into_iter().filter(|id| !live.contains(id)).map(bytes).collect();
            if !done.is_empty() {
                let args = self.args().with_list("ids", done).with("bound", bound);
                swept += self.restarting(|| run(&self.db, SWEEP, self.sql.sweep_delete.bind(&args))).await?;
            }
        }
    }

    /// The ids of all live messages, as of one moment, page by page.
    async fn live(&self) -> Result<HashSet<Uuid>, StoreError> {
        let isolation = (self.dialect == Dialect::MySql).then_some(IsolationLevel::RepeatableRead);
        let snapshot = self.db.begin_with_config(isolation, None).await.map_err(|e| classify(SWEEP, e))?;
        let live = self.live_in(&snapshot).await;
        self.roll_back(SWEEP, Transaction::of_pool(snapshot)).await?;
        live
    }

    async fn live_in(&self, snapshot: &impl ConnectionTrait) -> Result<HashSet<Uuid>, StoreError> {
        let mut live = HashSet::new();
        let (mut queue, mut shard, mut due_at, mut after) = (String::new(), 0, 0, Uuid::nil());
        loop {
            let args = self.args().with("queue", queue.as_str()).with("shard", shard);
            let args = args.with("due_at", due_at).with("after", bytes(after)).with("limit", LIVE_PAGE);
            let page = rows(snapshot, SWEEP, self.sql.sweep_live.bind(&args)).await?;
            let Some(last) = page.last() else { return Ok(live) };
            (after, queue, shard, due_at) = (last.uuid(0)?, last.text(1)?, last.int(2)?, last.int(3)?);
            for row in &page {
                live.insert(row.uuid(0)?);
            }
        }
    }

    /// Bodies have been swept by the same bound: a message that still has one is live, or was revived.
    async fn sweep_dedup_keys(&self, bound: i64) -> Result<u64, StoreError> {
        let (mut from, mut swept) = (0, 0);
        loop {
            let args = self.args().with("from", from).with("bound", bound).with("limit", CHUNK);
            let page = self.restarting(|| rows(&self.db, SWEEP, self.sql.sweep_keys.bind(&args))).await?;
            let Some(last) = page.last() else { return Ok(swept) };
            from = last.int(2)?;
            let keys = page.iter().map(|row| Ok((row.text(0)?, row.text(1)?)));
            let keys = keys.collect::<Result<Vec<_>, StoreError>>()?;
            for of_queue in keys.chunk_by(|(queue, _), (next, _)| queue == next) {
                let names = of_queue.iter().map(|(_, key)| Value::from(key.as_str()));
                let args = self.args().with("queue", of_queue[0].0.as_str()).with("bound", bound);
                let args = args.with_list("keys", names);
                swept += self.restarting(|| run(&self.db, SWEEP, self.sql.sweep_dedup.bind(&args))).await?;
            }
        }
    }
}

/// The least id that a version 7 or a ULID of this moment can be.
fn first_id_of(micros: i64) -> Uuid {
    let millis = u64::try_from(micros / 1000).unwrap_or_default().min((1 << 48) - 1);
    Uuid::from_u128(u128::from(millis) << 80)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_a_moment_begin_with_it() {
        let id = Uuid::now_v7();
        let micros = (id.as_u128() >> 80) as i64 * 1000;
        assert!(first_id_of(micros) <= id && id < first_id_of(micros + 1000));
        assert_eq!(first_id_of(-1), Uuid::nil());
    }
}
