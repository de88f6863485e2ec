use std::time::Duration;

use claimstream_domain::{MessageId, NewMessage, OrderingKey, Payload, QueueName, ShardCount};
use claimstream_sea_orm::SeaOrmOutbox;
use futures::future::try_join_all;

use crate::{FULL, Failure, QUEUE};

/// How many keys the backlog has.
const KEYS: usize = 1_000;
/// How many messages a transaction writes, and how many transactions run at a time.
const TOGETHER: usize = 1_000;
const AT_ONCE: usize = 4;
/// When the backlog is due.
const LATER: Duration = Duration::from_secs(24 * 60 * 60);

/// Writes so many messages into the full shard.
pub(crate) async fn fill(outbox: &SeaOrmOutbox, messages: usize) -> Result<(), Failure> {
    let keys = keys(outbox.shards())?;
    let some = |from: usize, to: usize| {
        let message = |n: usize| -> Result<NewMessage, Failure> {
            let payload = Payload::json(format!("{{\"number\":{n}}}"));
            let message =
                NewMessage::new(MessageId::new(uuid::Uuid::now_v7()), QueueName::new(QUEUE)?, payload);
            Ok(message.ordered_by(keys[n % keys.len()].clone()).deliver_after(LATER))
        };
        (from..to).map(message).collect::<Result<Vec<_>, _>>()
    };
    let share = messages.div_ceil(AT_ONCE);
    let parts = (0..AT_ONCE).map(|part| (part * share, messages.min((part + 1) * share)));
    let write = parts.map(|(from, end)| async move {
        for first in (from..end).step_by(TOGETHER) {
            outbox.enqueue_now(&some(first, end.min(first + TOGETHER))?).await?;
        }
        Ok::<_, Failure>(())
    });
    try_join_all(write).await.map(|_| ())
}

/// Keys that all lie in the full shard.
fn keys(shards: ShardCount) -> Result<Vec<OrderingKey>, Failure> {
    let all = (0..).map(|n| format!("customer-{n}"));
    let full = all.filter(|key| shards.shard_of_bytes(key.as_bytes()).number() == FULL);
    full.take(KEYS).map(|key| Ok(key.parse::<OrderingKey>()?)).collect()
}
