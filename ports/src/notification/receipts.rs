use std::time::Duration;

use async_trait::async_trait;
use claimstream_domain::notification::{DeliveryReceipt, ReceiptFact, ReceiptTaken};
use uuid::Uuid;

use crate::StoreError;

/// Keeps what providers say of messages after they have taken them.
///
/// Implementors owe: of each message a kind of receipt is kept once, with the time at which it came first; it goes with its message. A
/// kind that [suppresses](claimstream_domain::notification::ReceiptKind::suppresses) suppresses the address in the same transaction
/// in which it is kept for the first time: the address that the receipt names, else that of the message's payload while that is kept.
/// A receipt that is known changes nothing, so an address that was lifted meanwhile stays lifted. A receipt of a message whose recipient was
/// [erased](super::EraseRecipient) is unknown and not kept; an address that it suppresses is kept as a hash alone. So is one that a
/// receipt [suppresses alone](DeliveryReceipt::suppresses_alone), because its message is not there: it may be that of an erased recipient. If its
/// message is found later, the address is spelled again.
///
/// A reference is that of the newest attempt of the receipt's provider that has it. One that no attempt has waits: a provider may be
/// faster than the note of its answer.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait DeliveryReceipts: Send + Sync {
    /// Takes receipts; one answer for each, in order. A call that failed is repeated whole.
    async fn take(&self, receipts: &[DeliveryReceipt]) -> Result<Vec<ReceiptTaken>, StoreError>;

    /// Takes receipts that have waited for no longer than this and whose reference is known by now, at most `limit`, and answers how
    /// many.
    async fn take_waiting(&self, within: Duration, limit: u32) -> Result<u64, StoreError>;

    /// Forgets at most `limit` receipts that have waited for longer than this, and answers how many.
    async fn forget_waiting(&self, age: Duration, limit: u32) -> Result<u64, StoreError>;

    /// What is kept of each message, the oldest first; one answer for each, in order.
    async fn facts(&self, messages: &[Uuid]) -> Result<Vec<Vec<ReceiptFact>>, StoreError>;
}
