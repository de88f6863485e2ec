use async_trait::async_trait;
use claimstream_domain::{ClaimRequest, Claimed, QueueName};

use crate::StoreError;

/// Takes due messages with a lease, so that no two instances ever hold the same one.
///
/// Implementors owe:
/// * at most `limit` messages, whose payloads come to no more than `budget` bytes, except that the first of them passes
///   whatever it weighs; a store never has more of a claim in its memory than about twice that. All are due on the store's clock, all of the asked queue, oldest due time first within a
///   shard; a message that became visible after younger ones had been claimed is found within two seconds;
/// * that each is this claim's until the lease ends, and that the attempt will count if the holder never settles it,
///   durable before the call returns, in a transaction of their own; which ends of a claim count, and which make its message
///   a suspect, [`ClaimEnd`](claimstream_domain::ClaimEnd) says;
/// * a message whose lease has run out is due again, whatever became of its holder;
/// * a call that was repeated with the same claim id after an error never hands out a message twice that it has leased; a
///   receipt bears the claim id of the call that leased its message, which may be an earlier one where messages are leased
///   ahead;
/// * of an ordering key that it keeps in order one message at a time, or, to a claim that asks for [runs](ClaimRequest::runs), messages
///   that follow each other and what this stream has in hand, each with its place ([`RunPlace`](claimstream_domain::RunPlace));
/// * an end in bounded time, an error if it must be. A caller waits no longer than the lease it asked for, because the
///   answer is worthless then; what a call took that no caller waits for any longer comes back when that lease ends.
///
/// Callers may rely on: an empty answer means that nothing was due when the store looked, or that what was due was
/// being taken, or is held with its whole shard, by another claim at that moment, or that the queue is [paused](crate::PauseQueues); it
/// does not mean that the queue is drained.
#[async_trait]
pub trait LockingStrategy: Send + Sync {
    /// Claims up to `request.limit` messages.
    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<Claimed>, StoreError>;

    /// Gives back the messages of a queue that were leased ahead for further claims: they are due again when the call returns.
    /// A stream calls it when it claims no more; otherwise such messages are due when their lease ends. Does nothing unless an
    /// implementation reads ahead.
    async fn release_read_ahead(&self, queue: &QueueName) -> Result<(), StoreError> {
        let _ = queue;
        Ok(())
    }
}
