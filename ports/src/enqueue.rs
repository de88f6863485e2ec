use async_trait::async_trait;
use claimstream_domain::{Enqueued, NewMessage};

use crate::StoreError;

/// Puts messages into the outbox inside the caller's own transaction.
///
/// Implementors owe:
/// * the messages exist if and only if the caller's transaction commits;
/// * one answer for each message, in order; a message whose dedup key is taken in its queue is a `Duplicate` and leaves
///   no trace; a message's id and key stay taken while it is live or a dead letter;
/// * a payload over the store's limit is refused before anything is sent, as `Corrupt`, and none of the call's messages
///   is inserted;
/// * a transaction that the database has ended meanwhile, or that was begun on another store, is refused as `Unsupported`.
///   If this call itself has met the end, such as a deadlock, the error says so: begin again and repeat all of it.
///
/// Callers may rely on: nothing is committed, rolled back or waited for beyond the inserts themselves.
#[async_trait]
pub trait Enqueue<Tx: Sync + ?Sized>: Send + Sync {
    /// Enqueues messages in `tx`.
    async fn enqueue(&self, tx: &Tx, messages: &[NewMessage]) -> Result<Vec<Enqueued>, StoreError>;
}
