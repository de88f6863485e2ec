use std::{
    collections::{BTreeMap, HashMap, HashSet},
    time::Duration,
};

use async_trait::async_trait;
use claimstream_domain::{MessageId, QueueName, QueueStatus};
use claimstream_ports::{Observe, StoreError};

use crate::{
    database::{
        classify::corrupt,
        unit::{Row, rows},
    },
    outbox::handle::SeaOrmOutbox,
    store::Store,
    strategy::shard_lease,
};

const OBSERVE: &str = "observe";

#[async_trait]
impl Observe for SeaOrmOutbox {
    async fn observe(&self) -> Result<Vec<QueueStatus>, StoreError> {
        let store = self.store.clone();
        self.store.detached(OBSERVE, async move { store.observe().await }).await
    }
}

impl Store {
    pub(crate) async fn observe(&self) -> Result<Vec<QueueStatus>, StoreError> {
        let mut queues: BTreeMap<QueueName, QueueStatus> = BTreeMap::new();
        let held = self.held().await?;
        let ask = || rows(self.relay(), OBSERVE, self.sql.observe.live.bind(&self.args()));
        for row in &self.restarting(ask).await? {
            let (queue, mut status) = (queue(row)?, self.shard_status(row)?);
            if let Some(flights) = held.get(&(queue.clone(), row.number(1)?)) {
                self.set_apart(row, flights, &mut status).await?;
            }
            let all = queues.entry(queue.clone()).or_insert_with(|| empty(queue));
            all.depth += status.depth;
            all.due += status.due;
            all.leased += status.leased;
            all.oldest = all.oldest.max(status.oldest);
            all.stray += status.stray;
        }
        let ask = || rows(self.relay(), OBSERVE, self.sql.observe.dead.bind(&self.args()));
        for row in &self.restarting(ask).await? {
            let queue = queue(row)?;
            queues.entry(queue.clone()).or_insert_with(|| empty(queue)).dead = row.number(1)?;
        }
        Ok(queues.into_values().collect())
    }

    /// What is in flight under shard leases that hold, by queue and shard.
    async fn held(&self) -> Result<HashMap<(QueueName, u16), HashSet<MessageId>>, StoreError> {
        let ask = || rows(self.relay(), OBSERVE, self.sql.shard_lease.held.bind(&self.args()));
        let mut held = HashMap::new();
        for row in &self.restarting(ask).await? {
            let flights = shard_lease::flights(&row.maybe_bytes(3)?.unwrap_or_default());
            held.insert((queue(row)?, row.number(1)?), flights);
        }
        Ok(held)
    }

    /// Counts what is in flight under a shard lease as leased; its rows look as if they were due.
    async fn set_apart(
        &self,
        row: &Row,
        flights: &HashSet<MessageId>,
        status: &mut QueueStatus,
    ) -> Result<(), StoreError> {
        let args = self.args().with("queue", status.queue.as_str()).with("shard", row.number::<u16>(1)?);
        let args = args.with("limit", flights.len() as i64 + 1);
        let oldest =
            self.restarting(|| rows(self.relay(), OBSERVE, self.sql.shard_lease.oldest.bind(&args))).await?;
        let (mut aloft, mut waited) = (0, None);
        for row in &oldest {
            match flights.contains(&MessageId::new(row.uuid(0)?)) {
                true => aloft += 1,
                false => waited = waited.or(Some(age(row.int(1)?))),
            }
        }
        status.due = status.due.saturating_sub(aloft);
        status.leased += aloft;
        status.oldest = waited;
        Ok(())
    }

    /// A row of observe_live: queue, shard, depth, due, leased, oldest.
    fn shard_status(&self, row: &Row) -> Result<QueueStatus, StoreError> {
        let (queue, depth) = (queue(row)?, row.number(2)?);
        if row.number::<u16>(1)? >= self.shards.get() {
            return Ok(QueueStatus { depth, stray: depth, ..empty(queue) });
        }
        let due = row.number(3)?;
        // Only a shard with due messages has one that has waited; the oldest of all is then a due one.
        let oldest = if due == 0 { None } else { Some(age(row.int(5)?)) };
        Ok(QueueStatus { depth, due, leased: row.number(4)?, oldest, ..empty(queue) })
    }
}

fn age(micros: i64) -> Duration {
    Duration::from_micros(u64::try_from(micros).unwrap_or_default())
}

fn empty(queue: QueueName) -> QueueStatus {
    QueueStatus { queue, depth: 0, due: 0, leased: 0, oldest: None, dead: 0, stray: 0 }
}

fn queue(row: &Row) -> Result<QueueName, StoreError> {
    QueueName::new(&row.text(0)?).map_err(|e| corrupt(OBSERVE, e))
}
