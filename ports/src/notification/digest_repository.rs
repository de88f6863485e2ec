use async_trait::async_trait;
use claimstream_domain::notification::digest::KeptItem;
use uuid::Uuid;

use crate::StoreError;

/// Keeps the items of digests: messages that wait to be delivered together.
///
/// Items come in with the steps of fan-outs, in [`note_steps`](super::RequestRepository::note_steps).
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait DigestRepository: Send + Sync {
    /// Closes digests and answers their items, in order; no item for a digest that has none left.
    ///
    /// Implementors owe: no item joins a digest that was closed once, so each call answers the same items, in the order in which they came,
    /// with where their records stand by then; an item that comes later opens another digest; a call waits for a step of a fan-out that
    /// has added an item and has not ended; calls with the same digests in different orders, and calls at the same time as steps that add items,
    /// do not lock each other out.
    async fn close(&self, digests: &[DigestPlace]) -> Result<Vec<Vec<KeptItem>>, StoreError>;
}

/// Which digest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DigestPlace {
    /// What its items have in common: [`DigestItem::key`](claimstream_domain::notification::digest::DigestItem::key).
    pub key: Uuid,
    /// The id of the item that opened it, which is that of its outbox message.
    pub id: Uuid,
}
