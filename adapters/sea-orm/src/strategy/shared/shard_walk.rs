use claimstream_domain::{QueueName, Shard};
use claimstream_ports::StoreError;

use crate::{database::clock::ServerClock, strategy::shared::known_shards::KnownShards};

/// Takes from one shard after another.
pub(crate) trait Visitor {
    /// Whether the limit is not reached yet.
    fn wants_more(&self) -> bool;

    /// Whether there is something to answer already.
    fn has_some(&self) -> bool;

    /// The shards that this call has been to.
    fn visited(&self) -> &[Shard];

    /// Looks without locks which shards have due messages, and notes it.
    fn look(&self) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Takes from a shard.
    fn visit(&mut self, shard: Shard) -> impl Future<Output = Result<(), StoreError>> + Send;
}

/// Takes from hot shards until the limit is reached or none is left; looks for hot ones if there is none, and from time to
/// time in any case.
pub(crate) async fn visit_shards<V: Visitor + Send + Sync>(
    known: &KnownShards,
    queue: &QueueName,
    clock: &ServerClock,
    visitor: &mut V,
) -> Result<(), StoreError> {
    let mut looked = known.wants_look(queue, clock.elapsed());
    if looked {
        visitor.look().await?;
    }
    while visitor.wants_more() {
        match known.next_hot(queue, visitor.visited()) {
            Some(shard) => visitor.visit(shard).await?,
            None if looked || visitor.has_some() => break,
            None => {
                visitor.look().await?;
                looked = true;
            }
        }
    }
    Ok(())
}
