use std::{collections::BTreeMap, time::Duration};

use async_trait::async_trait;
use claimstream_domain::{QueueName, QueueStatus};
use claimstream_ports::{Observe, StoreError};

use crate::{
    classify::corrupt,
    outbox::SeaOrmOutbox,
    unit::{Row, Store, rows},
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
    async fn observe(&self) -> Result<Vec<QueueStatus>, StoreError> {
        let mut queues = BTreeMap::new();
        let live =
            self.restarting(|| rows(&self.db, OBSERVE, self.sql.observe_live.bind(&self.args()))).await?;
        for row in &live {
            let status = live_status(row)?;
            queues.insert(status.queue.clone(), status);
        }
        let dead =
            self.restarting(|| rows(&self.db, OBSERVE, self.sql.observe_dead.bind(&self.args()))).await?;
        for row in &dead {
            let queue = queue(row)?;
            queues.entry(queue.clone()).or_insert_with(|| empty(queue)).dead = row.number(1)?;
        }
        Ok(queues.into_values().collect())
    }
}

fn live_status(row: &Row) -> Result<QueueStatus, StoreError> {
    let due = row.number(2)?;
    // Only a queue with due messages has one that has waited; the oldest of all is then a due one.
    let oldest = match due {
        0 => None,
        _ => Some(Duration::from_micros(u64::try_from(row.int(4)?).unwrap_or_default())),
    };
    Ok(QueueStatus {
        queue: queue(row)?,
        depth: row.number(1)?,
        due,
        leased: row.number(3)?,
        oldest,
        dead: 0,
    })
}

fn empty(queue: QueueName) -> QueueStatus {
    QueueStatus { queue, depth: 0, due: 0, leased: 0, oldest: None, dead: 0 }
}

fn queue(row: &Row) -> Result<QueueName, StoreError> {
    QueueName::new(&row.text(0)?).map_err(|e| corrupt(OBSERVE, e))
}
