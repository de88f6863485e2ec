use async_trait::async_trait;
use claimstream_domain::notification::consent::Address;

use crate::StoreError;

/// Removes what is kept of a recipient, as the law lets people ask for it.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait EraseRecipient: Send + Sync {
    /// Removes addresses and content of the recipient of this key, such as `user:u-1`, and keeps the counts.
    ///
    /// Implementors owe: requests that name the recipient are left as
    /// [`NotificationRequest::without`](claimstream_domain::notification::NotificationRequest::without) says, and are still distinguished from
    /// others by the fingerprint that they had; records of the recipient are left as
    /// [`NotificationRecord::erased`](claimstream_domain::notification::NotificationRecord::erased) says, and pending ones are
    /// cancelled; the payloads of their messages, queued, finished or dead, are left as
    /// [`NotificationMessage::erased`](claimstream_domain::notification::NotificationMessage::erased) says; what providers said of
    /// their attempts is gone, with the names of their deliveries and their receipts, and so are their entries in inboxes, with all others of a user whose key is `user:<id>`; all of it in
    /// bounded transactions, so a call that was cut off is completed by another one.
    ///
    /// First of all its entry in the store's own directory goes, with its places in segments, and what it wants. Suppressed addresses
    /// stay suppressed, and so do opt-outs that belong to an address, or it would be written to again; but nothing says any more whose
    /// address that was: only a hash is left. These addresses are those of its entry, those that its key is made of, those in the payloads that are
    /// replaced, and `addresses`: of a user whose entry is in another directory, only the caller may know them.
    ///
    /// A message whose record is missing, as after a failover, is not found: nothing in the store says whom it is for. A hash of the recipient's key stays until
    /// no request is left that was taken in before, and has the message cancelled when it is [restored](super::MessageRepository::restore).
    ///
    /// Callers owe: the recipient is gone from any other directory first, and nothing is handed in for it any more. A message that
    /// a provider has in hands is delivered.
    async fn erase(&self, recipient: &str, addresses: &[Address]) -> Result<Erased, StoreError>;
}

/// How much was erased.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Erased {
    /// Requests that named the recipient.
    pub requests: u64,
    /// Records of the recipient.
    pub records: u64,
    /// Payloads of messages to the recipient that were queued or finished.
    pub bodies: u64,
    /// Payloads of messages to the recipient that were dead letters.
    pub dead_letters: u64,
}
