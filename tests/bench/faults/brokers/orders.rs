use std::{sync::Arc, time::Duration};

use claimstream::{Compose, Enqueue, NewMessage};
use claimstream_sea_orm::SeaOrmOutbox;
use claimstream_testbed::work::Tally;
use sea_orm::ConnectionTrait;
use tokio::sync::watch;
use uuid::Uuid;

use crate::Failure;

/// The queue that is published.
pub(super) const QUEUE: &str = "orders";
/// How many ordering keys there are; the n-th order is of the key n modulo this.
pub(super) const KEYS: u64 = 20;

/// Places orders, each with its message in the same transaction; every tenth transaction is rolled back.
pub(super) struct Orders {
    pub(super) outbox: SeaOrmOutbox,
    pub(super) every: Duration,
    pub(super) tally: Arc<Tally>,
}

impl Orders {
    pub(super) async fn make_table(&self) -> Result<(), Failure> {
        let create = "CREATE TABLE placed (number BIGINT PRIMARY KEY) ENGINE = InnoDB";
        self.outbox.connection().execute_unprepared(create).await?;
        Ok(())
    }

    /// Answers the messages whose transactions were rolled back.
    pub(super) async fn place(self, mut stop: watch::Receiver<bool>) -> Result<Vec<Uuid>, Failure> {
        let (mut number, mut tried, mut rolled_back) = (0_u64, 0_u64, Vec::new());
        while !*stop.borrow() {
            tried += 1;
            let key = format!("customer-{}", number % KEYS).parse()?;
            let message = NewMessage::json(QUEUE, &number)?.ordered_by(key);
            let id = message.id.uuid();
            let tx = self.outbox.begin().await?;
            tx.execute_unprepared(&format!("INSERT INTO placed (number) VALUES ({number})")).await?;
            self.outbox.enqueue(&tx, &[message]).await?;
            if tried.is_multiple_of(10) {
                tx.rollback().await?;
                rolled_back.push(id);
                continue;
            }
            self.outbox.commit(tx).await?;
            self.tally.enqueued(id);
            number += 1;
            tokio::select! {
                () = tokio::time::sleep(self.every) => {}
                _ = stop.changed() => {}
            }
        }
        Ok(rolled_back)
    }
}
