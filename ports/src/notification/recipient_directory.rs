use async_trait::async_trait;
use claimstream_domain::notification::{Recipient, RecipientReference};

use crate::StoreError;

/// Finds the recipients of a user id or a segment.
#[async_trait]
pub trait RecipientDirectory: Send + Sync {
    /// The recipients a reference stands for, from the `offset`-th on, at most `limit`; `None` if the directory does not
    /// know the reference.
    ///
    /// Implementors owe: an order that does not change between the calls of one fan-out; an empty list only at the end;
    /// a direct recipient stands for itself.
    async fn resolve(
        &self,
        reference: &RecipientReference,
        offset: u64,
        limit: u32,
    ) -> Result<Option<Vec<Recipient>>, StoreError>;
}
