use std::time::Duration;

use claimstream::{Compose, Enqueue, NewMessage};
use claimstream_domain::QueueName;
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};

use crate::{Failure, relay::QUEUE, times::now, way::Way};

/// Prints the number of each message and when its commit was answered.
pub(crate) async fn run(url: &str, way: Way, redis: &str, messages: u64) -> Result<(), Failure> {
    let outbox = SeaOrmOutbox::open(url, OpenOptions::default()).await?;
    let (queue, wakeup) = (QueueName::new(QUEUE)?, way.of_writer(url, redis)?);
    for number in 0..messages {
        // About a second, so that nothing falls into step.
        tokio::time::sleep(Duration::from_millis(850 + number * 37 % 300)).await;
        let transaction = outbox.begin().await?;
        outbox.enqueue(&transaction, &[NewMessage::json(queue.clone(), &number)?]).await?;
        outbox.commit(transaction).await?;
        let committed = now();
        if let Some(wakeup) = &wakeup {
            wakeup.wake(&queue).await?;
        }
        println!("{number} {committed}");
    }
    Ok(())
}
